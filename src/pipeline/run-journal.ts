import { withChecksum } from '../host/files/checksum.ts';
import { type AppendLog, linesOf, openAppendLog, replaceLog } from '../host/local-files/append-log.ts';
import type { QueryHost } from '../host/seam/host.ts';
import type { FollowUp, StepRecord } from '../step/index.ts';
import {
  afterRecord,
  isBake,
  type JournalState,
  newJournalState,
  type PreparedNote,
  readJournal,
  withNotes,
} from './journal.ts';
import { type InstanceIdentity, isSameInstance, type JournalRecord } from './journal-record.ts';
import { stepRecord } from './step-record.ts';

export const JOURNAL_PATH = '/var/lib/machineadm/journal';
/** Each flush of its own is a wait for the disk: whoever needs them durable flushes them together. */
const LAZY: ReadonlySet<JournalRecord['is']> = new Set(['before', 'after', 'owned', 'released']);

/**
 * The journal of the current run: records are durable before `append` returns, except for those of resources (`LAZY`).
 * There are thousands of those. They are in the file, where they survive a kill, from the next `write` on, and durable with
 * `flush`; a record of another kind takes all before it along.
 */
export interface RunJournal {
  /** The current state; what it knows of resources keeps growing. */
  state(): JournalState;
  record(step: string): StepRecord;
  owed(): ReadonlySet<FollowUp>;
  append(record: JournalRecord): void;
  /** Before each change of the machine: what was said of it is then in the file. */
  write(): void;
  flush(): void;
  close(): void;
}

/** The state of the journal on this disk, read-only. For `plan`, `status` and the check before a run. */
export async function peekJournal(host: QueryHost, path = JOURNAL_PATH): Promise<JournalState | undefined> {
  const bytes = await host.readFile(path);
  if (bytes === undefined) return undefined;
  return readJournal(path, linesOf(bytes).lines);
}

/** The journal as a run of this instance sees it: another instance's journal counts as a leftover. */
export function journalForInstance(state: JournalState | undefined, identity: InstanceIdentity): JournalState {
  if (state !== undefined && isSameInstance(state.identity, identity)) return state;
  return newJournalState(identity, isForeign(state), isForeign(state) ? state?.inventory : undefined);
}

/** Whether another instance's journal is that of another node. */
function isForeign(state: JournalState | undefined): boolean {
  return state !== undefined && !isBake(state);
}

/**
 * Opens the journal of this instance. A journal of another instance (a cloned or baked disk) is kept as
 * `journal.<machine-id>` (`….2`, and so on, where that exists); the new journal only records that foreign leftovers may
 * exist.
 *
 * @param prepared the notes of this machine's image
 */
export async function openJournal(
  host: QueryHost,
  identity: InstanceIdentity,
  path = JOURNAL_PATH,
  prepared: readonly PreparedNote[] = [],
): Promise<RunJournal> {
  const found = await peekJournal(host, path);
  if (found === undefined || !isSameInstance(found.identity, identity)) {
    const archive = found === undefined ? undefined : `${path}.${found.identity.machineId || 'no-machine-id'}`;
    const header: JournalRecord = {
      is: 'instance',
      identity,
      foreign: isForeign(found),
      at: new Date().toISOString(),
    };
    // Includes what existed before the other machine's bootstrap: it is not a leftover.
    const kept: readonly JournalRecord[] =
      header.foreign && found?.inventory !== undefined
        ? [{ is: 'inventory', step: 'kubeadm', entries: found.inventory }]
        : [];
    replaceLog(path, [header, ...kept].map(lineOf).join('\n'), archive);
  }
  const log: AppendLog = openAppendLog(path);
  let state = withNotes(journalForInstance(readJournal(path, log.lines), identity), prepared);
  let unwritten: string[] = [];
  const write = (): void => {
    if (unwritten.length === 0) return;
    // What could not be written comes with what is written next.
    log.appendLazily(unwritten.join('\n'));
    unwritten = [];
  };
  return {
    state: () => state,
    record: (step) => stepRecord(state, step),
    owed: () => state.owed,
    append(record) {
      if (LAZY.has(record.is)) unwritten.push(lineOf(record));
      else {
        log.append([...unwritten, lineOf(record)].join('\n'));
        unwritten = [];
      }
      state = afterRecord(state, record);
    },
    write,
    flush() {
      write();
      log.flush();
    },
    close() {
      write();
      log.close();
    },
  };
}

function lineOf(record: JournalRecord): string {
  return withChecksum(JSON.stringify(record));
}
