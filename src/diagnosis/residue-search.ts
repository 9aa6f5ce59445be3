import { gzipSync, inflateRawSync } from 'node:zlib';
import type { Span } from '@machineadm/document/redaction/automaton.ts';
import { KnownValues, SHORTEST_SEARCHED } from '@machineadm/document/redaction/known-values.ts';

/** A secret to search for: the name shown to people, and its value. */
export interface SoughtSecret {
  readonly name: string;
  readonly value: string;
}

/** The form in which a value was found. Of nested forms, the outermost is named. */
export type ResidueForm = 'plain' | 'base64' | 'gzip';

export interface ResidueFinding {
  readonly name: string;
  readonly form: ResidueForm;
}

export interface Search {
  readonly findings: readonly ResidueFinding[];
  /** Bytes of the same length with every value overwritten; undefined when nothing was found. */
  readonly scrubbed: Uint8Array | undefined;
  /** The names of secrets that remain in `scrubbed`, because their container cannot be packed again to its old size. */
  readonly left: readonly string[];
}

/** The values to search for: all in one expression, and each alone to name what was found, and the function that gets the findings. */
interface Sought {
  readonly all: KnownValues;
  readonly each: readonly { readonly name: string; readonly known: KnownValues }[];
  /** How many bytes of the neighbouring piece are needed to find the longest value in its longest form. */
  readonly overlap: number;
  readonly found: (finding: ResidueFinding) => void;
}

const DEEPEST = 4;
const UNPACKED_LIMIT = 64 * 1024 * 1024;
/** Checksum and length. */
const GZIP_TRAILER_BYTES = 8;
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b, 0x08]);
/** Only letters: an unquoted value in YAML or JSON stays a string, and base64 stays base64. */
const FILLER = 'redacted';

/** Whether a value is long enough to be searched for. */
export function isSearchable(value: string): boolean {
  return value.trim().length >= SHORTEST_SEARCHED;
}

/**
 * Looks for secrets in all forms in which tools keep what they were given: what the redactor removes from text, as
 * single lines of a longer value (indented in YAML), in gzip, and in these inside each other. What is overwritten keeps
 * its length: cloud-init's pickled state and MIME parts stay readable.
 */
export function searchBytes(bytes: Uint8Array, secrets: readonly SoughtSecret[]): Search {
  const work = Buffer.from(bytes);
  const found = new Map<string, ResidueFinding>();
  const sought = soughtOf(secrets, (finding) => found.set(`${finding.name} ${finding.form}`, finding));
  scrub(work, sought, 'plain', 0);
  if (found.size === 0) return { findings: [], scrubbed: undefined, left: [] };
  const left = new Set<string>();
  scrub(Buffer.from(work), { ...sought, found: ({ name }) => left.add(name) }, 'plain', 0);
  return { findings: [...found.values()], scrubbed: work, left: [...left] };
}

/** Base64 of base64 of text in which every letter is an escape. Longer forms are not found across pieces. */
const LONGEST_GROWTH = 16;

function soughtOf(secrets: readonly SoughtSecret[], told: Sought['found']): Sought {
  const all = new KnownValues();
  const each = secrets.map(({ name, value }) => {
    const known = new KnownValues();
    for (const one of [all, known]) one.learn(value);
    return { name, known };
  });
  const longest = Math.max(0, ...secrets.map(({ value }) => value.length));
  return { all, each, overlap: Math.min(longest * LONGEST_GROWTH + 4096, PIECE_BYTES / 2), found: told };
}

/** Overwrites values in place. Returns whether something changed. */
function scrub(bytes: Buffer, sought: Sought, form: ResidueForm, depth: number): boolean {
  const inside = depth === 0 ? undefined : form;
  const repacked = depth < DEEPEST && scrubGzip(bytes, sought, inside ?? 'gzip', depth);
  const spans = findIn(bytes, sought);
  // The text is encoded again, so that what surrounds a value can still be decoded.
  const recoded = depth < DEEPEST && scrubBase64(bytes, spans, sought, inside ?? 'base64', depth);
  const overwritten = scrubText(bytes, recoded ? findIn(bytes, sought) : spans, sought, form);
  return repacked || recoded || overwritten;
}

/** The size of a piece that is searched at once, because the search remembers the origin of each byte. */
const PIECE_BYTES = 1024 * 1024;

function scrubText(bytes: Buffer, spans: readonly Span[], sought: Sought, form: ResidueForm): boolean {
  // All values are named before the first is overwritten, because one can contain another.
  for (const { start, end } of spans) {
    const written = bytes.subarray(start, end);
    for (const { name, known } of sought.each) if (known.find(written).length > 0) sought.found({ name, form });
  }
  for (const span of spans) overwriteSpan(bytes, span);
  return spans.length > 0;
}

function findIn(bytes: Buffer, sought: Sought): Span[] {
  const spans: Span[] = [];
  for (let at = 0; ; at += PIECE_BYTES - sought.overlap) {
    for (const { start, end } of sought.all.find(bytes.subarray(at, at + PIECE_BYTES))) {
      spans.push({ start: at + start, end: at + end });
    }
    if (at + PIECE_BYTES >= bytes.length) return spans;
  }
}

