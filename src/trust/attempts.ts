import { setTimeout as sleep } from 'node:timers/promises';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { isRefusal } from './refusals.ts';
import type { Source } from './source.ts';

export interface AttemptOptions {
  /** Total time limit of all attempts, in milliseconds. */
  readonly deadlineMs: number;
  /** Called at once for a failed attempt, while other sources are tried. */
  readonly onFailure?: (source: Source, error: MachineadmError) => void;
  /** Replaced by tests. */
  readonly random?: () => number;
}

const FIRST_CEILING_MS = 1_000;
const CEILING_MS = 60_000;

/**
 * Tries the sources in their order until the deadline, with full jitter between the rounds. A source that served bad
 * data is skipped from then on. A problem of this machine itself (a full disk) ends the attempts at once.
 * Throws the first refusal, or else `ReleaseUnavailable` with each source's answer as evidence.
 */
export async function tryInOrder<T>(
  sources: readonly Source[],
  attempt: (source: Source, left: { readonly ms: number }) => Promise<T>,
  options: AttemptOptions,
): Promise<T> {
  const end = performance.now() + options.deadlineMs;
  const answers = new Map<string, Evidence>();
  let refused: MachineadmError | undefined;
  let remaining = sources;
  for (let ceiling = FIRST_CEILING_MS; ; ceiling = Math.min(CEILING_MS, ceiling * 2)) {
    const again: Source[] = [];
    for (const source of remaining) {
      try {
        return await attempt(source, remainingTime(end));
      } catch (error) {
        if (!(error instanceof MachineadmError)) throw error;
        if (isRefusal(error)) refused ??= error;
        else if (error.reason !== 'ReleaseUnavailable') throw error;
        else if (error.retryable) again.push(source);
        answers.set(source.name, { source: source.name, text: error.message });
        options.onFailure?.(source, error);
      }
    }
    remaining = again;
    const pause = (options.random ?? Math.random)() * ceiling;
    if (remaining.length === 0 || performance.now() + pause > end) throw conclusion(refused, [...answers.values()]);
    await sleep(pause);
  }
}

/** The time left until the deadline, in whole milliseconds. */
function remainingTime(end: number): { readonly ms: number } {
  return {
    get ms() {
      return Math.max(1, Math.round(end - performance.now()));
    },
  };
}

function conclusion(refused: MachineadmError | undefined, answers: readonly Evidence[]): MachineadmError {
  if (refused === undefined) {
    return new MachineadmError({
      reason: 'ReleaseUnavailable',
      summary: 'no location delivered the file in time',
      remedy:
        'Check each location from this machine. If a certificate is "not yet valid", the clock is wrong: set it, or use http or a directory. machineadm verifies the files in each case.',
      evidence: answers,
      retryable: true,
    });
  }
  const { reason, message: summary, remedy, evidence } = refused;
  return new MachineadmError({ reason, summary, remedy, evidence: [...evidence, ...answers], cause: refused });
}
