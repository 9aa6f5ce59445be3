import { CODES, type Code, type Severity } from './codes.ts';

/** One thing that the conversion decided or cannot decide. Never holds a value of the input that may be a secret. */
export interface Decision {
  readonly code: Code;
  readonly severity: Severity;
  /** Where in the input: `KubeadmConfig clusters/a: spec.files[0].path`. */
  readonly at: string;
  /** What and why, and what to do about it. */
  readonly message: string;
}

/** Anything that knows its place in the input. */
export interface Placed {
  readonly place: string;
}

/** Gathers what the conversion tells, in the order of the input; the same thing is told once. */
export class Report {
  readonly #decisions: Decision[] = [];
  readonly #told = new Set<string>();

  add(code: Code, at: Placed | string, message: string): void {
    const place = typeof at === 'string' ? at : at.place;
    const key = JSON.stringify([code, place, message]);
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.#decisions.push({ code, severity: CODES[code].severity, at: place, message });
  }

  get decisions(): readonly Decision[] {
    return this.#decisions;
  }
}
