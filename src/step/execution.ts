import type { Resource } from '../host/seam/resource.ts';

/** The functions of the run that a change may use. */
export interface Execution {
  /** Aborted at a deadline or by a signal; pass it to every command and wait. */
  readonly signal: AbortSignal;
  /** Reports what is being waited for; shown in the status as `waitingFor`. */
  waitingFor(what: string | undefined): void;
  /** A line of a child's output, streamed to the operator. */
  output(source: string, line: string): void;
  /** Something the operator should know that does not fail the run. */
  warn(message: string): void;
  /** Marks something that a run created as no longer ours. */
  release(path: string, of?: Resource): void;
  /** Leaves a JSON note in the journal, durable before it returns; the next `inspect` finds it in the record. */
  remember(note: unknown): void;
}
