/** A problem or a warning. */
export interface Problem {
  /** The kind of problem. Kinds are never renamed; new ones may be added. */
  readonly code: string;
  /** Name of the source, as given. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** `host.files[2].mode`; empty for the whole document. */
  readonly path: string;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
}

/** One of the texts that a document is merged from. */
export interface Source {
  readonly name: string;
  /** YAML or JSON, plain or as gzip, base64 or both. */
  readonly content: string | Uint8Array;
}
