import { MachineadmError } from '../../document/errors.ts';
import { RUN_MARK } from './environment.ts';
import {
  allProcesses,
  environmentVariable,
  groupEnded,
  isRunning,
  type ProcessInfo,
  readProcess,
  signalGroup,
} from './processes.ts';

/** A command of a killed run that went on without it, and was ended. */
export interface EndedOrphan {
  readonly pid: number;
  /** The name of the program, as the kernel has it. */
  readonly name: string;
  readonly runId: string;
}

const GONE_WITHIN_MS = 10_000;

/**
 * Ends what killed runs left behind: supervised commands (`Command.supervised`) of other runs, found by the mark in
 * their environment, with their whole process group, by SIGKILL. Call it only while holding the lock: then no other
 * run is alive, and every other run's command is an orphan. Only leaders of a process group count, which each of our
 * commands is: what a hook put into the background has ended its relation to the run when the hook ended.
 *
 * Throws `HostStepFailed` when one cannot be ended; it could go on changing the machine under the new run.
 */
export async function endOrphans(currentRunId: string): Promise<readonly EndedOrphan[]> {
  const ended: EndedOrphan[] = [];
  for (const process of await allProcesses()) {
    if (process.pid !== process.group || !isRunning(process)) continue;
    const runId = await environmentVariable(process.pid, RUN_MARK);
    if (runId === undefined || runId === currentRunId) continue;
    if (!(await isStillThere(process))) continue;
    signalGroup(process.group, 'SIGKILL');
    if (!(await groupEnded(process.group, GONE_WITHIN_MS))) throw cannotEnd(process, runId);
    ended.push({ pid: process.pid, name: process.name, runId });
  }
  return ended;
}

/** The environment was read by pid: it belongs to this process only if the pid was not given away meanwhile. */
async function isStillThere(process: ProcessInfo): Promise<boolean> {
  return (await readProcess(process.pid))?.startTicks === process.startTicks;
}

function cannotEnd(process: ProcessInfo, runId: string): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    exit: 'Refused',
    summary: `${process.name} (process ${process.pid}) of the killed run ${runId} does not end`,
    remedy: `Find out what it waits for with "cat /proc/${process.pid}/stack", most often a dead disk or NFS server; then reboot.`,
    evidence: [{ source: `/proc/${process.pid}`, text: `still running ${GONE_WITHIN_MS / 1000} s after SIGKILL` }],
    retryable: true,
  });
}
