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
