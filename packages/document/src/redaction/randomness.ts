/** Fewer characters of three kinds are common in names: `TestPod12`. */
const SHORTEST = 20;
const LEAST_OF_EACH = 2;
/** A random word of this length may have no digit by chance; a name made of words still changes less. */
const LONG = 32;
/**
 * Random base64 changes between capitals, small letters and digits at 62 of 100 positions; names made of words at fewer
 * than 30.
 */
const LEAST_CHANGES = 0.36;
const LEAST_BITS = 3.4;
/** A long random word may change seldom by chance, but uses more different characters than a name made of words. */
const LEAST_CHANGES_OF_LONG = 0.2;
const LEAST_BITS_OF_LONG = 4.5;
/** Runs of small letters of this length have 8 of 100 characters of a random word, and more than 40 of 100 in one of 100 such words. */
const WORD = /[a-z]{4,}/g;
const MOST_IN_WORDS = 0.4;
const MOST_IN_WORDS_OF_PATH = 0.3;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const LEAST_BETWEEN_SIGNS = 9;

/**
 * Whether a word looks randomly generated: capitals, small letters and digits mixed in an unusual order. Hexadecimal
 * does not count: digests and ids of containers and machines have that form.
 */
export function looksRandom(word: string): boolean {
  if (word.length < SHORTEST) return false;
  const parts = word.split(/[^A-Za-z0-9]+/);
  // Names and paths consist of short parts; in base64, one character in 32 is a sign.
  const isPath = parts.length - 1 > word.length / LEAST_BETWEEN_SIGNS && !(word.includes('+') && BASE64.test(word));
  if (isPath) return parts.some(isRandom);
  return isRandom(word);
}

function isRandom(word: string): boolean {
  if (word.length < SHORTEST) return false;
  const counts = new Uint32Array(128);
  const ofKind: [number, number, number, number] = [0, 0, 0, 0];
  let changes = 0;
  let before: Kind | undefined;
  for (let index = 0; index < word.length; index += 1) {
    const code = word.charCodeAt(index) & 0x7f;
    counts[code] = (counts[code] ?? 0) + 1;
    const kind = kindOf(code);
    ofKind[kind] += 1;
    if (before !== undefined && kind !== before) changes += 1;
    before = kind;
  }
  const digits = word.length >= LONG ? LEAST_OF_EACH : ofKind[DIGIT];
  if (Math.min(ofKind[SMALL], ofKind[CAPITAL], digits) < LEAST_OF_EACH) return false;
  const [share, bits] = [changes / (word.length - 1), entropyOf(counts, word.length)];
  const inWords = word.match(WORD)?.reduce((sum, { length }) => sum + length, 0) ?? 0;
  if (inWords > (/[/_]/.test(word) ? MOST_IN_WORDS_OF_PATH : MOST_IN_WORDS) * word.length) return false;
  const isLong =
    word.length >= LONG && BASE64.test(word) && share >= LEAST_CHANGES_OF_LONG && bits >= LEAST_BITS_OF_LONG;
  return isLong || (share >= LEAST_CHANGES && bits >= LEAST_BITS);
}

const [SMALL, CAPITAL, DIGIT, OTHER] = [0, 1, 2, 3] as const;
type Kind = typeof SMALL | typeof CAPITAL | typeof DIGIT | typeof OTHER;

function kindOf(code: number): Kind {
  if (code >= 0x61 && code <= 0x7a) return SMALL;
  if (code >= 0x41 && code <= 0x5a) return CAPITAL;
  return code >= 0x30 && code <= 0x39 ? DIGIT : OTHER;
}

/** Bits per character (Shannon, 1948). */
function entropyOf(counts: Uint32Array, length: number): number {
  let bits = 0;
  for (const count of counts) if (count > 0) bits -= (count / length) * Math.log2(count / length);
  return bits;
}
