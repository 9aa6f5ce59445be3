import type { Diagnostic } from '@machineadm/document/diagnostics/index.ts';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { redact, redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { printable, printableJson, printablePainted } from '@machineadm/document/text/printable.ts';
import { evaluateJsonPath } from './jsonpath.ts';
import { fitted } from './layout.ts';
import type { DataFormat, OutputFormat } from './output-format.ts';
import type { OutputKind } from './output-kinds.ts';
import { isQuiet, isVerbose, wrapWidthOf } from './terminal.ts';

export type { DataFormat, OutputFormat } from './output-format.ts';

/** The apiVersion of all results but those that have one of their own, such as the status. */
export const OUTPUT_API_VERSION = 'machineadm.dev/v1';

/** Prints data to standard output; nothing else is printed there. A terminal gets it without what would control it. */
export function printText(text: string): void {
  const shown = process.stdout.isTTY === true ? printablePainted(text) : text;
  process.stdout.write(shown.endsWith('\n') ? shown : `${shown}\n`);
}

/**
 * Prints a report for people. Control characters in quoted programs and files are removed, so that they cannot drive
 * the terminal.
 */
export function printReport(text: string): void {
  printPaintedReport(printable(text));
}

/** Like `printReport`, for a text with our own colours. */
export function printPaintedReport(text: string): void {
  printText(fitted(printablePainted(text), wrapWidthOf(process.stdout)));
}

/** Prints a result as data, redacted, in the envelope that all results share: `apiVersion`, `kind`, then the fields. */
export async function printData(format: DataFormat, kind: OutputKind, fields: object): Promise<void> {
  await printObject(format, { apiVersion: OUTPUT_API_VERSION, kind, ...fields });
}

/** Prints an object that has its own `apiVersion` and `kind`, redacted. */
export async function printObject(format: DataFormat, value: object): Promise<void> {
  const data = redactDeep(value);
  if (format === 'json') process.stdout.write(`${printableJson(data, 2)}\n`);
  else if (format === 'yaml') {
    const { stringify } = await import('yaml');
    printText(stringify(JSON.parse(JSON.stringify(data)), { lineWidth: 0, aliasDuplicateObjects: false }));
  } else if (format === 'name') printText(printable(namesOf(data).join('\n')));
  else {
    const text = evaluateJsonPath(format.slice('jsonpath='.length), JSON.parse(JSON.stringify(data)));
    // As in kubectl, no newline is added to the text of a template.
    process.stdout.write(printable(text));
  }
}

/** `kind/name` as kubectl prints it; for a list, one line for each item. */
function namesOf(data: object): readonly string[] {
  const { kind, changes, checks, images, machine, metadata } = data as Readonly<Record<string, unknown>>;
  const listed = [
    ...itemNames('change', changes, 'id'),
    ...itemNames('check', checks, 'id'),
    ...itemNames('image', images, 'image'),
  ];
  if (listed.length > 0) return listed;
  const name = [machine, metadata].flatMap((part) => nameOf(part, 'name'))[0];
  return [`${String(kind).toLowerCase()}${name === undefined ? '' : `/${name}`}`];
}

function itemNames(prefix: string, list: unknown, key: string): readonly string[] {
  return Array.isArray(list) ? list.flatMap((item) => nameOf(item, key).map((name) => `${prefix}/${name}`)) : [];
}

function nameOf(part: unknown, key: string): readonly string[] {
  if (typeof part !== 'object' || part === null) return [];
  const value = Object.entries(part).find(([name]) => name === key)?.[1];
  return typeof value === 'string' ? [value] : [];
}

/**
 * Prints a message for people to standard error. Control characters of what it quotes are removed, so that they cannot
 * drive the terminal.
 */
export function printNotice(text: string): void {
  if (!isQuiet()) printMessage(printable(text));
}

/** Prints a message with our own colours that `--quiet` does not hide. */
export function printMessage(text: string): void {
  process.stderr.write(`${fitted(printablePainted(text.replace(/\n$/, '')), wrapWidthOf(process.stderr))}\n`);
}

/**
 * Reports an error: what failed, the evidence, what to do, the reason; as data on stdout where data was asked for.
 * Gives the exit status.
 *
 * @param hint added where the command was used wrongly: which help to read
 */
export async function printError(error: unknown, format: OutputFormat, hint?: string): Promise<number> {
  if (!(error instanceof MachineadmError)) {
    const text = errorMessage(error);
    const stack = error instanceof Error && error.stack !== undefined ? error.stack : text;
    printMessage(printable(redact(`machineadm: internal error, please report it: ${stack}`)));
    if (format !== 'text') await printFailure(format, { reason: 'InternalError', summary: isVerbose() ? stack : text });
    return exitCode('InternalError');
  }
  const { reason, message: summary, remedy, evidence, problems } = error;
  if (format !== 'text') await printFailure(format, { reason, summary, remedy, evidence }, problems);
  const lines = [formatError(error), ...(error.exit === 'Usage' && hint !== undefined ? [hint] : [])];
  printMessage(printable(redact(lines.join('\n'))));
  return exitCode(error.exit);
}

/** Reports a command line that was refused before its command ran. Returns the exit code. */
export async function printUsageError(message: string, format: OutputFormat, hint: string): Promise<number> {
  if (format !== 'text') {
    await printFailure(format, {
      reason: 'UsageInvalid',
      summary: message.replaceAll('\n', ' '),
      remedy: hint,
      evidence: [],
    });
  }
  printMessage(printable(`machineadm: ${message}\n${hint}`));
  return exitCode('Usage');
}

/**
 * The envelope of an error. It has no names or paths that a JSONPath or `-o name` could print, so these formats get
 * JSON.
 */
async function printFailure(format: DataFormat, error: object, found: readonly Diagnostic[] = []): Promise<void> {
  const records =
    found.length === 0 ? undefined : (await import('@machineadm/document/diagnostics/index.ts')).diagnosticRecord;
  const problems = records === undefined ? [] : found.map(records);
  await printData(format === 'yaml' ? 'yaml' : 'json', 'Error', { error, problems });
}

function formatError({ reason, message, remedy, evidence }: MachineadmError): string {
  const lines = evidence.map(({ source, text }) => (source === 'document' ? text : `  ${source}: ${text}`));
  return [`machineadm: ${message} [${reason}]`, ...lines, remedy].join('\n');
}
