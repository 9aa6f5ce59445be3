/** A file of the document whose reader can be asked what it thinks of it. */
export interface CheckedFile {
  readonly path: string;
  readonly text: string;
  readonly change: string;
  readonly scope: 'base' | 'node';
  /** Every user may read it, so that its lines can be told. */
  readonly isPublic: boolean;
}
