import type { Evidence } from '@machineadm/document/errors.ts';

/** What a look at the machine says of one control. */
export type Verdict =
  | { readonly state: 'holds' | 'fails'; readonly evidence: readonly Evidence[] }
  /** It says nothing here: another role or version, or there is nothing to judge. */
  | { readonly state: 'not-applicable'; readonly why: string };

export function decided(holds: boolean, evidence: readonly Evidence[]): Verdict {
  return { state: holds ? 'holds' : 'fails', evidence };
}
