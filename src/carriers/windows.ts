import type { Model } from '@machineadm/document/model.ts';
import type { Load } from './carrier.ts';

/** Where Windows machines find the document. */
export const WINDOWS_DIRECTORY = 'C:\\ProgramData\\machineadm';
export const WINDOWS_DOCUMENT = `${WINDOWS_DIRECTORY}\\bootstrap.yaml`;
export const WINDOWS_DOWNLOAD_SCRIPT = `${WINDOWS_DIRECTORY}\\download.ps1`;
/** Where Kubernetes' image-builder puts kubeadm and the kubelet (images/capi/ansible/windows). */
export const WINDOWS_PROGRAM = 'C:\\k\\machineadm.exe';

/**
 * Takes the directory away from everybody but the system and administrators, by their SIDs: their names are translated.
 * Below C:\ProgramData users may read what is inherited.
 */
export const CLOSE_DIRECTORY = `icacls.exe ${WINDOWS_DIRECTORY} /inheritance:r /grant:r *S-1-5-18:(OI)(CI)F *S-1-5-32-544:(OI)(CI)F /T`;

/** One command line for cmd, short: a task takes 261 characters, and a command of Windows Setup 259. */
export function provisionOnWindows({ program, downloadScript }: Load): string {
  const run = downloadScript === undefined ? program : `powershell.exe -nop -ep Bypass -f ${WINDOWS_DOWNLOAD_SCRIPT}`;
  return `${run} provision -d ${WINDOWS_DOCUMENT}`;
}

/** A machine refuses a document for another system, before it changes anything: here it is told earlier. */
export function refusesLinux({ host }: Model): string | undefined {
  return host.platform === 'windows' ? undefined : 'it is for Linux, as it lacks "host: {platform: Windows}"';
}
