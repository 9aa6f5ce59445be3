import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { sentence } from '@machineadm/document/text/sentence.ts';
import { endOfFailedUpgrade, forgetPrevious } from '../features/upgrade/back.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host } from '../host/seam/host.ts';
import type { Reporter } from '../reporting/reporter.ts';
import type { Conclusion } from './conclusion.ts';
import { recordingHost } from './recording-host.ts';
import type { RunRequest } from './run-check.ts';
import type { RunJournal } from './run-journal.ts';

/** A run whose upgrade failed. */
export interface FailedRun {
  readonly request: Pick<RunRequest, 'signal'>;
  readonly facts: Facts;
  readonly host: Host;
  readonly reporter: Reporter;
}

/** The node is proven: from now on its document is the one of this run. */
export async function finishUpgrade(host: Host, journal: RunJournal): Promise<void> {
  if (journal.state().upgrade === undefined) return;
  journal.append({ is: 'upgrade', now: 'Done', at: new Date().toISOString() });
  await forgetPrevious(host);
}

/**
 * After a failed upgrade: the node is as before again, as long as there is a way back, and otherwise the failure says what
 * it is. A run that was interrupted is continued by the next.
 */
export async function afterFailedUpgrade(
  { request, facts, host, reporter }: FailedRun,
  { model }: LoadedDocument,
  journal: RunJournal,
  failed: Conclusion,
): Promise<Conclusion> {
  const { upgrade, before } = journal.state();
  if (upgrade === undefined || failed.outcome !== 'Failed' || failed.failure === undefined) return failed;
  const { failure } = failed;
  const step = failure.step ?? 'upgrade-kubeadm';
  reporter.warn(`the upgrade failed (${failure.reason}): ${sentence(failure.summary)}`);
  try {
    const end = await endOfFailedUpgrade(
      recordingHost(host, { id: 'upgrade-state' }, journal),
      { model, facts, upgrade, record: (id) => journal.record(id), isOurs: (path) => before.has(`path:${path}`) },
      {
        signal: request.signal,
        waitingFor: (what) => reporter.waitingFor(step, what),
        warn: (message) => reporter.warn(message),
      },
    );
    for (const followUp of end.settled ?? [])
      if (journal.owed().has(followUp)) journal.append({ is: 'settled', followUp });
    if (end.isBack) journal.append({ is: 'upgrade', now: 'Back', at: new Date().toISOString() });
    if (end.isBack) await forgetPrevious(host);
    return withEnd(failed, end.sentences);
  } catch (error) {
    return withEnd(failed, [`The way back failed, too: ${sentence(errorMessage(error))}`]);
  } finally {
    reporter.waitingFor(step, undefined);
  }
}

function withEnd(failed: Conclusion, sentences: readonly string[]): Conclusion {
  const { failure } = failed;
  if (failure === undefined) return failed;
  const summary = [sentence(failure.summary), ...sentences].join(' ');
  const evidence = [...failure.evidence, ...sentences.map((text) => ({ source: 'this node now', text }))];
  return { ...failed, failure: { ...failure, summary, evidence } };
}
