/** The earlier state of a resource. null: it did not exist, or was not active. */
export type PriorState =
  | null
  | FileState
  | (Attributes & { readonly is: 'directory' })
  | { readonly is: 'attributes'; readonly mode: number; readonly uid: number; readonly gid: number }
  | { readonly is: 'symlink'; readonly target: string }
  | { readonly is: 'kernel'; readonly value: string }
  | ServiceBefore
  | { readonly is: 'module' }
  | { readonly is: 'swap'; readonly priority: number }
  /** Without a UUID it is not complete. */
  | { readonly is: 'swap-file'; readonly uuid: string }
  | { readonly is: 'mount'; readonly source: string; readonly type: string; readonly options: string }
  | UserState
  | { readonly is: 'group'; readonly gid?: number; readonly members?: readonly string[] }
  /** There, and nothing more is known: what earlier versions recorded, sockets, and what cannot be read. */
  | { readonly is: 'unknown' };

export interface Attributes {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

export interface FileState extends Attributes {
  readonly is: 'file';
  readonly fingerprint: string;
  /** True where a copy of the content is kept under its fingerprint. */
  readonly kept: boolean;
  /** Where the file itself could not be kept; earlier versions recorded them of every file and directory. */
  readonly extended?: ExtendedAttributes;
}

export interface ServiceBefore {
  readonly is: 'service';
  readonly exists: boolean;
  /** undefined: an earlier version did not record it. */
  readonly active?: boolean;
  readonly enabled: boolean;
  readonly masked: boolean;
}

/** A user of this machine. The password field is kept as a copy: its hash is a secret. */
export interface UserState {
  readonly is: 'user';
  /** Earlier versions did not record these two: such a user is not created again. */
  readonly uid?: number;
  readonly home?: string;
  readonly gid: number;
  readonly gecos: string;
  readonly shell: string;
  readonly groups: readonly string[];
  readonly expires: string;
  /** Fingerprint of the password field. */
  readonly password: string;
}

/** Name and value in hexadecimal (`0x…`), as getfattr(1) prints and setfattr(1) takes it: labels, ACLs, capabilities. */
export type ExtendedAttributes = Readonly<Record<string, string>>;

/** What our changes made of a resource, in their order; undefined: an earlier version did not record it. */
export type Marks = readonly string[] | undefined;

/** The mark of a change that was begun and whose result was never noted: whatever is there may be ours. */
export const UNKNOWN = '?';
