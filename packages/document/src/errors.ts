import type { Diagnostic, Place } from './diagnostics.ts';
import type { ExitName } from './exit-codes.ts';
import { REASONS, type Reason } from './reasons.ts';

/** One line that proves a failure, and where it was read. Never holds a secret: the reporting room redacts by value. */
export interface Evidence {
  readonly source: string;
  readonly text: string;
}

export interface ErrorDetails {
  readonly reason: Reason;
  /** What failed, in one sentence a stranger understands. */
  readonly summary: string;
  /** What to do about it. */
  readonly remedy: string;
  readonly evidence?: readonly Evidence[];
  /** True where the same command may succeed later with the same input. */
  readonly retryable?: boolean;
  /** Where the same reason ends with another exit code than its usual one. */
  readonly exit?: ExitName;
  readonly cause?: unknown;
  /** What the failed program printed, line by line, for the classifier to find the cause in. Not reported whole. */
  readonly transcript?: readonly Evidence[];
  /** The problems of a document, each with its place. */
  readonly problems?: readonly Diagnostic[];
}

/** How a failure is told: in the status document, to every sink, and to people. Redacted. */
export interface Failure {
  readonly reason: Reason;
  readonly summary: string;
  readonly evidence: readonly Evidence[];
  readonly remedy: string;
  readonly retryable: boolean;
  readonly step?: string;
  /** The field of the document that it is about, and where that is written; absent where it is about none. */
  readonly field?: string;
  readonly position?: Place;
  /** Reasons from the root cause to what the run saw fail, this reason among them; absent where it is the only one. */
  readonly causes?: readonly string[];
}

/**
 * The one error type that crosses a room's wall. Anything else that reaches the runner is a defect and is
 * reported as `InternalError`.
 */
export class MachineadmError extends Error {
  readonly reason: Reason;
  readonly remedy: string;
  readonly evidence: readonly Evidence[];
  readonly retryable: boolean;
  readonly exit: ExitName;
  readonly transcript: readonly Evidence[];
  readonly problems: readonly Diagnostic[];

  constructor(details: ErrorDetails) {
    super(details.summary, details.cause === undefined ? {} : { cause: details.cause });
    this.name = 'MachineadmError';
    this.reason = details.reason;
    this.remedy = details.remedy;
    this.evidence = details.evidence ?? [];
    this.retryable = details.retryable ?? false;
    this.exit = details.exit ?? REASONS[details.reason].exit;
    this.transcript = details.transcript ?? [];
    this.problems = details.problems ?? [];
  }
}

/** What anything thrown says, in the place of a message. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
