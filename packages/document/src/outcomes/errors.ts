import type { Diagnostic, Place } from '../diagnostics/index.ts';
import type { ExitName } from './exit-codes.ts';
import { REASONS, type Reason } from './reasons.ts';

/**
 * One line of evidence for a failure, with its source. Never contains a secret: the reporting room redacts by value.
 */
export interface Evidence {
  readonly source: string;
  readonly text: string;
}

/** Lines of one source as evidence. */
export function evidenceFrom(source: string, lines: readonly string[]): readonly Evidence[] {
  return lines.map((text) => ({ source, text }));
}

export interface ErrorDetails {
  readonly reason: Reason;
  /** What failed, in one generally understandable sentence. */
  readonly summary: string;
  readonly remedy: string;
  readonly evidence?: readonly Evidence[];
  /** True where the same command may succeed later with the same input. */
  readonly retryable?: boolean;
  /** An exit code that differs from the usual one of the reason. */
  readonly exit?: ExitName;
  readonly cause?: unknown;
  /** The output of the failed program, line by line, for finding the cause. Not reported as a whole. */
  readonly transcript?: readonly Evidence[];
  /** The problems of a document, each with its place. */
  readonly problems?: readonly Diagnostic[];
}

/** A failure as reported in the status document and to every sink. Redacted. */
export interface Failure {
  readonly reason: Reason;
  readonly summary: string;
  readonly evidence: readonly Evidence[];
  readonly remedy: string;
  readonly retryable: boolean;
  readonly step?: string;
  /** The field of the document that caused it, with its place; absent where no field did. */
  readonly field?: string;
  readonly position?: Place;
  /** Reasons from the root cause to the observed failure, including this one; absent where it is the only one. */
  readonly causes?: readonly string[];
}

/**
 * The only error type that crosses room boundaries. Any other error that reaches the runner is a defect and is reported
 * as `InternalError`.
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

/** The message of any thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
