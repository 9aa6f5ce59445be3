import type { Span } from './automaton.ts';
import { detect } from './detectors.ts';
import { KnownValues } from './known-values.ts';

export const REDACTED = '[redacted]';

/** Of the texts that are known to be clean: characters of each, and how many. */
const [LONGEST_KEPT, MOST_KEPT] = [512, 2000];

/**
 * Removes secrets from text: registered values in every encoding, and unknown ones by their form. It belongs to a run
 * and ends with it.
 */
export class Redactor {
  readonly #known = new KnownValues();
  /** Short texts without a secret: a run says most of its texts several times. */
  readonly #clean = new Set<string>();
  readonly #public = new Set<string>();

  /** From now on this value is removed. */
  learn(value: string): void {
    this.#clean.clear();
    this.#known.learn(value);
  }

  /**
   * From now on this word is kept although it looks random: the id of a public key. Does not apply to a registered
   * value.
   */
  publish(word: string): void {
    this.#public.add(word);
  }

  /** The number of registered values. */
  get secrets(): number {
    return this.#known.size;
  }

  /** Occurrences of known values in bytes. */
  find(bytes: Uint8Array): readonly Span[] {
    return this.#known.find(bytes);
  }

  /** Bytes read by the last search. */
  get work(): number {
    return this.#known.work;
  }

  redact(text: string): string {
    if (text.length < 4 || this.#clean.has(text)) return text;
    const spans = [...this.#knownIn(text), ...detect(text, (word) => this.#public.has(word))];
    if (spans.length === 0 && text.length <= LONGEST_KEPT) {
      if (this.#clean.size >= MOST_KEPT) this.#clean.clear();
      this.#clean.add(text);
    }
    return replaced(text, spans);
  }

  #knownIn(text: string): Span[] {
    const bytes = new TextEncoder().encode(text);
    const spans = this.#known.find(bytes);
    if (spans.length === 0 || bytes.length === text.length) return spans;
    const places = unitsOf(text, bytes.length);
    return spans.map(({ start, end }) => ({ start: places[start] ?? 0, end: places[end] ?? text.length }));
  }
}

/** The index of the UTF-16 unit for each byte of the UTF-8 form. */
function unitsOf(text: string, length: number): Int32Array {
  const places = new Int32Array(length + 1);
  let at = 0;
  for (let unit = 0; unit < text.length; ) {
    const point = text.codePointAt(unit) ?? 0;
    const bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    places.fill(unit, at, at + bytes);
    at += bytes;
    unit += point < 0x10000 ? 1 : 2;
  }
  places[length] = text.length;
  return places;
}

function replaced(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  const sorted = spans.filter(({ start, end }) => end > start).sort((a, b) => a.start - b.start || b.end - a.end);
  let clean = '';
  let at = 0;
  for (let index = 0; index < sorted.length; ) {
    const { start } = sorted[index] ?? { start: text.length };
    let end = start;
    // Adjacent parts are one secret: the lines of a key, the parts of a long value.
    while (index < sorted.length && touches(text, end, sorted[index]?.start ?? 0)) {
      end = Math.max(end, sorted[index]?.end ?? 0);
      index += 1;
    }
    clean += `${text.slice(at, start)}${REDACTED}`;
    at = end;
  }
  return clean + text.slice(at);
}

const LONGEST_GAP = 64;

/** Whether only blanks and escaped line breaks are between two parts. */
function touches(text: string, end: number, start: number): boolean {
  if (start <= end) return true;
  return start - end <= LONGEST_GAP && /^(?:[\s"']|\\+[nrt])*$/.test(text.slice(end, start));
}
