import type { Model } from '@machineadm/document/model/index.ts';
import type { Load } from './carrier.ts';

/** Where carriers write the document on Windows. */
export const WINDOWS_DIRECTORY = 'C:\\ProgramData\\machineadm';
export const WINDOWS_DOCUMENT = `${WINDOWS_DIRECTORY}\\bootstrap.yaml`;
export const WINDOWS_DOWNLOAD_SCRIPT = `${WINDOWS_DIRECTORY}\\download.ps1`;
/** Where Kubernetes' image-builder installs kubeadm and the kubelet (images/capi/ansible/windows). */
export const WINDOWS_PROGRAM = 'C:\\k\\machineadm.exe';

/**
 * Restricts the directory to the system account and administrators, by SID because their names are localised. Below
 * C:\ProgramData users may read inherited files.
 */
export const CLOSE_DIRECTORY = `icacls.exe ${WINDOWS_DIRECTORY} /inheritance:r /grant:r *S-1-5-18:(OI)(CI)F *S-1-5-32-544:(OI)(CI)F /T`;

/** One short command line for cmd: a task takes 261 characters, and a command of Windows Setup 259. */
export function provisionOnWindows({ program, downloadScript }: Load): string {
  const run = downloadScript === undefined ? program : `powershell.exe -nop -ep Bypass -f ${WINDOWS_DOWNLOAD_SCRIPT}`;
  return `${run} provision -d ${WINDOWS_DOCUMENT}`;
}

/**
 * The machine would refuse a document for another system before it changes anything; this reports the problem earlier.
 */
export function refusesLinux({ host }: Model): string | undefined {
  return host.platform === 'windows' ? undefined : 'it is for Linux, as it lacks "host: {platform: Windows}"';
}
