import type { RunEvent } from '@machineadm/status/status.ts';

/**
 * A destination of reports. The caller enforces a deadline for each call; a sink that throws or hangs is reported
 * through the others and never changes the outcome. Everything passed to `deliver` is already redacted.
 */
export interface Sink {
  /** As in the document: `Journal`, `Console`. */
  readonly name: string;
  /** For a slow kind of sink: the minimum time limit of a delivery, and of closing. */
  readonly patience?: { readonly deliveryMs: number; readonly closingMs: number };
  open(signal: AbortSignal): Promise<void>;
  deliver(event: RunEvent, signal: AbortSignal): Promise<void>;
  close(signal: AbortSignal): Promise<void>;
}

/** A sink that the document does not name: its failures are not reported. */
export function withoutTrouble(sink: Sink): Sink {
  let usable = true;
  return {
    name: sink.name,
    open: async (signal) => {
      await sink.open(signal).catch(() => {
        usable = false;
      });
    },
    deliver: async (event, signal) => {
      if (usable) await sink.deliver(event, signal).catch(() => undefined);
    },
    close: async (signal) => sink.close(signal).catch(() => undefined),
  };
}
