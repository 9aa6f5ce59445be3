import { allMatches } from './all-matches.ts';
import type { Span } from './automaton.ts';
import { commandLines } from './command-lines.ts';
import { directives } from './directives.ts';
import { fields } from './field-detector.ts';
import { keys } from './key-detector.ts';
import { mayBeSecret, unlikeWord } from './likely-value.ts';
import { meaningOf, publicPlaces } from './public-values.ts';
import { looksRandom } from './randomness.ts';
import { secretFiles } from './secret-files.ts';
import { sentences } from './sentences.ts';
import { standardInput } from './standard-input.ts';
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
  directives,
  sentences,
  commandLines,
  standardInput,
  secretFiles,
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

const PRIVATE_KEY =
  /-----BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1|OpenVPN tls-crypt-v2 (?:client|server) key)-----|PuTTY-User-Key-File-[0-9]:/g;
const LONGEST_KEY = 32 * 1024;

/** To its end or, in a truncated text, as far as a key can reach. */
function privateKeys(text: string, found: (start: number, end: number) => void): void {
  let end = 0;
  for (const { index, 0: begin } of allMatches(text, PRIVATE_KEY)) {
    if (index < end) continue;
    const rest = text.slice(index + begin.length, index + LONGEST_KEY);
    const closing = /-----END [A-Za-z0-9 -]{0,40}-----|Private-MAC: [0-9a-f]{1,128}/.exec(rest);
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
const PLAIN_WORD =
  /^(?:[a-z]+|(?:[A-Z]?[a-z]{2,20}){1,6}|[A-Za-z]{1,20}(?:[-_./][A-Za-z]{1,20}){1,8}|[a-z0-9-]{1,40}\/[a-z0-9-]{1,60}|[a-z_]{2,20}=[^=]\S{0,100})[./]?$/;

function authorizations(text: string, found: (start: number, end: number) => void): void {
  for (const match of allMatches(text, SCHEME)) {
    const [whole, , credential = ''] = match;
    const start = match.index + whole.length;
    if (!PLAIN_WORD.test(credential) && !/^(?:sha256:|--|HTTP\/[0-9])/.test(credential) && mayBeSecret(credential))
      found(start, start + credential.length);
  }
}

/** systemd.exec(5), Environment=: the value of each variable, which is secret whatever its name. */
const UNIT_ENVIRONMENT = /(?<![A-Za-z])Environment=["']?[A-Za-z_]\w{0,100}=([^\r\n\\]{1,8192})/g;

function unitEnvironments(text: string, found: (start: number, end: number) => void): void {
  for (const { index, 0: whole, 1: value = '' } of allMatches(text, UNIT_ENVIRONMENT)) {
    if (!value.startsWith('[redacted]')) found(index + whole.length - value.length, index + whole.length);
  }
}

/** A public key of SSH has its algorithm at its beginning: ssh-, ecdsa-, sk-. */
const PUBLIC_WORD = /^(?:AAAA[A-Z](?:3NzaC|2VjZHNh|nNrLX)|SHA256:|sha(?:1|224|256|384|512)[-:])/;

const SHORTEST_WORD = 20;
const [OUTSIDE, SMALL, CAPITAL, OTHER] = [0, 1, 2, 4] as const;
/** The kind of each character of base64, also in its form for URLs, and of names. */
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) return SMALL;
  if (/[A-Z]/.test(character)) return CAPITAL;
  return /[0-9+/_-]/.test(character) ? OTHER : OUTSIDE;
});

function randomWords(
  text: string,
  found: (start: number, end: number) => void,
  isPublic: (word: string) => boolean,
): void {
  let published: readonly Span[] | undefined;
  let next = 0;
  for (let at = 0; at < text.length; at += 1) {
    const start = at;
    let kinds = 0;
    for (
      let kind = KINDS[text.charCodeAt(at)];
      kind !== undefined && kind !== OUTSIDE;
      kind = KINDS[text.charCodeAt(at)]
    ) {
      kinds |= kind;
      at += 1;
    }
    if (at - start < SHORTEST_WORD || (kinds & (SMALL | CAPITAL)) !== (SMALL | CAPITAL)) continue;
    for (let signs = 0; signs < 2 && text[at] === '='; signs += 1) at += 1;
    const word = text.slice(start, at);
    if (!looksRandom(word) || isPublic(word) || isPublicForm(text, word, start)) continue;
    published ??= publicPlaces(text);
    while (next < published.length && (published[next]?.end ?? 0) <= start) next += 1;
    const place = published[next];
    // A path may lead to something public.
    if (place !== undefined && at <= place.end && place.start < at && !looksRandom(text.slice(start, place.start)))
      continue;
    const meaning = meaningOf(word);
    if (meaning === false || (meaning !== true && tellsSecret(meaning))) found(start, at);
    at -= 1;
  }
}

function isPublicForm(text: string, word: string, start: number): boolean {
  return PUBLIC_WORD.test(word) || /SHA(?:256|512):$|sha(?:256|512)-$/i.test(text.slice(Math.max(0, start - 7), start));
}

/** Whether decoded text has something that is removed, or a word that a sentence does not have. */
function tellsSecret(text: string): boolean {
  if (detect(text).length > 0) return true;
  return !text.includes('-----BEGIN ') && text.split(/\s+/).some((word) => unlikeWord(word));
}
