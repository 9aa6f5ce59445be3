import type { Span } from './automaton.ts';
import { type Decoded, identity, SQUEEZED_OUT, squeeze } from './decoding.ts';
import { DIGIT_CODES, type DigitCode, decodeDigits, digitRuns, type Run } from './digits.ts';
import { mayHoldEscapes, withoutEscapes } from './escapes.ts';
import { GRAM, ValueFinder } from './value-finder.ts';

/** Shorter values are not searched for: they would blank out ordinary words. */
export const SHORTEST_SEARCHED = 6;
/** A value without its blanks may match across unrelated words, so it must be longer. */
const SHORTEST_SPREAD = 12;
/** Minimum length of a single line of a longer value. */
const SHORTEST_LINE = 16;
const MOST_LINES = 512;
/** The searched prefix of a longer value; the rest is compared. */
const LONGEST_STRING = 4096;

const ESCAPE_LAYERS = 4;
const DEEPEST = 3;
/**
 * Decoded bytes that look like text are searched for further encodings; random bytes are not readable for that long.
 */
const READABLE_STRETCH = 16;
/** Limit of bytes read per byte of text; above it, a part of the text is removed as a whole. */
const WORK_PER_BYTE = 64;
const LEAST_WORK = 1024 * 1024;

interface Searched {
  readonly values: readonly string[];
  readonly plain: ValueFinder;
  readonly squeezed: ValueFinder;
  /** For text in UTF-16, which is rare: built when there is some. */
  readonly wide: () => ValueFinder;
  /** Values of which `plain` contains only the prefix. */
  readonly long: readonly Uint8Array[];
}

/**
 * Values that must not appear, and their occurrences in a text in any notation: escaped, quoted, folded, in base64 at
 * any offset, in hexadecimal, and in nested combinations.
 */
export class KnownValues {
  readonly #values = new Set<string>();
  #unsearched: string[] = [];
  #parts: Searched[] = [];
  #work = 0;

