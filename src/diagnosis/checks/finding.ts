import type { Place } from '@machineadm/document/diagnostics.ts';
import { errorMessage } from '@machineadm/document/errors.ts';
import type { Reason } from '@machineadm/document/reasons.ts';
import { runChecks } from '../../host/processes/checks.ts';

/**
 * How what a check found counts, for preflight, doctor, conformance, audit and the verification of an image alike. `failed`
 * stands in the way, and `undecided` may; a `warning` changes no exit code; `skipped`: not looked at, and the text says why.
 */
export type Severity = 'passed' | 'warning' | 'failed' | 'undecided' | 'skipped';

/** What one check found. Holds no secret. */
export interface Finding {
  /** Stable: `disk/var/lib/etcd`, `IMG-03`, `document/SysctlUnknown`. */
  readonly id: string;
  /** What was checked, or the group in which a report shows it. */
  readonly title: string;
  readonly severity: Severity;
  /** What was found, in words that the catalogue knows (`catalogue/machine-facts.ts`) where it explains a failure. */
  readonly text: string;
  readonly reason?: Reason;
  readonly remedy?: string;
  /** The field of the document that it is about, and its place. */
  readonly field?: string;
  readonly position?: Place;
}

/** All checks of some kind. Never throws for what is wrong with the machine. */
export type Look = () => Promise<readonly Finding[]>;

/** Takes all looks at the machine at once: one that throws or is late is told as skipped. */
export async function lookAround(looks: Readonly<Record<string, Look>>, limitMs: number): Promise<readonly Finding[]> {
  const skipped = (id: string, error: unknown): Finding => {
    return { id, title: 'machine', severity: 'skipped', text: `${id}: ${errorMessage(error)}` };
  };
  return await runChecks(Object.entries(looks), skipped, limitMs);
}
