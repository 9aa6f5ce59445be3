import { MachineadmError } from '@machineadm/document/errors.ts';
import { exitCode } from '@machineadm/document/exit-codes.ts';
import { printable } from '@machineadm/document/printable.ts';
import { redact, redactDeep } from '@machineadm/document/redaction.ts';

export type OutputFormat = 'text' | 'json';

/** Data for the caller: the only thing that goes to standard output. */
export function printText(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

/** A report for people: what it quotes of programs and files is not to drive their terminal. */
export function printReport(text: string): void {
  printText(printable(text));
}

/** One JSON value on standard output, redacted. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(redactDeep(value), undefined, 2)}\n`);
}

/** Words for people beside the data: what they quote of servers, programs and files is not to drive their terminal. */
export function printNotice(text: string): void {
  printPainted(printable(text));
}

/** The same for a text that has our own colours in it, and whose quotations are clean already. */
export function printPainted(text: string): void {
  process.stderr.write(text.endsWith('\n') ? text : `${text}\n`);
}

/**
 * Tells an error: what failed, the evidence, what to do, the reason; as JSON on standard output where data was asked
 * for. Gives the exit status.
 */
export function printError(error: unknown, format: OutputFormat): number {
  if (!(error instanceof MachineadmError)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    printNotice(redact(`machineadm: internal error, please report it: ${text}`));
    if (format === 'json') printJson({ error: { reason: 'InternalError', summary: text } });
    return exitCode('InternalError');
  }
  const { reason, message: summary, remedy, evidence } = error;
  if (format === 'json') printJson({ error: { reason, summary, remedy, evidence } });
  printNotice(redact(formatError(error)));
  return exitCode(error.exit);
}

function formatError({ reason, message, remedy, evidence }: MachineadmError): string {
  const lines = evidence.map(({ source, text }) => (source === 'document' ? text : `  ${source}: ${text}`));
  return [`machineadm: ${message} [${reason}]`, ...lines, remedy].join('\n');
}
