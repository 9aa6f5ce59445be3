/**
 * Where things lie on Windows. Kubernetes' image-builder lays out its Windows nodes below C: like a Linux node
 * (images/capi/ansible/windows: C:\etc\kubernetes, C:\var\lib\kubelet, C:\run), and the contract of Cluster API names
 * C:\run\cluster-api; so the rest of the program keeps its one set of names, and only this room knows the drive.
 */
export const DRIVE = 'C:';
export const SYSTEM_ROOT = `${DRIVE}\\Windows`;
export const SYSTEM32 = `${SYSTEM_ROOT}\\System32`;

/** What is ours alone: closed to everybody but the system and administrators. */
export const OWN_DIRECTORY = `${DRIVE}\\ProgramData\\machineadm`;

/** Windows PowerShell 5.1, part of every Windows Server; PowerShell 7 has no `Add-Computer` and is not always there. */
export const POWERSHELL = `${SYSTEM32}\\WindowsPowerShell\\v1.0\\powershell.exe`;

/** Where programs are searched: image-builder's directories first, then those of the system. */
export const PATH_OF_SYSTEM: readonly string[] = [
  `${DRIVE}\\k`,
  `${DRIVE}\\Program Files\\containerd`,
  SYSTEM32,
  SYSTEM_ROOT,
  `${SYSTEM32}\\Wbem`,
  `${SYSTEM32}\\WindowsPowerShell\\v1.0`,
];

/** Directories that have a place of their own on Windows: our state, and what is ours in a run. */
const OWN: readonly (readonly [string, string])[] = [
  ['/var/lib/machineadm', OWN_DIRECTORY],
  ['/run/machineadm', `${OWN_DIRECTORY}\\run`],
];

/**
 * The Windows path of a path with or without a drive: `/run/kubeadm/x` is `C:\run\kubeadm\x`, what is below
 * `/var/lib/machineadm` is below `C:\ProgramData\machineadm`. One that names its drive keeps it; slashes are turned round.
 */
export function windowsPath(path: string): string {
  if (/^[A-Za-z]:/.test(path)) return `${path.charAt(0).toUpperCase()}${path.slice(1).replaceAll('/', '\\')}`;
  for (const [from, to] of OWN) {
    if (path === from || path.startsWith(`${from}/`)) return `${to}${path.slice(from.length).replaceAll('/', '\\')}`;
  }
  return `${DRIVE}${path.replaceAll('/', '\\')}`;
}

/**
 * The environment of a child: what programs of Windows need to start at all (PowerShell and .NET look for SystemRoot), and
 * nothing of the caller's own, which may hold secrets and must not make a run differ from the one at boot. The
 * temporary directory is that of services.
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
