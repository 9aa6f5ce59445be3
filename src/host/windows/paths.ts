import { RUN_DIRECTORY, STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
/**
 * Paths on Windows. Kubernetes' image-builder lays out its Windows nodes below C: like a Linux node
 * (images/capi/ansible/windows: C:\etc\kubernetes, C:\var\lib\kubelet, C:\run), and the contract of Cluster API names
 * C:\run\cluster-api. So the rest of the program uses one set of names, and only this folder adds the drive.
 */
export const DRIVE = 'C:';
export const SYSTEM_ROOT = `${DRIVE}\\Windows`;
export const SYSTEM32 = `${SYSTEM_ROOT}\\System32`;

/** Our own directories: accessible to the system account and administrators only. */
export const OWN_DIRECTORY = `${DRIVE}\\ProgramData\\machineadm`;

/**
 * Windows PowerShell 5.1, part of every Windows Server; PowerShell 7 has no `Add-Computer` and is not always installed.
 */
export const POWERSHELL = `${SYSTEM32}\\WindowsPowerShell\\v1.0\\powershell.exe`;

/** The search path for programs: image-builder's directories first, then those of the system. */
export const PATH_OF_SYSTEM: readonly string[] = [
  `${DRIVE}\\k`,
  `${DRIVE}\\Program Files\\containerd`,
  SYSTEM32,
  SYSTEM_ROOT,
  `${SYSTEM32}\\Wbem`,
  `${SYSTEM32}\\WindowsPowerShell\\v1.0`,
];

/** Directories with a different location on Windows: our state, and our files of a run. */
const OWN: readonly (readonly [string, string])[] = [
  [STATE_DIRECTORY, OWN_DIRECTORY],
  [RUN_DIRECTORY, `${OWN_DIRECTORY}\\run`],
];

/**
 * The Windows path of a path with or without a drive: `/run/kubeadm/x` is `C:\run\kubeadm\x`, and paths below
 * `/var/lib/machineadm` are below `C:\ProgramData\machineadm`. A given drive is kept; slashes are converted.
 */
export function windowsPath(path: string): string {
  if (/^[A-Za-z]:/.test(path)) return `${path.charAt(0).toUpperCase()}${path.slice(1).replaceAll('/', '\\')}`;
  for (const [from, to] of OWN) {
    if (path === from || path.startsWith(`${from}/`)) return `${to}${path.slice(from.length).replaceAll('/', '\\')}`;
  }
  return `${DRIVE}${path.replaceAll('/', '\\')}`;
}

/**
 * The environment of a child: only what Windows programs need to start (PowerShell and .NET require SystemRoot). The
 * caller's environment may contain secrets, and must not make a run differ from one at boot. The temporary directory is
 * that of services.
 */
export function cleanEnvironment(added: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    SystemDrive: DRIVE,
    SystemRoot: SYSTEM_ROOT,
    windir: SYSTEM_ROOT,
    ComSpec: `${SYSTEM_ROOT}\\System32\\cmd.exe`,
    PATH: PATH_OF_SYSTEM.join(';'),
    PATHEXT: '.COM;.EXE;.BAT;.CMD',
    ProgramData: `${DRIVE}\\ProgramData`,
    ProgramFiles: `${DRIVE}\\Program Files`,
    TEMP: `${SYSTEM_ROOT}\\Temp`,
    TMP: `${SYSTEM_ROOT}\\Temp`,
    ...added,
  };
}
