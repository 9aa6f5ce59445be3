import type { Place } from '@machineadm/document/diagnostics/index.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { runChecks } from '../../host/time/checks.ts';

/**
 * How what a check found counts, for preflight, doctor, conformance, audit and the verification of an image alike. `failed`
 * stands in the way, and `undecided` may; a `warning` changes no exit code; `skipped`: not looked at, and the text says why.
 */
export type Severity = 'passed' | 'warning' | 'failed' | 'undecided' | 'skipped';

/** The result of one check. Contains no secrets. */
export interface Finding {
  /** A stable id: `disk/var/lib/etcd`, `IMG-03`, `document/SysctlUnknown`. */
  readonly id: string;
  /** What was checked, or the group under which a report shows it. */
  readonly title: string;
  readonly severity: Severity;
  /**
   * What was found. Where it explains a failure, it has the words that the catalogue matches
   * (`catalogue/machine-facts.ts`).
   */
  readonly text: string;
  readonly reason?: Reason;
  readonly remedy?: string;
  /** The field of the document that the finding is about, and its place. */
  readonly field?: string;
  readonly position?: Place;
}

/** One group of checks. Problems of the machine are findings; they are never thrown. */
export type CheckGroup = () => Promise<readonly Finding[]>;

/** Runs all groups of checks at the same time. A group that throws or exceeds the limit is reported as skipped. */
export async function runCheckGroups(
  groups: Readonly<Record<string, CheckGroup>>,
  limitMs: number,
): Promise<readonly Finding[]> {
  const skipped = (id: string, error: unknown): Finding => {
    return { id, title: 'machine', severity: 'skipped', text: `${id}: ${errorMessage(error)}` };
  };
  return await runChecks(Object.entries(groups), skipped, limitMs);
}
