import type { OutputFormat } from './output.ts';

/** Options of every command that takes a document. */
export interface DocumentOptions {
  readonly document: readonly string[];
  readonly output: OutputFormat;
}
