import { setTimeout as pause } from 'node:timers/promises';
import type { RetryModel } from '@machineadm/document/model/index.ts';
import { sentence } from '@machineadm/document/text/sentence.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import type { Reporter } from '../reporting/reporter.ts';
import type { Conclusion } from './conclusion.ts';
import { StepFailure } from './runner.ts';

/** The inputs of a run's attempts. */
export interface Attempts {
  /** undefined: one attempt. */
  readonly retry: RetryModel | undefined;
  /** For the whole run: aborted by a signal to the process, or at the overall deadline. */
  readonly signal: AbortSignal;
  /** The time of the overall deadline, on the clock of `Date.now`. */
  readonly deadlineMs: number;
  bootstraps(step: string): boolean;
  /** Classifies an error; queries the machine and the catalogue of failures. */
  conclude(error: unknown, startedMs: number): Promise<Conclusion>;
  readonly reporter: Pick<Reporter, 'warn' | 'waitingFor' | 'attemptFailed'>;
}

/** With less time than this left, another attempt would only hit the deadline, which would hide the actual failure. */
const LEAST_TIME_MS = 60_000;

/**
 * Performs the pipeline up to the node's proof, and again where the bootstrapper failed for a temporary cause.
 * Another attempt is equivalent to another run: every step inspects and plans again from the journal and the machine,
 * so that the step kubeadm-reset decides whether to continue, to reset or to touch nothing, and deleted files
 * (certificates, configuration, static pods) are written again. Only the verdict is specific to attempts: it comes from
 * the catalogue of failures, which steps do not know.
 *
 * @returns undefined on success, otherwise how it ended
 */
export async function performAttempts(
  perform: () => Promise<void>,
  attempts: Attempts,
): Promise<Conclusion | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const startedMs = Date.now();
    try {
      await perform();
      return undefined;
    } catch (error) {
      const ended = await attempts.conclude(error, startedMs);
      const step = error instanceof StepFailure ? error.step : undefined;
      const waitMs = backoffBefore(attempt + 1, ended, step, attempts);
      if (waitMs === undefined || step === undefined || ended.failure === undefined) return ended;
      const { failure } = ended;
      const { reporter, retry, signal } = attempts;
      reporter.attemptFailed({ attempt, failure, durationMs: Date.now() - startedMs });
      const next = `Attempt ${attempt + 1} of ${retry?.attempts}`;
      reporter.warn(`attempt ${attempt} failed (${failure.reason}): ${sentence(failure.summary)} ${next} follows.`);
      reporter.waitingFor(step, `${next}, in ${formatDuration(waitMs)}, after ${failure.reason}`);
      try {
        await pause(waitMs, undefined, { signal });
      } catch {
        return await attempts.conclude(signal.reason, startedMs);
      } finally {
        reporter.waitingFor(step, undefined);
      }
    }
  }
}

/**
 * The pause before the next attempt, in milliseconds; undefined = no further attempt. A permanent failure, a step that
 * only prepares, a deadline and a signal all end the run.
 */
function backoffBefore(
  attempt: number,
  { outcome, exit, failure }: Conclusion,
  step: string | undefined,
  { retry, signal, deadlineMs, bootstraps }: Attempts,
): number | undefined {
  if (retry === undefined || attempt > retry.attempts || signal.aborted) return undefined;
  if (step === undefined || !bootstraps(step)) return undefined;
  if (outcome !== 'Failed' || exit !== 'BootstrapperFailed' || failure?.retryable !== true) return undefined;
  const waitMs = retry.backoffMs * 2 ** (attempt - 2);
  return Date.now() + waitMs + LEAST_TIME_MS > deadlineMs ? undefined : waitMs;
}
