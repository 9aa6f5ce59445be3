import type { Diagnostic } from '@machineadm/document/diagnostics.ts';
import { errorMessage, MachineadmError } from '@machineadm/document/errors.ts';
import { exitCode } from '@machineadm/document/exit-codes.ts';
import { printable } from '@machineadm/document/printable.ts';
import { redact, redactDeep } from '@machineadm/document/redaction.ts';
import { evaluateJsonPath } from './jsonpath.ts';
import { fitted } from './layout.ts';
import type { DataFormat, OutputFormat } from './output-format.ts';
import type { OutputKind } from './output-kinds.ts';
import { isQuiet, isVerbose, wrapWidthOf } from './terminal.ts';

export type { DataFormat, OutputFormat } from './output-format.ts';

/** What every result begins with, but for those that have an apiVersion of their own, such as the status. */
export const OUTPUT_API_VERSION = 'machineadm.dev/v1';

/** Data for the caller: the only thing that goes to stdout. */
export function printText(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

/** A report for people: what it quotes of programs and files must not drive their terminal. */
export function printReport(text: string): void {
  printPaintedReport(printable(text));
}

/** The same for a text that has our own colours in it, and whose quotations are clean already. */
export function printPaintedReport(text: string): void {
  printText(fitted(text, wrapWidthOf(process.stdout)));
}

/** A result as data, in the envelope that all results share: `apiVersion`, `kind`, then its fields. Redacted. */
export async function printData(format: DataFormat, kind: OutputKind, fields: object): Promise<void> {
  await printObject(format, { apiVersion: OUTPUT_API_VERSION, kind, ...fields });
}

/** An object that has its own `apiVersion` and `kind`. Redacted. */
export async function printObject(format: DataFormat, value: object): Promise<void> {
  const data = redactDeep(value);
  if (format === 'json') process.stdout.write(`${JSON.stringify(data, undefined, 2)}\n`);
  else if (format === 'yaml') {
    const { stringify } = await import('yaml');
    process.stdout.write(stringify(JSON.parse(JSON.stringify(data)), { lineWidth: 0, aliasDuplicateObjects: false }));
  } else if (format === 'name') printText(printable(namesOf(data).join('\n')));
  else {
    const text = evaluateJsonPath(format.slice('jsonpath='.length), JSON.parse(JSON.stringify(data)));
    // As kubectl prints it: without a newline that the template does not have.
    process.stdout.write(printable(text));
  }
}

/** `kind/name` as kubectl prints it; of a list, its items. */
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

/** Messages for people beside the data: what they quote of servers, programs and files must not drive their terminal. */
export function printNotice(text: string): void {
  if (!isQuiet()) printMessage(printable(text));
}

/** A message that `--quiet` keeps, with our own colours in it. */
export function printMessage(text: string): void {
  process.stderr.write(`${fitted(text.replace(/\n$/, ''), wrapWidthOf(process.stderr))}\n`);
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

/** Reports a command line that was refused before its command ran. Gives the exit status. */
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

/** The envelope of an error; a path of JSONPath or a name leads nowhere in it, so these get JSON. */
async function printFailure(format: DataFormat, error: object, found: readonly Diagnostic[] = []): Promise<void> {
  const records =
    found.length === 0 ? undefined : (await import('@machineadm/document/diagnostics.ts')).diagnosticRecord;
  const problems = records === undefined ? [] : found.map(records);
  await printData(format === 'yaml' ? 'yaml' : 'json', 'Error', { error, problems });
}

function formatError({ reason, message, remedy, evidence }: MachineadmError): string {
  const lines = evidence.map(({ source, text }) => (source === 'document' ? text : `  ${source}: ${text}`));
  return [`machineadm: ${message} [${reason}]`, ...lines, remedy].join('\n');
}
