import type { HookGroup } from '@machineadm/document/model/index.ts';
import { RUN_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { Command, Host } from '../../host/seam/host.ts';
import { windowsPath } from '../../host/windows/paths.ts';

/**
 * How a hook group is put before PowerShell or cmd. Commands may hold secrets, so they are never arguments: each entry is a
 * file that only the system and administrators can read, and a driver runs them one after the other in the same shell, so
 * that variables and the working directory persist.
 */
export interface WindowsHookScript {
  readonly directory: string;
}

/** Before each line of the driver's own stands a token of this run, which no entry knows. */
export type Marker =
  | { readonly kind: 'begin'; readonly entry: number }
  | { readonly kind: 'end'; readonly entry: number; readonly status: number };

/**
 * Arguments: token, first entry, last entry, onError. An entry failed when its last program ended with another status than
 * 0, when it threw, or when its last command failed. `exit` ends the shell: then nothing tells the end of the entry.
 */
const POWERSHELL_DRIVER = `param([string]$MachineadmToken, [int]$MachineadmEntry, [int]$MachineadmLast, [string]$MachineadmOnError)
$ProgressPreference = 'SilentlyContinue'
while ($MachineadmEntry -le $MachineadmLast) {
  [Console]::Out.WriteLine("$MachineadmToken begin $MachineadmEntry")
  $global:LASTEXITCODE = 0
  $MachineadmStatus = 0
  try {
    . (Join-Path $PSScriptRoot "entry-$MachineadmEntry.ps1")
    if (-not $?) { $MachineadmStatus = 1 }
    if ($global:LASTEXITCODE -ne 0) { $MachineadmStatus = $global:LASTEXITCODE }
  } catch {
    [Console]::Error.WriteLine(($_ | Out-String))
    $MachineadmStatus = 1
  }
  [Console]::Out.WriteLine("$MachineadmToken end $MachineadmEntry $MachineadmStatus")
  if ($MachineadmStatus -ne 0 -and $MachineadmOnError -eq 'Fail') { exit $MachineadmStatus }
  $MachineadmEntry = $MachineadmEntry + 1
}
exit 0
`;

/** `ver` sets ERRORLEVEL to 0; an entry that is a batch file of its own is left by `exit /b`, the whole by `exit`. */
const CMD_DRIVER = `@echo off
chcp 65001 >nul
set machineadm_token=%~1
set machineadm_entry=%~2
set machineadm_last=%~3
set machineadm_on_error=%~4
:next
if %machineadm_entry% GTR %machineadm_last% exit 0
echo %machineadm_token% begin %machineadm_entry%
ver >nul
call "%~dp0entry-%machineadm_entry%.cmd" <nul
set machineadm_status=%ERRORLEVEL%
echo %machineadm_token% end %machineadm_entry% %machineadm_status%
if "%machineadm_status%"=="0" goto done
if "%machineadm_on_error%"=="Fail" exit %machineadm_status%
:done
set /a machineadm_entry=machineadm_entry+1 >nul
goto next
`;

const BOM = '\uFEFF';

/** The directory of the script of a group. */
export function windowsHookScript(stepId: string): WindowsHookScript {
  return { directory: windowsPath(`${RUN_DIRECTORY}/${stepId}`) };
}

/** Writes the driver and the entries, closed to everybody but the system and administrators. */
export async function writeWindowsHookScript(
  host: Host,
  { directory }: WindowsHookScript,
  { shell, commands }: HookGroup,
): Promise<void> {
  await host.makeDirectory(directory, 0o700);
  const isCmd = shell === 'cmd';
  const put = async (name: string, text: string): Promise<void> => {
    // Windows PowerShell takes a script without a mark for one in the code page of the system; cmd takes the mark for text.
    const content = `${isCmd ? '' : BOM}${text.replace(/\r?\n/g, '\r\n')}`;
    await host.writeFile({ path: `${directory}\\${name}`, content, mode: 0o600, directoryMode: 0o700 });
  };
  await put(isCmd ? 'driver.cmd' : 'driver.ps1', isCmd ? CMD_DRIVER : POWERSHELL_DRIVER);
  for (const [index, command] of commands.entries()) {
    await put(`entry-${index + 1}.${isCmd ? 'cmd' : 'ps1'}`, `${isCmd ? '@echo off\n' : ''}${command}\n`);
  }
}

/** Removes the driver and the entries, those of an earlier, longer group included. */
export async function removeWindowsHookScript(host: Host, { directory }: WindowsHookScript): Promise<void> {
  for (const name of (await host.list(directory)) ?? []) await host.removeFile(`${directory}\\${name}`);
}

/** The command that runs the entries from `first` (from 1) on. Nothing of the document is in it. */
export function windowsHookCommand(
  { directory }: WindowsHookScript,
  { shell, commands, onError }: HookGroup,
  token: string,
  first: number,
): Pick<Command, 'program' | 'args'> {
  const words = [token, `${first}`, `${commands.length}`, onError];
  // No blanks in any of them: cmd takes the line apart by rules of its own.
  if (shell === 'cmd') return { program: 'cmd.exe', args: ['/d', '/c', `${directory}\\driver.cmd`, ...words] };
  const options = ['-NoLogo', '-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass'];
  return { program: 'powershell.exe', args: [...options, '-File', `${directory}\\driver.ps1`, ...words] };
}

/** Reads a line of the driver; undefined for what an entry printed. */
export function parseWindowsMarker(line: string, token: string): Marker | undefined {
  const [said, kind, entry, status] = line.trim().split(' ');
  if (said !== token || !/^\d+$/.test(entry ?? '')) return undefined;
  if (kind === 'begin') return { kind, entry: Number(entry) };
  return kind === 'end' ? { kind, entry: Number(entry), status: Number(status ?? 1) } : undefined;
}
