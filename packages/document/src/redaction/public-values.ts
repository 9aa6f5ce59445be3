import { allMatches } from './all-matches.ts';
import type { Span } from './automaton.ts';

/** Public although random: certificates, public keys, parameters and signatures. */
const PUBLIC_PEM =
  /----[- ]BEGIN (?:[A-Z0-9 ]{0,40}CERTIFICATE|[A-Z0-9 ]{0,40}PUBLIC KEY(?: BLOCK)?|(?:NEW )?CERTIFICATE REQUEST|(?:X9\.42 )?DH PARAMETERS|EC PARAMETERS|X509 CRL|PGP SIGNATURE|SSH SIGNATURE)[- ]----/g;
/** What follows the beginning of a block that is cut off: lines of base64. */
const PEM_BODY = /(?:[\r\n \t]|\\[rn]|[A-Za-z0-9+/=]){0,32768}/y;
const LONGEST_PEM = 32 * 1024;

/** Names of something public, with their value: a public key, a peer of WireGuard, an id of a request or of a build. */
const NAMED =
  /(?:public[-_ ]?key|pub[-_ ]?key\w{0,4}|signaturevalue|digestvalue|x509certificate|\bpeer|\bx-amz-id-2|\betag|\bcontent-md5|\bsec-websocket-(?:accept|key)|\breplay-nonce|\b(?:subject|authority|host)[-_ ]?key[-_ ]?(?:id|identifier|hash)?|\bintegrity|\bcert(?:ificate)?[-_ ]?hash|\b(?:client|server|machine|boot|node|cluster|member|device|session_trace|message|event|tenant|application|object|resource)[-_ ]?(?:id|uid)|\b(?:request|trace|span|build|correlation|audit)[-_ ]?id|\bbuildid|fingerprint|thumbprint|checksum|digest)["']?[ \t]{0,8}[:= >][ \t]{0,8}["']?([A-Za-z0-9+/=_-]{20,2048})/gi;
/** By the grammar of their own: records of the DNS (RFC 4034; RFC 6376), known_hosts, go.sum, Go's build id, nonces of a page's policy, names of requests for certificates. */
const FORMS: readonly RegExp[] = [
  /\b(?:C?DNSKEY|KEY)[ \t]{1,8}[0-9]{1,5} [0-9]{1,3} [0-9]{1,3} \(?[A-Za-z0-9+/= ]{20,2048}/g,
  /\bRRSIG[ \t]{1,8}[A-Z0-9]{1,10}(?: [0-9]{1,14}){6} \S{1,255} [A-Za-z0-9+/= ]{20,2048}/g,
  /\bv=DKIM1;[^\r\n]{0,200}?\bp=[A-Za-z0-9+/=" ]{20,4096}/g,
  /\|1\|[A-Za-z0-9+/]{27}=\|[A-Za-z0-9+/]{27}=/g,
  /\bh1:[A-Za-z0-9+/]{43}=/g,
  /\bbuild ?id[:= ]{1,3}["']?[\w-]{20}(?:\/[\w-]{20}){1,3}/gi,
  /'nonce-[\w+/=-]{1,200}'/g,
  /\b(?:node-)?csr-[\w-]{5,64}/g,
];
/** Of a key set (RFC 7517), the members that are public. */
const KEY_SET = /\\{0,3}"(?:n|x|y|kid|x5t|x5t#S256)\\{0,3}": {0,2}\\{0,3}"[\w-]{1,2048}/g;

/** Where something is public although it looks random, in order of the beginning. */
export function publicPlaces(text: string): Span[] {
  const places = pemBlocks(text);
  const found = (start: number, end: number): void => void places.push({ start, end });
  for (const form of FORMS)
    for (const { index, 0: whole } of allMatches(text, form)) found(index, index + whole.length);
  for (const { index, 0: whole } of allMatches(text, NAMED)) found(index, index + whole.length);
  if (text.includes('"kty') || text.includes('"x5t')) {
    for (const { index, 0: whole } of allMatches(text, KEY_SET)) found(index, index + whole.length);
  }
  return places.length < 2 ? places : places.sort((a, b) => a.start - b.start);
}

function pemBlocks(text: string): Span[] {
  const places: Span[] = [];
  const nextBegin = marker(text, 'BEGIN ');
  const nextEnd = marker(text, 'END ');
  let end = 0;
  for (const { index, 0: begin } of allMatches(text, PUBLIC_PEM)) {
    if (index < end) continue;
    const begun = index + begin.length;
    const closing = nextEnd(begun);
    if (closing < nextBegin(begun) && closing - index <= LONGEST_PEM) end = closing;
    else {
      PEM_BODY.lastIndex = begun;
      end = begun + (PEM_BODY.exec(text)?.[0].length ?? 0);
    }
    places.push({ start: index, end });
  }
  return places;
}

/** Where a marker is next, for places that are asked in order: in linear time together. */
function marker(text: string, sign: string): (from: number) => number {
  let at = -1;
  return (from) => {
    if (at < from) at = text.indexOf(sign, from);
    if (at < 0) at = Number.POSITIVE_INFINITY;
    return at;
  };
}

const LONGEST_DECODED = 64 * 1024;
const BASE64 = /^[A-Za-z0-9+/]{20,}={0,2}$/;
/** The beginning, as hexadecimal digits, of PNG, JPEG, GIF and WebP. */
const IMAGE = /^(?:89504e470d0a1a0a|ffd8ff|47494638[79]|52494646.{8}57454250)/;
/** In DER: a certificate, a request for one, or a public key with its algorithm. A private key begins with a number. */
const PUBLIC_DER =
  /^30(?:[0-7].|81..|82.{4}|83.{6})30(?:[0-7].|81..|82.{4}|83.{6})(?:a003020102|02010030|06092a864886f70d0101|06072a8648ce3d0201|06032b65[67])/;
const BEGINNING = 32;
/** No control characters but blanks. */
const TEXT = /^[\s\x20-\x7e\x80-\xff]*$/;
const DIRECTORY_NAME = /^(?:(?:CN|OU|DC|O|L|ST|C|UID|SN)=[^,=\r\n]{1,100}(?:, ?|$)){2,20}$/i;

/**
 * What a word in base64 stands for, when that can be judged: `true` for what is public by its form (an image, a complete
 * certificate), the text of a sentence or of a file, which may hold a secret itself, and `false` for everything else.
 */
export function meaningOf(word: string): boolean | string {
  if (word.length > LONGEST_DECODED || !BASE64.test(word)) return false;
  const digits = word.replaceAll('=', '');
  const bytes = atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits);
  const beginning = Array.from(bytes.slice(0, BEGINNING), hexadecimal).join('');
  if (IMAGE.test(beginning)) return true;
  if (PUBLIC_DER.test(beginning)) return bytes.length === derLength(bytes);
  if (!TEXT.test(bytes)) return false;
  const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0))).trim();
  if (text.includes('\ufffd')) return false;
  if (DIRECTORY_NAME.test(text)) return true;
  const isSentence = text.split(/\s+/, 5).length === 5 && (/[.!?:](?:\s|$)|\n/.test(text) || SENTENCE.test(text));
  return (isSentence || /^-----BEGIN [A-Z ]{1,40}-----\n/.test(text)) && text;
}

/** Without a sign at its end, words with a comma between them. */
const SENTENCE = /^[A-Z][a-z]{0,20}(?: [A-Za-z'-]{1,20}){1,20}, [a-z'-]{1,20}(?: [A-Za-z'-]{1,20}){1,20}$/;

/** The length that a value in DER says of itself (X.690, 8.1.3). */
function derLength(bytes: string): number {
  const first = bytes.charCodeAt(1);
  if (first < 0x80) return first + 2;
  let length = 0;
  for (let at = 2; at < 2 + (first & 0x7f); at += 1) length = length * 256 + bytes.charCodeAt(at);
  return length + (first & 0x7f) + 2;
}

function hexadecimal(byte: string): string {
  return byte.charCodeAt(0).toString(16).padStart(2, '0');
}
