import { CODES, type Code, type Severity } from './codes.ts';
import type { Dropped } from './dropped.ts';

/** One thing that the conversion decided or cannot decide. Never holds a value of the input that may be a secret. */
export interface Decision {
  readonly code: Code;
  readonly severity: Severity;
  /** Where in the input: `KubeadmConfig clusters/a: spec.files[0].path`. */
  readonly at: string;
  /** What and why, and what to do about it. */
  readonly message: string;
}

/** A scalar that was left out without a word. */
export interface DroppedPart {
  readonly reason: Dropped;
  readonly at: string;
}

/** Anything that knows its place in the input. */
export interface Placed {
  readonly place: string;
}

/** Gathers what the conversion tells, in the order of the input; the same thing is told once. */
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

  /** A tree of the input was opened: `reportUnread` adds what nobody read of it. */
  track(reportUnread: () => void): void {
    this.#tracked.push(reportUnread);
  }

  /**
   * Ends the conversion of one input: what nobody read of its trees is reported. Not where no document came out of it: that
   * is reported already, and left most of the input unread.
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
