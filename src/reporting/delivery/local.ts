import type { LocalSinkModel } from '@machineadm/document/model/index.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import type { RunEvent } from '@machineadm/status/status.ts';
import type { Host } from '../../host/seam/host.ts';
import { withTimeout } from '../../host/time/timeout.ts';
import { sinksOf } from '../sinks/index.ts';

/** Time limit for a sink of this machine. */
const LOCAL_MS = 2_000;

/**
 * Sends one event to a sink of this machine, outside of a run. Returns why it was not accepted, or undefined. Never
 * throws.
 */
export async function sendToLocalSink(
  host: Pick<Host, 'run' | 'stat'>,
  model: LocalSinkModel,
  event: RunEvent,
): Promise<string | undefined> {
  try {
    for (const sink of sinksOf([model], host)) {
      await withTimeout(LOCAL_MS, async (signal) => {
        await sink.open(signal);
        try {
          await sink.deliver(event, signal);
        } finally {
          await sink.close(signal);
        }
      });
    }
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}
