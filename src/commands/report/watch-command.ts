import { exitCode } from '@machineadm/document/exit-codes.ts';
import type { ReadyModel } from '@machineadm/document/model.ts';
import { oneLine } from '@machineadm/document/printable.ts';
import { redact } from '@machineadm/document/redaction.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { durationOf } from '../../cli/duration.ts';
import { printNotice, printText } from '../../cli/output.ts';
import { untilSignal } from '../../cli/until-signal.ts';
import { watchNode } from './watch.ts';

export interface WatchOptions {
  readonly document?: readonly string[];
  readonly interval: string;
  readonly repeat: string;
  readonly require: ReadyModel['require'];
  readonly bootIdFile: string;
}

/** With a shorter interval, watching would itself be load on the node. */
const SHORTEST_INTERVAL_MS = 1_000;

/** `machineadm report watch`: prints a line for each change until SIGTERM or Ctrl-C. */
export async function reportWatch(options: WatchOptions): Promise<number> {
  const intervalMs = durationOf('--interval', options.interval, SHORTEST_INTERVAL_MS);
  const repeatMs = durationOf('--repeat', options.repeat, SHORTEST_INTERVAL_MS);
  await untilSignal((signal) =>
    watchNode({
      sources: options.document ?? [],
      agentVersion: buildInfo().version,
      require: options.require,
      bootIdFile: options.bootIdFile,
      intervalMs,
      repeatMs,
      signal,
      onChange: ({ lastTransitionTime, status, reason, message }) =>
        printText(
          redact(
            `${lastTransitionTime} NodeHealthy=${status} (${reason})${message === '' ? '' : `: ${oneLine(message)}`}`,
          ),
        ),
      onNews: printNotice,
    }),
  );
  return exitCode('Success');
}
