import { gzipSync, inflateRawSync } from 'node:zlib';
import { formsOf } from '../document/secret.ts';

/** A secret to look for: its name for people, and its value. */
export interface SoughtSecret {
  readonly name: string;
  readonly value: string;
}

/** How a value was written where it was found; the outermost wrapping is named. */
export type ResidueForm = 'plain' | 'base64' | 'gzip';

export interface ResidueFinding {
  readonly name: string;
  readonly form: ResidueForm;
}

export interface Search {
  readonly findings: readonly ResidueFinding[];
  /** The same bytes, as many, with every value overwritten; undefined when nothing was found. */
  readonly scrubbed: Uint8Array | undefined;
  /** Names of secrets that are still in `scrubbed`: inside something that cannot be packed again as small as it was. */
  readonly left: readonly string[];
}

interface Needle {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Shorter forms are in every file. */
const SHORTEST = 6;
const DEEPEST = 4;
const UNPACKED_LIMIT = 64 * 1024 * 1024;
/** Checksum and length. */
const GZIP_TRAILER_BYTES = 8;
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b, 0x08]);
/** Letters only: a value that stood unquoted in YAML or JSON leaves a string there, and base64 stays base64. */
const FILLER = 'redacted';

/** Whether a value is long enough to be looked for. */
export function isSearchable(value: string): boolean {
  return value.trim().length >= SHORTEST;
}

/**
 * Looks for secrets in all forms in which tools keep what they were given: as they are, escaped for JSON or a URL, as
 * single lines of a longer value (indented in YAML), in base64 at any alignment and broken into lines, in gzip, and in
 * these inside each other. What is overwritten keeps its length: cloud-init's pickled state and MIME parts stay readable.
 */
export function searchBytes(bytes: Uint8Array, secrets: readonly SoughtSecret[]): Search {
  const needles = needlesOf(secrets);
  const work = Buffer.from(bytes);
  const found = new Map<string, ResidueFinding>();
  scrub(work, needles, 'plain', 0, (finding) => found.set(`${finding.name} ${finding.form}`, finding));
  if (found.size === 0) return { findings: [], scrubbed: undefined, left: [] };
  const left = new Set<string>();
  scrub(Buffer.from(work), needles, 'plain', 0, ({ name }) => left.add(name));
  return { findings: [...found.values()], scrubbed: work, left: [...left] };
}

function needlesOf(secrets: readonly SoughtSecret[]): Needle[] {
  const needles = secrets.flatMap(({ name, value }) =>
    [...new Set([value, value.trim(), ...formsOf(value)])]
      // Base64 is looked into, which finds it at every alignment.
      .filter((form) => form.trim().length >= SHORTEST && form !== base64Of(value))
      .map((form) => ({ name, bytes: Buffer.from(form) })),
  );
  // The longest first: a part of a value must not be overwritten before the whole is looked for.
  return needles.sort((a, b) => b.bytes.length - a.bytes.length);
}

function base64Of(value: string): string {
  return Buffer.from(value).toString('base64').replace(/=+$/, '');
}

/** Overwrites in place. True when something was changed. */
function scrub(
  bytes: Buffer,
  needles: readonly Needle[],
  form: ResidueForm,
  depth: number,
  told: (finding: ResidueFinding) => void,
): boolean {
  let changed = scrubPlain(bytes, needles, form, told);
  if (depth === DEEPEST) return changed;
  const inside = depth === 0 ? undefined : form;
  if (scrubGzip(bytes, needles, inside ?? 'gzip', depth, told)) changed = true;
  if (scrubBase64(bytes, needles, inside ?? 'base64', depth, told)) changed = true;
  return changed;
}

function scrubPlain(
  bytes: Buffer,
  needles: readonly Needle[],
  form: ResidueForm,
  told: (finding: ResidueFinding) => void,
): boolean {
  let changed = false;
  for (const { name, bytes: needle } of needles) {
    for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length)) {
      told({ name, form });
      changed = true;
      for (let index = 0; index < needle.length; index += 1) {
        // Line breaks stay: what is around the value keeps its lines.
        if (needle[index] === 0x0a) continue;
        bytes[at + index] = (FILLER[index] ?? 'x').charCodeAt(0);
      }
    }
  }
  return changed;
}

/** Members of gzip anywhere; packed again they are padded with zeros, which gzip readers skip (RFC 1952 tools do). */
function scrubGzip(
  bytes: Buffer,
  needles: readonly Needle[],
  form: ResidueForm,
  depth: number,
  told: (finding: ResidueFinding) => void,
): boolean {
  let changed = false;
  for (let at = bytes.indexOf(GZIP_MAGIC); at >= 0; at = bytes.indexOf(GZIP_MAGIC, at + 1)) {
    const member = unpack(bytes.subarray(at));
    if (member === undefined || !scrub(member.content, needles, form, depth + 1, told)) continue;
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

/** Where the compressed data begins behind the header and its optional fields (RFC 1952, 2.3). */
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
const RUNS = /(?:^[ \t]*[A-Za-z0-9+/]{40,}\r?\n)+[ \t]*[A-Za-z0-9+/]+={0,2}|[A-Za-z0-9+/]{8,}={0,2}/gm;

function scrubBase64(
  bytes: Buffer,
  needles: readonly Needle[],
  form: ResidueForm,
  depth: number,
  told: (finding: ResidueFinding) => void,
): boolean {
  let changed = false;
  for (const run of bytes.toString('latin1').matchAll(RUNS)) {
    // Only these places are digits of the encoding: breaks and indentation stay where they are.
    const places: number[] = [];
    for (let index = 0; index < run[0].length; index += 1) {
      if (/[A-Za-z0-9+/]/.test(run[0][index] ?? '')) places.push(run.index + index);
    }
    // A byte before the run may look like a digit of it, as a length does in Python's pickles.
    for (let skipped = 0; skipped < 4; skipped += 1) {
      if (scrubDigits(bytes, places.slice(skipped), needles, form, depth, told)) {
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
  needles: readonly Needle[],
  form: ResidueForm,
  depth: number,
  told: (finding: ResidueFinding) => void,
): boolean {
  const digits = places.map((place) => String.fromCharCode(bytes[place] ?? 0)).join('');
  const content = Buffer.from(digits, 'base64');
  if (!scrub(content, needles, form, depth + 1, told)) return false;
  const again = content.toString('base64');
  places.forEach((place, index) => {
    const digit = again[index];
    if (digit !== undefined && digit !== '=') bytes[place] = digit.charCodeAt(0);
  });
  return true;
}
