import { Automaton, type Span } from './automaton.ts';
import { type Decoded, identity, squeeze } from './decoding.ts';
import { DIGIT_CODES, type DigitCode, decodeDigits, digitRuns, type Run } from './digits.ts';
import { withoutEscapes } from './escapes.ts';

/** Values shorter than this are not searched for in text: they would blank out ordinary words. */
export const SHORTEST_SEARCHED = 6;
/** A value without its blanks may be spread over words that have nothing to do with it, so it must be longer. */
const SHORTEST_SPREAD = 12;
/** A line of a longer value that is looked for by itself. */
const SHORTEST_LINE = 16;
const MOST_LINES = 512;
/** Of a longer value the beginning is looked for; what follows is compared. */
const LONGEST_STRING = 4096;

const ESCAPE_LAYERS = 4;
const DEEPEST = 3;
/** Decoded bytes that look like text are searched for further encodings; random bytes are not that long readable. */
const READABLE_STRETCH = 16;
/** Bytes read for each byte of the text before a part of it is given up and removed as a whole. */
const WORK_PER_BYTE = 64;
const LEAST_WORK = 1024 * 1024;

interface Searched {
  readonly values: readonly string[];
  readonly plain: Automaton;
  readonly squeezed: Automaton;
  /** Values of which `plain` has the beginning only. */
  readonly long: readonly Uint8Array[];
}

/**
 * Values that must not be seen, and where they are in a text, however they are written there: escaped, quoted, folded,
 * in base64 at any offset, in hexadecimal, and in these inside each other.
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

  /** Bytes read by the last search: what tests hold against the length of the text. */
  get work(): number {
    return this.#work;
  }

  /** Places in `bytes` (UTF-8), in no order; they may overlap. */
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
    return spans;
  }

  /** What was learnt since joins parts of its own size, so that learning one by one does not build all anew each time. */
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

function searchedOf(values: readonly string[]): Searched {
  const encoder = new TextEncoder();
  const plain: Uint8Array[] = [];
  const squeezed: Uint8Array[] = [];
  const long: Uint8Array[] = [];
  for (const form of new Set(values.flatMap(formsOf))) {
    const bytes = encoder.encode(form);
    if (bytes.length > LONGEST_STRING) long.push(bytes);
    plain.push(bytes.subarray(0, LONGEST_STRING), utf16(form).subarray(0, LONGEST_STRING));
    const canonical = canonicalOf(bytes);
    const shortest = /\s/.test(form) ? SHORTEST_SPREAD : SHORTEST_SEARCHED;
    if (canonical.length >= shortest) squeezed.push(canonical.slice(0, LONGEST_STRING));
  }
  return { values, plain: new Automaton(plain), squeezed: new Automaton(squeezed), long };
}

/** What of a value may stand by itself: itself, its lines, the secret half of a bootstrap token; `+` for blanks in forms. */
function formsOf(value: string): readonly string[] {
  const lines = value.split('\n').map((line) => line.trim());
  const bodies =
    lines.length > 1 ? lines.filter((line) => line.length >= SHORTEST_LINE && !line.startsWith('-----')) : [];
  const tokenSecret = /^[a-z0-9]{6}\.([a-z0-9]{16})$/.exec(value.trim())?.slice(1) ?? [];
  const inForms = value.includes(' ') ? [value.replaceAll(' ', '+')] : [];
  const all = [value, value.trim(), ...bodies.slice(0, MOST_LINES), ...tokenSecret, ...inForms];
  return all.filter((form) => form.trim().length >= SHORTEST_SEARCHED);
}

/** Little-endian, as Windows has text in memory and PowerShell in its encoded commands. */
function utf16(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 2);
  for (let unit = 0; unit < text.length; unit += 1) {
    bytes[unit * 2] = text.charCodeAt(unit) & 0xff;
    bytes[unit * 2 + 1] = text.charCodeAt(unit) >> 8;
  }
  return bytes;
}

function canonicalOf(bytes: Uint8Array): Uint8Array {
  return squeeze(layersOf(identity(bytes)).at(-1) ?? identity(bytes)).bytes;
}

/** The bytes, then with one layer of escapes after the other undone. */
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
  /** How far a long value that begins earlier was found to reach: it is not compared again before. */
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

  /** Digits that may begin anywhere in the run: what stands before them may look like digits, too. */
  #digits(source: Decoded, run: Run, code: DigitCode, depth: number): void {
    for (let offset = 0; offset < code.offsets; offset += 1) {
      if (this.work > this.#limit) {
        // What hides that deep is removed unread.
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

  /** Most runs are words: these are decoded byte by byte, and nothing is made of them. */
  #probe(code: DigitCode, bytes: Uint8Array, start: number, end: number): { matches: boolean; readable: boolean } {
    const { plain } = this.#part;
    let [node, stretch, longest, bits, held] = [0, 0, 0, 0, 0];
    let matches = false;
    for (let at = start; at < end; at += 1) {
      held = ((held << code.bits) | (code.values[bytes[at] ?? 0] ?? 0)) & 0xffff;
      bits += code.bits;
      if (bits < 8) continue;
      bits -= 8;
      const byte = (held >> bits) & 0xff;
      node = plain.next(node, byte);
      if (node !== 0 && plain.lengthAt(node) > 0) matches = true;
      stretch = isTextByte(byte) ? stretch + 1 : 0;
      if (stretch > longest) longest = stretch;
    }
    this.work += Math.floor(((end - start) * code.bits) / 8);
    return { matches, readable: longest >= READABLE_STRETCH };
  }

  #plain(decoded: Decoded): void {
    this.#scan(decoded, this.#part.plain);
  }

  #scan(decoded: Decoded, automaton: Automaton): void {
    this.work += decoded.bytes.length;
    this.#reach = 0;
    automaton.scan(decoded.bytes, (start, end) => {
      const reach = end - start === LONGEST_STRING ? this.#extended(decoded.bytes, end) : end;
      this.#spans.push({ start: decoded.starts[start] ?? 0, end: decoded.ends[reach - 1] ?? 0 });
    });
  }

  /** Where a long value ends whose beginning ends at `end`: as far as the bytes are the same. */
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

/** Of text, be it in UTF-16. */
function isTextByte(byte: number): boolean {
  return (byte >= 0x20 && byte < 0x7f) || byte === 0 || (byte >= 9 && byte <= 13);
}