/**
 * Line breaks and indentation are kept, so the surrounding text keeps its lines. Hexadecimal digits are replaced by
 * such digits.
 */
function overwriteSpan(bytes: Buffer, { start, end }: Span): void {
  const hexadecimal = /^[0-9a-fA-F]{12,}$/.test(bytes.toString('latin1', start, end));
  for (let at = start; at < end; at += 1) {
    if ((bytes[at] ?? 0) <= 0x20) continue;
    bytes[at] = (hexadecimal ? '0' : (FILLER[at - start] ?? 'x')).charCodeAt(0);
  }
}

/** Members of gzip anywhere; packed again they are padded with zeros, which gzip readers skip (RFC 1952 tools do). */
function scrubGzip(bytes: Buffer, sought: Sought, form: ResidueForm, depth: number): boolean {
  let changed = false;
  for (let at = bytes.indexOf(GZIP_MAGIC); at >= 0; at = bytes.indexOf(GZIP_MAGIC, at + 1)) {
    const member = unpack(bytes.subarray(at));
    if (member === undefined || !scrub(member.content, sought, form, depth + 1)) continue;
    const packed = gzipSync(member.content, { level: 9 });
    if (packed.length > member.length) continue;
    bytes.fill(0, at, at + member.length);
    packed.copy(bytes, at);
    changed = true;
  }
  return changed;
}

/**
 * The content of the member that begins here, whatever comes behind it, and how long the member is. Node's own gunzip
 * refuses a member with anything but zeros behind it, as it has inside other formats.
 */
function unpack(bytes: Buffer): { readonly content: Buffer; readonly length: number } | undefined {
  const start = deflateStart(bytes);
  if (start === undefined) return undefined;
  try {
    // Node's types leave `info` out: with it the engine is given, which knows how many bytes were used.
    const options = { maxOutputLength: UNPACKED_LIMIT, info: true };
    const result: unknown = inflateRawSync(bytes.subarray(start), options);
    if (result === null || typeof result !== 'object' || !('buffer' in result) || !('engine' in result))
      return undefined;
    const { buffer, engine } = result;
    if (!Buffer.isBuffer(buffer) || engine === null || typeof engine !== 'object' || !('bytesWritten' in engine)) {
      return undefined;
    }
    const used = engine.bytesWritten;
    return typeof used === 'number' ? { content: buffer, length: start + used + GZIP_TRAILER_BYTES } : undefined;
  } catch {
    return undefined;
  }
}

/** Where the compressed data begins, after the header and its optional fields (RFC 1952, 2.3). */
function deflateStart(bytes: Buffer): number | undefined {
  const flags = bytes[3] ?? 0;
  let at = 10;
  if ((flags & 0x04) !== 0) at += 2 + (bytes[at] ?? 0) + (bytes[at + 1] ?? 0) * 256;
  for (const text of [0x08, 0x10]) {
    if ((flags & text) === 0) continue;
    const end = bytes.indexOf(0, at);
    if (end < 0) return undefined;
    at = end + 1;
  }
  if ((flags & 0x02) !== 0) at += 2;
  return at < bytes.length ? at : undefined;
}

/** A run of base64 in one line, or lines of it: MIME breaks at 76 characters, YAML indents. */
const RUNS = /(?:^[ \t]*[A-Za-z0-9+/]{40,}\r?\n){1,10000}[ \t]*[A-Za-z0-9+/]+={0,2}|[A-Za-z0-9+/]{8,}={0,2}/gm;

/** The first bytes of gzip at the three places where a byte may begin among digits of base64. */
const GZIP_IN_BASE64 = /H4sI|[+-]LC|fiw/;

function scrubBase64(bytes: Buffer, spans: readonly Span[], sought: Sought, form: ResidueForm, depth: number): boolean {
  let changed = false;
  for (const run of bytes.toString('latin1').matchAll(RUNS)) {
    const end = run.index + run[0].length;
    const holdsValue = spans.some((span) => span.start < end && span.end > run.index);
    if (!holdsValue && !GZIP_IN_BASE64.test(run[0])) continue;
    // Only these places are digits of the encoding: breaks and indentation stay where they are.
    const places: number[] = [];
    for (let index = 0; index < run[0].length; index += 1) {
      if (/[A-Za-z0-9+/]/.test(run[0][index] ?? '')) places.push(run.index + index);
    }
    // A byte before the text can look like a digit of base64, as the length in Python's pickles does.
    for (let skipped = 0; skipped < 4; skipped += 1) {
      if (scrubDigits(bytes, places.slice(skipped), sought, form, depth)) {
        changed = true;
        break;
      }
    }
  }
  return changed;
}

function scrubDigits(
  bytes: Buffer,
  places: readonly number[],
  sought: Sought,
  form: ResidueForm,
  depth: number,
): boolean {
  const digits = places.map((place) => String.fromCharCode(bytes[place] ?? 0)).join('');
  const content = Buffer.from(digits, 'base64');
  if (!scrub(content, sought, form, depth + 1)) return false;
  const again = content.toString('base64');
  places.forEach((place, index) => {
    const digit = again[index];
    if (digit !== undefined && digit !== '=') bytes[place] = digit.charCodeAt(0);
  });
  return true;
}
