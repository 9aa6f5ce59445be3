import { DRIVE, PATH_OF_SYSTEM, SYSTEM_ROOT } from './paths.ts';

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
