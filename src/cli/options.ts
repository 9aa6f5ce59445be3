import { EXIT_CONVENTIONS, type ExitConvention, isExitConvention } from '@machineadm/document/exit-codes.ts';
import { type Command, Option } from 'commander';
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

/** Known to every command that finds out the secrets of a document; see `heedInsecureDocument`. */
export function insecureDocumentOption(): Option {
  return new Option(
    '--insecure-document',
    'take a document, and files that it takes secrets from, that other users may change or read; for tests',
  );
}

/** Runs before every command. */
export async function heedInsecureDocument(_program: Command, command: Command): Promise<void> {
  if (command.opts().insecureDocument !== true) return;
  (await import('../pipeline/load.ts')).acceptInsecureSources();
}

/** @param more formats that this command has beside those of all */
export function outputOption(...more: readonly string[]): Option {
  const formats = ['text', 'json', ...more];
  return new Option('-o, --output <format>', 'for people or for machines').choices(formats).default('text');
}

/** Sinks beside those of the document. */
export function sinkOption(): Option {
  return new Option(
    '--sink <sink>',
    "another sink, as in the document's reporting.sinks, such as '{type: Webhook, url: …}'; repeat for more",
  ).argParser((sink: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), sink]);
}

const EXIT_CODES_OPTION = '--exit-codes';

export function exitCodesOption(): Option {
  return new Option(`${EXIT_CODES_OPTION} <invoker>`, 'the exit codes of who starts it, for a reboot that a step needs')
    .choices(Object.keys(EXIT_CONVENTIONS))
    .default('machineadm');
}

/** Whose exit codes a command line asks for, even one that is wrong: a 2 would be read as the wish for a reboot. */
export function conventionIn(argv: readonly string[]): ExitConvention {
  const named = argv.flatMap((word, index) => {
    if (word === EXIT_CODES_OPTION) return [argv[index + 1] ?? ''];
    return word.startsWith(`${EXIT_CODES_OPTION}=`) ? [word.slice(EXIT_CODES_OPTION.length + 1)] : [];
  });
  return named.find(isExitConvention) ?? 'machineadm';
}

/** Before the options are parsed, or where that failed. */
export function wantsJson(argv: readonly string[]): boolean {
  return argv.some(
    (word, index) =>
      word === '--output=json' ||
      word === '-ojson' ||
      (word === 'json' && /^(-o|--output)$/.test(argv[index - 1] ?? '')),
  );
}
