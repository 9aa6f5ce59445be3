import { readlink, stat } from 'node:fs/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { LOCK_PATH } from '../files/paths.ts';
import type { EndedOrphan } from '../seam/host.ts';
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

const GONE_WITHIN_MS = 10_000;

/**
 * Ends the supervised commands (`Command.supervised`) of killed runs, with their process groups, by SIGKILL. Call it
 * only while holding the lock: then no other run of this machine is alive.
 * /proc also shows processes of containers and chroots, which run other agents and may have an inherited mark. A
 * process counts as our orphan only if all of this holds:
 * - it leads its process group, as each supervised command does and most background processes of a hook do not
 * - its mark names a run that did not end regularly according to this machine's journal
 * - it has our root directory, with the lock that we hold in it
 * - it is in our PID namespace and our mount namespace
 *
 * @param unfinishedRuns ids from the journal of this machine
 * @throws MachineadmError `HostStepFailed` when one cannot be ended: it could change the machine during the new run
 */
export async function endOrphans(unfinishedRuns: ReadonlySet<string>): Promise<readonly EndedOrphan[]> {
  const ended: EndedOrphan[] = [];
  if (unfinishedRuns.size === 0) return ended;
  const here = await placeOf('self');
  if (here?.lock === undefined || !(await isOwnProc())) return ended;
  for (const process of await allProcesses()) {
    if (process.pid !== process.group || !isRunning(process)) continue;
    const runId = await environmentVariable(process.pid, RUN_MARK);
    if (runId === undefined || !unfinishedRuns.has(runId)) continue;
    const place = await placeOf(process.pid);
    if (place === undefined || place.root !== here.root || place.lock !== here.lock) continue;
    if (!(await isStillThere(process))) continue;
    if (place.pidNamespace !== here.pidNamespace || place.mountNamespace !== here.mountNamespace) {
      throw inOtherNamespace(process, runId);
    }
    signalGroup(process.group, 'SIGKILL');
    if (!(await groupEnded(process.group, GONE_WITHIN_MS))) throw cannotEnd(process, runId);
    ended.push({ pid: process.pid, name: process.name, runId });
  }
  return ended;
}

/** Where a process runs. Equal strings denote the same namespace, directory or file. */
interface Place {
  readonly pidNamespace: string;
  readonly mountNamespace: string;
  readonly root: string;
  /** The lock file as the process sees it; undefined where there is none. */
  readonly lock: string | undefined;
}

/** Undefined for a process that has ended, or whose entries cannot be read. */
async function placeOf(pid: number | 'self'): Promise<Place | undefined> {
  const entry = `/proc/${pid}`;
  try {
    const [pidNamespace, mountNamespace, root] = await Promise.all([
      readlink(`${entry}/ns/pid`),
      readlink(`${entry}/ns/mnt`),
      fileIdentity(`${entry}/root/`),
    ]);
    const lock = await fileIdentity(`${entry}/root${LOCK_PATH}`).catch(() => undefined);
    return { pidNamespace, mountNamespace, root, lock };
  } catch {
    return undefined;
  }
}

async function fileIdentity(path: string): Promise<string> {
  const { dev, ino } = await stat(path, { bigint: true });
  return `${dev}:${ino}`;
}

/** A /proc of another PID namespace has different ids: signals would reach other processes. */
async function isOwnProc(): Promise<boolean> {
  return (await readlink('/proc/self').catch(() => undefined)) === String(process.pid);
}

/** The values belong to this process only if its pid was not reused in the meantime. */
async function isStillThere(process: ProcessInfo): Promise<boolean> {
  return (await readProcess(process.pid))?.startTicks === process.startTicks;
}

/**
 * It uses the files of this machine in a mount namespace of its own: a session with private mounts (pam_namespace(8)),
 * a unit with PrivateTmp=.
 */
function inOtherNamespace(process: ProcessInfo, runId: string): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    exit: 'Refused',
    summary: `${process.name} (process ${process.pid}) of the killed run ${runId} still runs, in other namespaces than this run`,
    remedy: `machineadm does not end processes in another namespace. Check it with "ps -fp ${process.pid}", end it with "kill -KILL -- -${process.group}", then run again.`,
    evidence: [{ source: `/proc/${process.pid}/ns`, text: 'its PID or mount namespace is not the one of this run' }],
    retryable: true,
  });
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
