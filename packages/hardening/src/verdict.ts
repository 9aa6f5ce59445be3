import type { Evidence } from '@machineadm/document/outcomes/errors.ts';

/** The result of one control on the machine. */
export type Verdict =
  | { readonly state: 'holds' | 'fails'; readonly evidence: readonly Evidence[] }
  /** It does not apply: another role or version, or there is nothing to check. */
  | { readonly state: 'not-applicable'; readonly why: string };

export function decided(holds: boolean, evidence: readonly Evidence[]): Verdict {
  return { state: holds ? 'holds' : 'fails', evidence };
}
