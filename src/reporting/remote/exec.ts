import type { ExecSinkModel } from '@machineadm/document/model/index.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import { SIZE_CLASSES } from '@machineadm/status/event.ts';
import type { DeliveryResult, RemoteSink } from './remote-sink.ts';

/** sysexits.h EX_TEMPFAIL: "the user is invited to try again later". */
const TRY_AGAIN = 75;
/** How much of a program's output is reported. */
const LONGEST_WHY = 300;

/**
 * Passes each event to a program, as one line of JSON on standard input. Status 0: accepted; 75: retry later; any
 * other: permanent failure. A last line `{"retryAfterSeconds": N}` on standard output sets the pause.
 */
export function execSink(model: ExecSinkModel): RemoteSink {
  const [program = '', ...args] = model.command;
  return {
    kind: 'Exec',
    isProgram: true,
    target: program,
    capacity: SIZE_CLASSES.full,
    async deliver(event, { secret, run, signal }) {
      const env: Record<string, string> = { MACHINEADM_EVENT_ID: event.id, MACHINEADM_EVENT_TYPE: event.type };
      for (const [name, value] of Object.entries(model.environment)) env[name] = (await secret(value)).reveal();
      const input = `${JSON.stringify(event)}\n`;
      const { status, stdout, stderr } = await run({ program, args, env, input, signal });
      return resultOf(status, stdout, stderr);
    },
  };
}

function resultOf(status: number, stdout: string, stderr: string): DeliveryResult {
  if (status === 0) return { kind: 'delivered' };
  const said = lastLine(stderr);
  const why = redact(`status ${status}${said === '' ? '' : `: ${said}`}`).slice(0, LONGEST_WHY);
  // From 126 on the system could not run it, or a signal ended it.
  if (status !== TRY_AGAIN && status < 126) return { kind: 'refused', why };
  const afterMs = askedFor(lastLine(stdout));
  return { kind: 'retry', why, ...(afterMs === undefined ? {} : { afterMs }) };
}

function askedFor(line: string): number | undefined {
  try {
    const said: unknown = JSON.parse(line);
    if (said === null || typeof said !== 'object' || !('retryAfterSeconds' in said)) return undefined;
    const { retryAfterSeconds: seconds } = said;
    return typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : undefined;
  } catch {
    return undefined;
  }
}
