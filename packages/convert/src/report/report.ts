import { CODES, type Code, type Severity } from './codes.ts';
import type { Dropped } from './dropped.ts';

/** A decision of the conversion, or one that it needs. Never contains a value of the input that may be a secret. */
export interface Decision {
  readonly code: Code;
  readonly severity: Severity;
  /** The place in the input: `KubeadmConfig clusters/a: spec.files[0].path`. */
  readonly at: string;
  /** What and why, and what to do about it. */
  readonly message: string;
}

/** A scalar that was left out without a message. */
export interface DroppedPart {
  readonly reason: Dropped;
  readonly at: string;
}

/** A part of the input with its place. */
export interface Placed {
  readonly place: string;
}

/** Collects the messages of the conversion, in the order of the input; duplicates are dropped. */
export class Report {
  readonly #decisions: Decision[] = [];
  readonly #dropped: DroppedPart[] = [];
  readonly #told = new Set<string>();
  #tracked: (() => void)[] = [];

  add(code: Code, at: Placed | string, message: string): void {
    const place = typeof at === 'string' ? at : at.place;
    const key = JSON.stringify([code, place, message]);
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.#decisions.push({ code, severity: CODES[code].severity, at: place, message });
  }

  drop(reason: Dropped, at: Placed): void {
    this.#dropped.push({ reason, at: at.place });
  }

  /** Registers a tree of the input: `reportUnread` reports its unread parts. */
  track(reportUnread: () => void): void {
    this.#tracked.push(reportUnread);
  }

  /**
   * Ends the conversion of one input: reports the unread parts of its trees. Skipped without a resulting document: that
   * is reported already, and most of the input is unread.
   */
  settle(isConverted: boolean): void {
    if (isConverted) for (const reportUnread of this.#tracked) reportUnread();
    this.#tracked = [];
  }

  get decisions(): readonly Decision[] {
    return this.#decisions;
  }

  get dropped(): readonly DroppedPart[] {
    return this.#dropped;
  }
}
