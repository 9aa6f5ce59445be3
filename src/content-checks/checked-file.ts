/** A file of the document whose reader can be asked what it thinks of it. */
export interface CheckedFile {
  readonly path: string;
  readonly text: string;
  readonly change: string;
  readonly scope: 'base' | 'node';
  /** True where every user may read it, so that its lines may be shown. */
  readonly isPublic: boolean;
}
