import type { RunEvent } from './status.ts';

/**
 * Where the outcome is told. Each call runs under a deadline that its caller enforces; a sink that throws or hangs is
 * reported through the others and never changes the outcome. Everything handed to `deliver` is already redacted.
 */
export interface Sink {
  /** As in the document: `Journal`, `Console`. */
  readonly name: string;
  /** For a sink that is slow by its nature: what a delivery, and all that is left at the end, may take at least. */
  readonly patience?: { readonly deliveryMs: number; readonly closingMs: number };
  open(signal: AbortSignal): Promise<void>;
  deliver(event: RunEvent, signal: AbortSignal): Promise<void>;
  close(signal: AbortSignal): Promise<void>;
}

/** A sink that nobody asked for: what it cannot do is no trouble. */
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