  /** From now on the value is found. */
  learn(value: string): void {
    if (value.length < SHORTEST_SEARCHED || this.#values.has(value)) return;
    this.#values.add(value);
    this.#unsearched.push(value);
  }

  get size(): number {
    return this.#values.size;
  }

  /** Bytes read by the last search, which tests compare with the length of the text. */
  get work(): number {
    return this.#work;
  }

  /** Where in `bytes` (UTF-8) values are, in order; occurrences that overlap are one. */
  find(bytes: Uint8Array): Span[] {
    this.#prepare();
    this.#work = 0;
    if (this.#parts.length === 0 || bytes.length < SHORTEST_SEARCHED) return [];
    const spans: Span[] = [];
    const limit = LEAST_WORK + WORK_PER_BYTE * bytes.length;
    for (const part of this.#parts) {
      const search = new Search(part, spans, limit);
      search.in(identity(bytes), 0);
      this.#work += search.work;
    }
    return merged(spans);
  }

  /** New values are merged with parts of similar size, so that adding values one by one does not rebuild everything. */
  #prepare(): void {
    if (this.#unsearched.length === 0) return;
    let values = this.#unsearched;
    this.#unsearched = [];
    for (let last = this.#parts.at(-1); last !== undefined && last.values.length <= values.length * 2; ) {
      values = [...last.values, ...values];
      this.#parts.pop();
      last = this.#parts.at(-1);
    }
    this.#parts.push(searchedOf(values));
  }
}

function merged(spans: readonly Span[]): Span[] {
  const disjoint: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = disjoint.at(-1);
    if (last === undefined || span.start >= last.end) disjoint.push(span);
    else disjoint[disjoint.length - 1] = { start: last.start, end: Math.max(last.end, span.end) };
  }
  return disjoint;
}

function searchedOf(values: readonly string[]): Searched {
  const encoder = new TextEncoder();
  const plain: Uint8Array[] = [];
  const squeezed: Uint8Array[] = [];
  const long: Uint8Array[] = [];
  const wide: string[] = [];
  for (const form of new Set(values.flatMap(formsOf))) {
    const bytes = encoder.encode(form);
    if (bytes.length > LONGEST_STRING) long.push(bytes);
    plain.push(bytes.subarray(0, LONGEST_STRING));
    if (TWO_LATIN.test(form.slice(0, LONGEST_STRING / 2))) wide.push(form);
    else plain.push(utf16(form));
    const canonical = canonicalOf(form, bytes, encoder);
    const shortest = /\s/.test(form) ? SHORTEST_SPREAD : SHORTEST_SEARCHED;
    if (canonical.length >= shortest) squeezed.push(canonical.subarray(0, LONGEST_STRING));
  }
  let finder: ValueFinder | undefined;
  return {
    values,
    plain: new ValueFinder(plain),
    squeezed: new ValueFinder(squeezed),
    wide: () => {
      finder ??= new ValueFinder(wide.map(utf16));
      return finder;
    },
    long,
  };
}

/**
 * The searched forms of a value: itself, its lines, the secret half of a bootstrap token; with `+` for blanks in forms.
 */
function formsOf(value: string): readonly string[] {
  const lines = value.split('\n').map((line) => line.trim());
  const bodies =
    lines.length > 1 ? lines.filter((line) => line.length >= SHORTEST_LINE && !line.startsWith('-----')) : [];
  const tokenSecret = /^[a-z0-9]{6}\.([a-z0-9]{16})$/.exec(value.trim())?.slice(1) ?? [];
  const inForms = value.includes(' ') ? [value.replaceAll(' ', '+')] : [];
  const all = [value, value.trim(), ...bodies.slice(0, MOST_LINES), ...tokenSecret, ...inForms];
  return all.filter((form) => form.trim().length >= SHORTEST_SEARCHED);
}

/** In UTF-16, such text has two zero bytes, with one other byte between them. */
const TWO_LATIN = /[^\u0100-\uffff]{2}/;

/** Little-endian, as in Windows' memory and PowerShell's encoded commands; as far as it is searched. */
function utf16(text: string): Uint8Array {
  const length = Math.min(text.length * 2, LONGEST_STRING);
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 2) {
    const unit = text.charCodeAt(at / 2);
    bytes[at] = unit & 0xff;
    bytes[at + 1] = unit >> 8;
  }
  return bytes;
}

/** The bytes of a form as `squeeze` leaves them. Most values have no escapes, and most lines nothing to leave out. */
function canonicalOf(form: string, bytes: Uint8Array, encoder: TextEncoder): Uint8Array {
  if (mayHoldEscapes(bytes)) return squeeze(layersOf(identity(bytes)).at(-1) ?? identity(bytes)).bytes;
  const rest = form.replace(SQUEEZED_OUT, '');
  return rest.length === form.length ? bytes : encoder.encode(rest);
}

/** The bytes, then with one layer of escapes after the other decoded. */
function layersOf(source: Decoded): readonly Decoded[] {
  const layers = [source];
  for (let layer = source; layers.length <= ESCAPE_LAYERS; ) {
    const next = withoutEscapes(layer);
    if (next === undefined) break;
    layers.push(next);
    layer = next;
  }
  return layers;
}

/** One search of one text for one part of the values. */
class Search {
  readonly #part: Searched;
  readonly #spans: Span[];
  readonly #limit: number;
  /** The end of the last match of a long value, before which it is not compared again. */
  #reach = 0;
  work = 0;

  constructor(part: Searched, spans: Span[], limit: number) {
    this.#part = part;
    this.#spans = spans;
    this.#limit = limit;
  }

  in(source: Decoded, depth: number): void {
    const layers = layersOf(source);
    for (const layer of layers) this.#plain(layer);
    const squeezed = squeeze(layers.at(-1) ?? source);
    this.#scan(squeezed, this.#part.squeezed);
    this.work += layers.length * source.bytes.length;
    for (const code of DIGIT_CODES) {
      const shortest = Math.ceil((SHORTEST_SEARCHED * 8) / code.bits);
      for (const run of digitRuns(code, squeezed.bytes, shortest)) this.#digits(squeezed, run, code, depth);
    }
  }

