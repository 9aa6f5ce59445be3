import { Option } from 'commander';
import type { OutputFormat } from './output.ts';

/** Options of `audit`: a benchmark, or secrets left behind. */
export interface AuditOptions {
  readonly document?: readonly string[];
  readonly output: OutputFormat;
  readonly profile?: readonly string[];
  readonly residue?: true;
  readonly scrub?: true;
}

/** Options of every command that takes a document. */
export interface DocumentOptions {
  readonly document: readonly string[];
  readonly output: OutputFormat;
}

export function documentOption(): Option {
  return new Option(
    '-d, --document <source>',
    'a file, a directory of drop-ins, or - for standard input; repeat to merge several in order',
  )
    .argParser((source: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), source])
    .makeOptionMandatory();
}

export function outputOption(): Option {
  return new Option('-o, --output <format>', 'for people or for machines').choices(['text', 'json']).default('text');
}

/** Sinks beside those of the document. */
export function sinkOption(): Option {
  return new Option(
    '--sink <sink>',
    "another sink, as in the document's reporting.sinks, such as '{type: Webhook, url: …}'; repeat for more",
  ).argParser((sink: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), sink]);
}
