import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { EndedOrphan, Host } from '../seam/host.ts';
import { OWN_DIRECTORY } from './paths.ts';
import { runScript, windowsScript } from './powershell.ts';
import type { ProcessRecorder } from './this-system.ts';

/** One file for each running supervised command, named after its process. */
const RECORDS = `${OWN_DIRECTORY}\\run\\processes`;
const TIMEOUT_MS = 60_000;

/**
 * `{processes: [{pid, startedAt}]}` -> `[{pid, name, state}]`, state one of gone, other, ended, stays. Windows reuses
 * process ids, possibly at once, so a process counts only if it was created just before its record; one created later
 * is another. /T: including all its children. A program's standard error would end a script that stops at errors
 * (about_Preference_Variables).
 */
export const END_PROCESSES = windowsScript(
  'end-processes',
  `
function WasRecorded($process, $startedAt) {
  $seconds = ([DateTime]::Parse($startedAt).ToUniversalTime() - $process.CreationDate.ToUniversalTime()).TotalSeconds
  $seconds -gt -0.1 -and $seconds -lt 10
}
$answer = @(foreach ($known in $request.processes) {
  $filter = 'ProcessId=' + [int]$known.pid
  $process = Get-CimInstance -ClassName Win32_Process -Filter $filter
  if ($null -eq $process) { @{ pid = $known.pid; name = ''; state = 'gone' } }
  elseif (-not (WasRecorded $process $known.startedAt)) { @{ pid = $known.pid; name = $process.Name; state = 'other' } }
  else {
    $name = $process.Name
    $ErrorActionPreference = 'Continue'
    [void](& "$env:SystemRoot\\System32\\taskkill.exe" /T /F /PID $known.pid 2>&1)
    $ErrorActionPreference = 'Stop'
    $state = 'stays'
    foreach ($try in 1..50) {
      if ($null -eq (Get-CimInstance -ClassName Win32_Process -Filter $filter)) { $state = 'ended'; break }
      Start-Sleep -Milliseconds 200
    }
    @{ pid = $known.pid; name = $name; state = $state }
  }
})
`,
);

/**
 * Records supervised commands while they run. Linux recognises them by their environment, which Windows does not
 * expose.
 *
 * @param native the path for node:fs of a path with a drive
 */
export function processRecorder(runId: string, native: (path: string) => string = (path) => path): ProcessRecorder {
  return {
    started(pid) {
      mkdirSync(native(RECORDS), { recursive: true });
      const record = { pid, runId, startedAt: new Date().toISOString() };
      writeFileSync(native(`${RECORDS}\\${pid}.json`), JSON.stringify(record), { mode: 0o600 });
    },
    ended(pid) {
      rmSync(native(`${RECORDS}\\${pid}.json`), { force: true });
    },
  };
}

/**
 * Ends supervised commands of killed runs, with all their children. Call it only while holding the lock, and before the
 * first supervised command of this run. The records are in a directory of this machine: a container has its own, so its
 * processes are not affected. Throws `HostStepFailed` when one cannot be ended.
 */
export async function endWindowsOrphans(
  host: Pick<Host, 'list' | 'readText' | 'removeFile' | 'run'>,
): Promise<readonly EndedOrphan[]> {
  const known: { readonly pid: number; readonly runId: string; readonly startedAt: string }[] = [];
  for (const name of (await host.list(RECORDS)) ?? []) {
    const record = parsed(await host.readText(`${RECORDS}\\${name}`));
    const [pid, runId, startedAt] = [
      member(record, 'pid'),
      text(member(record, 'runId')),
      text(member(record, 'startedAt')),
    ];
    // An incomplete record belongs to a command that was never started.
    if (typeof pid !== 'number' || runId === undefined || startedAt === undefined) {
      await host.removeFile(`${RECORDS}\\${name}`);
    } else known.push({ pid, runId, startedAt });
  }
  if (known.length === 0) return [];
  const processes = known.map(({ pid, startedAt }) => ({ pid, startedAt }));
  const told = await runScript(host, END_PROCESSES, { processes }, { timeoutMs: TIMEOUT_MS });
  const ended: EndedOrphan[] = [];
  for (const { pid, runId } of known) {
    const answer = (Array.isArray(told) ? told : []).find((one) => member(one, 'pid') === pid);
    const [name, state] = [text(member(answer, 'name')) ?? '', text(member(answer, 'state'))];
    if (state === undefined || state === 'stays') throw cannotEnd(pid, name, runId);
    if (state === 'ended') ended.push({ pid, name, runId });
    await host.removeFile(`${RECORDS}\\${pid}.json`);
  }
  return ended;
}

function parsed(content: string | undefined): unknown {
  try {
    return JSON.parse(content ?? '');
  } catch {
    return undefined;
  }
}

function cannotEnd(pid: number, name: string, runId: string): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    exit: 'Refused',
    summary: `${name === '' ? 'a program' : name} (process ${pid}) of the killed run ${runId} does not end`,
    remedy: `Find out what it waits for in the Task Manager or with "tasklist /FI \\"PID eq ${pid}\\""; then restart the machine.`,
    retryable: true,
  });
}
