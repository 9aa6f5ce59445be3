import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { printableJson } from '@machineadm/document/text/printable.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import type { RunEvent } from '@machineadm/status/status.ts';
import { OUTPUT_API_VERSION } from './output.ts';

/** Prints one event of a run as a line of JSON (`RunEvent`), redacted. */
export function printEvent(event: RunEvent): void {
  printLine({ apiVersion: OUTPUT_API_VERSION, kind: 'RunEvent', ...recordOf(event) });
}

/** Prints the status that ends a stream, on one line. */
export function printLine(value: object): void {
  process.stdout.write(`${printableJson(redactDeep(value))}\n`);
}

function recordOf(event: RunEvent): object {
  const { runId, updatedAt: time, phase } = event.status;
  const common = { type: event.kind, time, runId, phase };
  switch (event.kind) {
    case 'started':
      return { ...common, attempt: event.status.attempt };
    case 'step':
      return { ...common, step: event.step };
    case 'waiting':
      return {
        ...common,
        stepId: event.step,
        waitingFor: event.waitingFor,
      };
    case 'warning':
      return { ...common, message: event.message, ...omitUndefined({ probableCause: event.status.probableCause }) };
    case 'concluded': {
      const { outcome, exitCode, failure } = event.status;
      return { ...common, outcome, exitCode, failure };
    }
  }
}
