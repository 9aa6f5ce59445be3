/** Benchmarks that a machine can be held to. */
export const HARDENING_PROFILES = ['cis-level-1', 'cis-level-2', 'stig', 'cis-os'] as const;

export type HardeningProfile = (typeof HARDENING_PROFILES)[number];

export interface HardeningModel {
  readonly profiles: readonly HardeningProfile[];
  /** Ids of controls that are applied although their profile leaves them alone, or is not chosen. */
  readonly include: readonly string[];
  /** Controls that are not applied, and why. */
  readonly exceptions: readonly HardeningException[];
}

export interface HardeningException {
  readonly id: string;
  readonly reason: string;
}
