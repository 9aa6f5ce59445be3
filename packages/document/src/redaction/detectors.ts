import { allMatches } from './all-matches.ts';
import type { Span } from './automaton.ts';
import { commandLines } from './command-lines.ts';
import { fields } from './field-detector.ts';
import { keys, sentences } from './key-detector.ts';
import { looksRandom } from './randomness.ts';
import { TOKEN_SHAPES } from './token-shapes.ts';
import { urls } from './url-detector.ts';

/** Detects unknown secrets: PEM keys, tokens by their form, fields by their name, credentials in URLs. */
export type Detector = (
  text: string,
  found: (start: number, end: number) => void,
  isPublic: (word: string) => boolean,
) => void;

const DETECTORS: readonly Detector[] = [
  privateKeys,
  shapes,
  certificateKeys,
  authorizations,
  unitEnvironments,
  fields,
  keys,
  sentences,
  commandLines,
  urls,
  randomWords,
];

/**
 * Parts of `text` that look like a secret, unordered; they may overlap. Takes linear time.
 *
 * @param isPublic whether a random-looking word is known not to be a secret
 */
export function detect(text: string, isPublic: (word: string) => boolean = () => false): Span[] {
  const spans: Span[] = [];
  for (const detector of DETECTORS) detector(text, (start, end) => spans.push({ start, end }), isPublic);
  return spans;
}

/** Parts that are a secret by their form, wherever they stand: private keys, and tokens of known services. */
export function detectForms(text: string): Span[] {
  const spans: Span[] = [];
  for (const detector of [privateKeys, shapes]) detector(text, (start, end) => spans.push({ start, end }));
  return spans;
}

const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const LONGEST_KEY = 32 * 1024;

/** To its end or, in a truncated text, as far as a key can reach. */
function privateKeys(text: string, found: (start: number, end: number) => void): void {
  let end = 0;
  for (const { index, 0: begin } of allMatches(text, PRIVATE_KEY)) {
    if (index < end) continue;
    const rest = text.slice(index + begin.length, index + LONGEST_KEY);
    const closing = /-----END [A-Z0-9 ]{0,40}-----/.exec(rest);
    end =
      closing === null ? index + begin.length + rest.length : index + begin.length + closing.index + closing[0].length;
    found(index, end);
  }
}

let allShapes: RegExp | undefined;

function shapes(text: string, found: (start: number, end: number) => void): void {
  allShapes ??= new RegExp(
    Object.values(TOKEN_SHAPES)
      .map((pattern) => `(?:${pattern})`)
      .join('|'),
    'g',
  );
  for (const match of allMatches(text, allShapes)) found(match.index, match.index + match[0].length);
}

/** kubeadm's format: 64 hexadecimal digits after its name, or on the next line. */
const CERTIFICATE_KEY = /certificate[-_ ]?key[^0-9a-f]{1,8}([0-9a-f]{64})(?![0-9a-f])/gi;

function certificateKeys(text: string, found: (start: number, end: number) => void): void {
  for (const { index, 0: whole } of allMatches(text, CERTIFICATE_KEY))
    found(index + whole.length - 64, index + whole.length);
}

/** RFC 9110, 11.6.2, and the usual values of other schemes. */
const SCHEME = /\b(bearer|basic|digest|negotiate|ntlm|apikey|token)[ \t]{1,8}(?=([A-Za-z0-9._~+/=-]{8,}))/gi;
const PLAIN_WORD = /^(?:[a-z]+|[A-Z][a-z]+)(?:[-_.][a-z]+)*[.]?$/;

function authorizations(text: string, found: (start: number, end: number) => void): void {
  for (const match of allMatches(text, SCHEME)) {
    const [whole, , credential = ''] = match;
    const start = match.index + whole.length;
    if (!PLAIN_WORD.test(credential) && !/^(?:sha256:|--)/.test(credential)) found(start, start + credential.length);
  }
}

/** systemd.exec(5), Environment=: the value of each variable, which is secret whatever its name. */
const UNIT_ENVIRONMENT = /(?<![A-Za-z])Environment=["']?[A-Za-z_]\w{0,100}=([^\r\n\\]{1,8192})/g;

function unitEnvironments(text: string, found: (start: number, end: number) => void): void {
  for (const { index, 0: whole, 1: value = '' } of allMatches(text, UNIT_ENVIRONMENT)) {
    if (!value.startsWith('[redacted]')) found(index + whole.length - value.length, index + whole.length);
  }
}

const WORD = /[A-Za-z0-9+/_-]{20,}={0,2}/g;
/** Public although random: certificates and public keys. */
const PUBLIC_PEM = /-----BEGIN (?:[A-Z0-9 ]{0,40}CERTIFICATE|[A-Z0-9 ]{0,40}PUBLIC KEY|CERTIFICATE REQUEST)-----/g;
const PUBLIC_WORD = /^(?:AAAA[BCE]3|SHA256:|sha(?:1|224|256|384|512)[-:])/;

function randomWords(
  text: string,
  found: (start: number, end: number) => void,
  isPublic: (word: string) => boolean,
): void {
  const published = publicPlaces(text);
  let next = 0;
  for (const match of allMatches(text, WORD)) {
    const end = match.index + match[0].length;
    while (next < published.length && (published[next]?.end ?? 0) <= match.index) next += 1;
    const place = published[next];
    if (place !== undefined && place.start <= match.index && end <= place.end) continue;
    const before = text.slice(Math.max(0, match.index - 7), match.index);
    if (PUBLIC_WORD.test(match[0]) || /SHA(?:256|512):$|sha(?:256|512)-$/i.test(before)) continue;
    if (looksRandom(match[0]) && !isPublic(match[0])) found(match.index, end);
  }
}

function publicPlaces(text: string): Span[] {
  const places: Span[] = [];
  let end = 0;
  for (const { index } of allMatches(text, PUBLIC_PEM)) {
    if (index < end) continue;
    end = text.indexOf('-----END ', index);
    if (end < 0) break;
    if (end - index <= LONGEST_KEY) places.push({ start: index, end });
  }
  return places;
}
