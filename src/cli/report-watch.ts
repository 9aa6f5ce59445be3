import { MachineadmError } from '@machineadm/document/errors.ts';
import { exitCode } from '@machineadm/document/exit-codes.ts';
import type { ReadyModel } from '@machineadm/document/model.ts';
import { oneLine } from '@machineadm/document/printable.ts';
import { redact } from '@machineadm/document/redaction.ts';
import { parseDuration } from '@machineadm/document/units.ts';
import { watchNode } from '../pipeline/report-watch.ts';
import { buildInfo } from './build-info.ts';
import { printNotice, printText } from './output.ts';

export interface WatchOptions {
  readonly document?: readonly string[];
  readonly interval: string;
  readonly repeat: string;
  readonly require: ReadyModel['require'];
  readonly bootIdFile: string;
}

/** Oftener than this the looking would be what the node does. */
const SHORTEST_INTERVAL_MS = 1_000;

/** `machineadm report watch`: a line on standard output for each change, until SIGTERM or Ctrl-C. */
export async function reportWatch(options: WatchOptions): Promise<number> {
  const intervalMs = durationOf('--interval', options.interval);
  const repeatMs = durationOf('--repeat', options.repeat);
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  try {
    await watchNode({
      sources: options.document ?? [],
      agentVersion: buildInfo().version,
      require: options.require,
      bootIdFile: options.bootIdFile,
      intervalMs,
      repeatMs,
      signal: stop.signal,
      onChange: ({ lastTransitionTime, status, reason, message }) =>
        printText(
          redact(
            `${lastTransitionTime} NodeHealthy=${status} (${reason})${message === '' ? '' : `: ${oneLine(message)}`}`,
          ),
        ),
      onNews: printNotice,
    });
    return exitCode('Success');
  } finally {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
  }
}

function durationOf(option: string, text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= SHORTEST_INTERVAL_MS) return ms;
  throw new MachineadmError({
    reason: 'UsageInvalid',
    summary: `${option}: "${text}" is not a duration of a second or more`,
    remedy: 'Write a number with its unit, such as 90s or 10m.',
  });
}
