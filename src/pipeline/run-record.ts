import { errorMessage } from '@machineadm/document/errors.ts';
import { exitCode } from '@machineadm/document/exit-codes.ts';
import type { LoadedDocument } from '@machineadm/document/load.ts';
import { hasRunningCommands } from '../host/index.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host } from '../host/seam/host.ts';
import type { Conclusion } from './conclusion.ts';
import type { JournalState, PreparedNote } from './journal.ts';
import type { JournalRecord } from './journal-record.ts';
import { absoluteSource } from './load.ts';
import { asRefusal } from './refusal.ts';
import { JOURNAL_PATH, openJournal, type RunJournal } from './run-journal.ts';

/** The journal's record of the start of a run. */
interface BeginningRun {
  readonly runId: string;
  readonly command: Extract<JournalRecord, { is: 'run' }>['command'];
  readonly agentVersion: string;
  readonly document: Pick<LoadedDocument, 'digest' | 'lastingDigest' | 'writtenDigest'>;
  /** As they were named. */
  readonly sources: readonly string[];
}

/** Opens the journal and records the start of this run. A problem refuses the run: nothing was changed yet. */
export async function beginJournal(
  host: Host,
  facts: Facts,
  { identity }: JournalState,
  notes: readonly PreparedNote[],
  { runId, command, agentVersion, document, sources }: BeginningRun,
): Promise<RunJournal> {
  try {
    const journal = await openJournal(host, identity, JOURNAL_PATH, notes);
    journal.append({
      is: 'run',
      run: runId,
      command,
      agent: agentVersion,
      document: document.digest,
      lasting: document.lastingDigest,
      written: document.writtenDigest,
      sources: sources.map(absoluteSource),
      bootId: facts.bootId,
      at: new Date().toISOString(),
    });
    return journal;
  } catch (error) {
    throw asRefusal(error);
  }
}

/** Records how this run ended, and closes the journal. */
export function recordConclusion(
  journal: RunJournal,
  runId: string,
  { outcome, exit, failure }: Conclusion,
  warn: (message: string) => void,
): void {
  try {
    journal.append({
      is: 'concluded',
      run: runId,
      outcome,
      exitCode: exitCode(exit),
      reason: failure?.reason,
      ...(hasRunningCommands() ? { commandsLeft: true } : {}),
      at: new Date().toISOString(),
    });
  } catch (error) {
    warn(`the conclusion could not be journalled: ${errorMessage(error)}`);
  }
  journal.close();
}
