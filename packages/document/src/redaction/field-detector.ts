import { REFERENCE } from './key-detector.ts';
import { isMode, isWorthless, readsAsSentence } from './likely-value.ts';

/** Names whose value is always secret. The value ends with its quote or its line. */
const STRONG =
  'pass(?:word|wd|phrase|code)|secret[-_]?access[-_]?key|secret[-_]?key|authorization|private[-_]?key|key-data|client[-_]?secret|set-cookie|cookie';
/** Names that also occur in sentences: the value is one word that does not look like part of a sentence. */
const WEAK =
  'passwd|secret|token|api[-_]?key|access[-_]?key|certificate[-_]?key|auth|credentials?|signature|connection[-_]?string|account[-_]?key|shared[-_]?key|psk';
/** Names that are also the end of words. */
const SHORT = 'sas|pin';

/** Prefixes of longer names: AWS_SECRET_ACCESS_KEY, spring.datasource.password. */
const NAME = new RegExp(
  `(?:(${STRONG})|(?<![a-z])(?:${WEAK})|(?:${WEAK})(?![a-z])|(?<![a-z])(?:${SHORT})(?![a-z]))`,
  'gi',
);
/** Suffixes after which it is still the name of a secret; `passwordFile` and `tokenTTL` are not. */
const SEPARATOR =
  /(?:[-_]?(?:value|data|b64|base64|hash|string|in|out|new|old)|[0-9]{1,3})?((?:\\{0,3}["'`])?)([ \t]{0,40})(=>|:=|[:=]|(?=[ \t]))[ \t]{0,40}(\[(?!redacted\])[ \t]{0,4})?((?:\\{0,3}["'`])?)/iy;

const LONGEST_VALUE = 16 * 1024;
/** Of a name, what stands before the part that says that it is secret. */
const LONGEST_PREFIX = 24;
/** Longer values are classified by their name alone. */
const LONGEST_JUDGED = 256;

/** What PAM calls its parts. */
const PART_OF_PAM = /^(?:chauthtok|session|auth|account|setcred)\)/;
/** The keys of a map on one line are judged themselves. */
const FLOW_MAP = /^\{[ \t]{0,4}["']?[A-Za-z][\w-]{0,63}["']?:/;
/** The name of an object of Kubernetes, where its field is not alone on its line. */
const OBJECT = /^[a-z]{1,20}(?:-[a-z]{1,20}){1,5}$/;
const OPTION = /^--?[A-Za-z][\w-]{0,60}(?:=.*)?$/;
const KEY = /^[a-z][\w-]{1,30}=/i;
const EMPTY_COOKIE = /^[\w.-]{1,64}=(?:""|deleted)?;/;
/** Base64 may also begin with a slash, but has capitals. */
const PATH = /^(?:file:\/\/|\.{0,2})\/[a-z0-9_./@:+-]*$/;

/** `password: x`, `client-key-data: x`, `auth = "x"`, `"token": ["x"]`, `--token x`, `TOKEN=x`. */
export function fields(text: string, found: (start: number, end: number) => void): void {
  NAME.lastIndex = 0;
  for (let match = NAME.exec(text); match !== null; match = NAME.exec(text)) {
    const end = NAME.lastIndex;
    SEPARATOR.lastIndex = end;
    const separator = SEPARATOR.exec(text);
    if (separator === null) continue;
    const [, closing = '', blanks = '', sign = '', , opening = ''] = separator;
    if (sign === '' && !isFlag(text, match.index)) continue;
    if (REFERENCE.test(text.slice(Math.max(0, match.index - LONGEST_PREFIX), end))) continue;
    const start = SEPARATOR.lastIndex;
    if (opening === '"' && closing === '' && endsQuote(text, match.index)) continue;
    if (text.startsWith('[redacted]', start) || (sign === '=' && text[start] === '=')) continue;
    // `${PASSWORD:?not set}` has a message, `${PASSWORD:-word}` a default.
    if (
      sign === ':' &&
      /[?+]/.test(text[start] ?? '') &&
      /\$\{\w{0,60}$/.test(text.slice(Math.max(0, match.index - 62), match.index))
    )
      continue;
    const valueEnd =
      opening !== '' ? quotedEnd(text, start, opening) : plainEnd(text, start, match[1] !== undefined && sign !== '');
    const value = text.slice(start, valueEnd);
    const certain =
      opening !== '' || closing !== '' || match[1] !== undefined || sign === '' || (sign === '=' && blanks === '');
    // `accesskey="n"` is HTML.
    if (
      !isSecret(value, certain, opening === '' && sign) ||
      (match[1] === undefined && (isMode(value) || (value.length === 1 && match[0] === 'accesskey')))
    )
      continue;
    if (
      !certain &&
      OBJECT.test(value) &&
      !/(?:^|[\r\n])[ \t-]{0,32}$/.test(text.slice(Math.max(0, match.index - 33), match.index))
    )
      continue;
    // An option in quotes that a text speaks of, and one without a value.
    if (sign === '' && ((closing !== '' && opening === '') || OPTION.test(value))) continue;
    // `password= user=`: the value is empty.
    if (sign === '=' && opening === '' && text[start - 1] === ' ' && KEY.test(value)) continue;
    found(start, valueEnd);
    NAME.lastIndex = Math.max(end, valueEnd);
  }
}

/** `"Password: "`: the quote after the name ends a text. */
function endsQuote(text: string, nameAt: number): boolean {
  const before = text.slice(Math.max(0, nameAt - 80), nameAt);
  return /"[\w ]{0,40}$/.test(before);
}

/** `--discovery-token abc`: the name is the end of a flag. Flags such as `--no-ask-password` have no value. */
function isFlag(text: string, nameAt: number): boolean {
  const before = text.slice(Math.max(0, nameAt - 48), nameAt);
  return /(?:^|[\s"'=[,(])--?(?!no-)[a-z][a-z_-]{0,40}$|(?:^|[\s"'=[,(])--$/i.test(before);
}

function isSecret(value: string, certain: boolean, sign: string | false): boolean {
  if (value.length > LONGEST_JUDGED) return true;
  const plain = value.trim();
  if (plain === '' || isWorthless(plain) || (sign === ':' && readsAsSentence(plain))) return false;
  if ([PART_OF_PAM, PATH, FLOW_MAP, EMPTY_COOKIE].some((harmless) => harmless.test(plain))) return false;
  // After an answer or a placeholder, the rest of the line is not the value: `YES)`, `$1, changed = now()`.
  const [first = '', rest = ''] = plain.split(/[ \t]+(.*)/s, 2);
  if (
    sign !== false &&
    rest !== '' &&
    isWorthless(first) &&
    (/[^\w]/.test(first) || !/[0-9!@#$%^&*]/.test(rest)) &&
    !/^[0-9]/.test(first)
  )
    return false;
  return certain || (plain.length >= 6 && !/^(?:[a-z]{1,15}$|[a-z_]{2,20}=[^=]|[a-z][a-z-]{1,40}\()/i.test(plain));
}

/** The end of a quoted value: its quote, with the same backslashes before it; otherwise the line. */
function quotedEnd(text: string, start: number, opening: string): number {
  const quote = opening.charCodeAt(opening.length - 1);
  const limit = Math.min(text.length, start + LONGEST_VALUE);
  for (let at = start; at < limit; at += 1) {
    const code = text.charCodeAt(at);
    if (code === LINE_FEED || code === CARRIAGE_RETURN) return at;
    if (code === BACKSLASH && opening.length === 1) at += 1;
    else if (code === quote) return Math.max(start, at - (opening.length - 1));
  }
  return limit;
}

/** The end of an unquoted value: its word, or the line if everything in it belongs to the value. */
function plainEnd(text: string, start: number, toLineEnd: boolean): number {
  const limit = Math.min(text.length, start + LONGEST_VALUE);
  let end = start;
  while (end < limit && !(toLineEnd ? LINE_ENDS : WORD_ENDS).has(text.charCodeAt(end))) end += 1;
  return end;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BACKSLASH = 0x5c;
const codes = (characters: string): ReadonlySet<number> =>
  new Set(Array.from(characters, (character) => character.charCodeAt(0)));
const LINE_ENDS = codes('\r\n"\'`');
const WORD_ENDS = codes('\r\n"\'` \t,;&)]}|');