  /** The digits may begin anywhere in the run: preceding text may look like digits, too. */
  #digits(source: Decoded, run: Run, code: DigitCode, depth: number): void {
    for (let offset = 0; offset < code.offsets; offset += 1) {
      if (this.work > this.#limit) {
        // Deeper nesting is removed unread.
        this.#spans.push({ start: source.starts[run.start] ?? 0, end: source.ends[run.end - 1] ?? 0 });
        return;
      }
      const start = run.start + offset;
      const { matches, readable } = this.#probe(code, source.bytes, start, run.end);
      const deeper = readable && depth < DEEPEST;
      if (!matches && !deeper) continue;
      const decoded = decodeDigits(code, source, start, run.end);
      if (deeper) this.in(decoded, depth + 1);
      else this.#plain(decoded);
    }
  }

  /** Most runs are words: these are decoded byte by byte without allocations. */
  #probe(code: DigitCode, bytes: Uint8Array, start: number, end: number): { matches: boolean; readable: boolean } {
    const { plain } = this.#part;
    let [before, last, read, stretch, longest, bits, held] = [0, 0, 0, 0, 0, 0, 0];
    let matches = false;
    for (let at = start; at < end; at += 1) {
      held = ((held << code.bits) | (code.values[bytes[at] ?? 0] ?? 0)) & 0xffff;
      bits += code.bits;
      if (bits < 8) continue;
      bits -= 8;
      const byte = (held >> bits) & 0xff;
      before = (before << 8) | (last >>> 24);
      last = (last << 8) | byte;
      read += 1;
      if (read >= GRAM && plain.mayMatch(before, last)) matches = true;
      // Perhaps UTF-16, see TWO_LATIN.
      if ((last & 0xff00ff) === 0 && read >= 3) matches = true;
      stretch = isTextByte(byte) ? stretch + 1 : 0;
      if (stretch > longest) longest = stretch;
    }
    this.work += Math.floor(((end - start) * code.bits) / 8);
    return { matches, readable: longest >= READABLE_STRETCH };
  }

  #plain(decoded: Decoded): void {
    this.#scan(decoded, this.#part.plain);
  }

  #scan(decoded: Decoded, finder: ValueFinder): void {
    const { bytes, starts, ends } = decoded;
    this.work += bytes.length;
    this.#reach = 0;
    const found = (start: number, end: number): void => {
      const reach = end - start === LONGEST_STRING ? this.#extended(bytes, end) : end;
      this.#spans.push({ start: starts[start] ?? 0, end: ends[reach - 1] ?? 0 });
    };
    const spend = (compared: number): boolean => {
      this.work += compared;
      return this.work <= this.#limit;
    };
    const finders = finder === this.#part.plain && bytes.includes(0) ? [finder, this.#part.wide()] : [finder];
    // What takes too long to compare is removed unread.
    if (!finders.every((one) => one.scan(bytes, found, spend)))
      this.#spans.push({ start: starts[0] ?? 0, end: ends[bytes.length - 1] ?? 0 });
  }

  /** The end of a long value whose prefix ends at `end`: as far as the bytes match. */
  #extended(bytes: Uint8Array, end: number): number {
    if (end < this.#reach) return this.#reach;
    let longest = end;
    for (const value of this.#part.long) {
      let at = end;
      while (at < bytes.length && at - end + LONGEST_STRING < value.length) {
        if (bytes[at] !== value[at - end + LONGEST_STRING]) break;
        at += 1;
      }
      longest = Math.max(longest, at);
    }
    this.work += longest - end;
    this.#reach = longest;
    return longest;
  }
}

/** Whether it is text, possibly in UTF-16. */
function isTextByte(byte: number): boolean {
  return (byte >= 0x20 && byte < 0x7f) || byte === 0 || (byte >= 9 && byte <= 13);
}
