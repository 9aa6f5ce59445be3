import type { TrustedKey } from './keys.ts';

/** The trusted keys and their constraints. */
export interface TrustStore {
  readonly keys: readonly TrustedKey[];
  /** Ids of revoked keys. */
  readonly revoked: ReadonlySet<string>;
  /** The oldest accepted release. */
  readonly minimumVersion: string | undefined;
  /** How many different keys must have signed a list. */
  readonly threshold: number;
  /** The signed root that the keys and the threshold are from; undefined where they are those of plain files. */
  readonly roots?: TrustedRoots;
}

export interface TrustedRoots {
  /** From the root of the trust directory to the newest one; each was verified by the one before it. */
  readonly chain: readonly [TrustRoot, ...TrustRoot[]];
  /** Ids of keys that the operator revoked. Keys that a list revoked are not among them: lists do not decide about roots. */
  readonly revoked: ReadonlySet<string>;
}

/** Keys, and how many of them must have signed. */
export interface Signers {
  readonly keys: readonly TrustedKey[];
  readonly threshold: number;
}

/** The content of a root, `root.json`. */
export interface TrustRoot {
  /** Of the publisher, the same in all versions. */
  readonly name: string;
  readonly version: number;
  readonly createdAt: Date;
  /** Everything is refused from then on; undefined: it does not expire. */
  readonly expiresAt: Date | undefined;
  /** Who must have signed this root and the next one. */
  readonly root: Signers;
  /** Who must have signed lists of releases and directories. */
  readonly lists: Signers;
  /** The file. */
  readonly text: string;
  /** SHA-256 of what is signed, hexadecimal. */
  readonly sha256: string;
}
