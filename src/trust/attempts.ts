import { setTimeout as sleep } from 'node:timers/promises';
import { type Evidence, MachineadmError } from '@machineadm/document/errors.ts';
import { isRefusal } from './refusals.ts';
import type { Source } from './source.ts';

export interface AttemptOptions {
  /** For all attempts together. */
  readonly deadlineMs: number;
  /** Told at once, while others are tried. */
  readonly onFailure?: (source: Source, error: MachineadmError) => void;
  /** For tests. */
  readonly random?: () => number;
}

const FIRST_CEILING_MS = 1_000;
const CEILING_MS = 60_000;

/**
 * Tries the sources in their order, again and again until the deadline, with full jitter in between. A source that lied
 * is not asked again; what this machine itself cannot do (a full disk) ends it at once.
 *
 * Throws the first refusal where there was one, else `ReleaseUnavailable`; each source's answer is its evidence.
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

/** What is left of the deadline at the moment it is read, in whole milliseconds. */
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
      summary: 'no location gave what was asked for in time',
      remedy:
        'Check each location from this machine. A certificate that is "not yet valid" means that the clock is wrong: set it, or use http or a directory; what comes is verified all the same.',
      evidence: answers,
      retryable: true,
    });
  }
  const { reason, message: summary, remedy, evidence } = refused;
  return new MachineadmError({ reason, summary, remedy, evidence: [...evidence, ...answers], cause: refused });
}
