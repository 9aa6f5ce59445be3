import { errorMessage } from '@machineadm/document/errors.ts';
import type { Reason } from '@machineadm/document/reasons.ts';

/** What one look at the machine found. Holds no secret. */
export interface Check {
  /** Stable: `disk/var/lib/etcd`. */
  readonly id: string;
  readonly group: 'machine' | 'network' | 'container runtime' | 'certificates' | 'control plane' | 'document' | 'node';
  /** `failed` stands in the way of a bootstrap; `warning` may; `skipped` could not be looked at, and `text` says why. */
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  /** What was found, in words that the catalogue knows (`catalogue/machine-facts.ts`) where it explains a failure. */
  readonly text: string;
  readonly reason?: Reason;
  readonly remedy?: string;
}

/** All checks of some kind. Never throws for what is wrong with the machine. */
export type Look = () => Promise<readonly Check[]>;

/**
 * Takes all looks at once, each within the time limit: one that throws or does not end is told as skipped, and the
 * others still count.
 * @param limitMs what all of them together may take
 */
export async function lookAround(looks: Readonly<Record<string, Look>>, limitMs: number): Promise<readonly Check[]> {
  const limit = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => limit.resolve('late'), limitMs);
  try {
    const found = await Promise.all(
      Object.entries(looks).map(async ([name, look]): Promise<readonly Check[]> => {
        try {
          const result = await Promise.race([look(), limit.promise]);
          return result === 'late' ? [skipped(name, `not answered within ${limitMs / 1000} s`)] : result;
        } catch (error) {
          return [skipped(name, errorMessage(error))];
        }
      }),
    );
    return found.flat();
  } finally {
    clearTimeout(timer);
  }
}

function skipped(name: string, why: string): Check {
  return { id: name, group: 'machine', state: 'skipped', text: `${name}: ${why}` };
}
