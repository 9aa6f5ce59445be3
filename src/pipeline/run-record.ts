import { errorMessage } from '@machineadm/document/errors.ts';
import { exitCode } from '@machineadm/document/exit-codes.ts';
import { hasRunningCommands } from '../host/index.ts';
import type { Conclusion } from './conclusion.ts';
import { absoluteSource } from './load.ts';
import { asRefusal } from './refusal.ts';
import type { CheckedRun } from './run-check.ts';
import { JOURNAL_PATH, openJournal, type RunJournal } from './run-journal.ts';
import type { OpenRun } from './run-perform.ts';

/** Opens the journal and records the start of this run. A problem refuses the run: nothing was changed yet. */
export async function beginJournal(
  { request, runId, facts, host }: Pick<OpenRun, 'request' | 'runId' | 'facts' | 'host'>,
  { document, known, notes }: Extract<CheckedRun, { ok: true }>,
): Promise<RunJournal> {
  const { command, agentVersion, sources } = request;
  try {
    const journal = await openJournal(host, known.identity, JOURNAL_PATH, notes);
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
