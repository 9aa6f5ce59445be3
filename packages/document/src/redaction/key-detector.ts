import { allMatches } from './all-matches.ts';
import { isMode, mayBeSecret, unlikeWord } from './likely-value.ts';
import { REFERENCE } from './reference-names.ts';

/** Words that end the name of a secret, alone or at the end of a longer word: `dbpwd`, `KEYSTOREPASS`, `bindpw`. */
const STEM =
  /(?:password|passwd|passphrase|passcode|(?<!by|com|tres|sur|encom)pass|pwd|(?<!s)pw|secret|token|authtok|api_?key|credentials?|psk|masterauth|pre_shared_key|secret_id)$/;
/** Kinds of keys that are secret; a `publicKey` is not. */
const KEY =
  /(?:api|access|secret|private|signing|encryption|master|account|shared|auth|service|deploy|license|activation|subscription|session|preshared|hmac|aes|webhook|integration|routing|storage|admin|client|validation|decryption|machine|cluster|gossip|unseal|recovery|registration|setup|instrumentation|stream|ingest|pre_?share|md5|message_digest)_key$/;
const ENDINGS =
  /_(?:value|data|b64|base64|string|text|plain|plaintext|in|out|new|old|current|confirm|confirmation|hash|[0-9]{1,3})$/;
const COMMUNITY = /(?:^|_)(?:ro|rw)?community$/;

/** The words of a name in any notation, in lower case with `_` between them. */
function wordsOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .replace(/[.\-:]/g, '_')
    .toLowerCase();
}

/** Whether a key in camelCase, snake_case, kebab-case, SCREAMING_CASE or dotted names a secret. */
export function namesSecret(name: string): boolean {
  if (REFERENCE.test(name)) return false;
  const words = wordsOf(name).replace(ENDINGS, '');
  return STEM.test(words) || KEY.test(words) || COMMUNITY.test(words);
}

/** Functions and types that only wrap a secret. */
const WRAPPERS =
  '(?:(?:[Ss]ensitive|[Ss]ecret(?:Str|String|Value)?|SecureString|[Pp]assword|[Pp]lainText|String|str|bytes|b|N|u|r)(?:\\()?(?=["\']))?';
/** A name and its value in INI, TOML, YAML, JSON, env, properties, Ruby, XML, PHP, or a URL's query. */
const ASSIGNED = new RegExp(
  `(?<![\\w.-])([A-Za-z_][\\w.-]{1,80})(\\\\{0,3}["']?)\\]?(?:[ \\t]{0,40}(?:=>|\\|\\|=|[?:]{0,2}=|:)[ \\t]{0,40}|>)${WRAPPERS}(\\\\{0,3}["'\u201c\u00ab]?)([^\\s"'<>,;&})\\]\\\\\u201d\u00bb]{1,4096})`,
  'g',
);
/** `setPassword("x")`, `define('DB_PASSWORD', 'x')`. */
const CALL =
  /(?<![\w.-])(?:[\w.]{1,80}\([ \t]{0,8}(["']))?([A-Za-z_][\w.-]{1,80})(?:\1[ \t]{0,4},|\()[ \t]{0,8}(["'])([^\s"'\\]{3,512})\3/g;
/** Functions that ask for a secret, or look it up by the name that follows. */
const ASKS =
  /^(?:get|read|ask|prompt|check|verify|input|generate|has|is|find|load|fetch|lookup|require|validate|on|show|reset|encode)(?=[A-Z_])/;
/** In a registry's export, and in a table. */
const CELL = /(?<![\w.-])([A-Za-z_][\w.-]{1,80})[ \t]{1,40}(?:REG_(?:EXPAND_)?SZ[ \t]{1,16}|\| )([^\s|"']{4,512})/g;
/** `name="dbPassword" value="x"`, `{"key":"DB_PASSWORD","value":"x"}`, `- name: DB_PASSWORD` and `value: x` below it. */
const PAIR =
  /\b(?:name|key|Name|Key)["']?[ ]?[:=][ ]?["']?([A-Za-z_][\w.-]{1,80})["']?,?\s{0,16}["']?[vV]alue["']?[ ]?[:=][ ]?["']?([^\s"'<>,;&})\]]{1,4096})/g;
const SQL =
  /\b(?:IDENTIFIED (?:WITH ["'`]?\w{1,40}["'`]? )?(?:BY|AS|USING)(?: PASSWORD| VALUES)?|(?:WITH |ENCRYPTED )?PASSWORD)(?:[ \t]{1,4}=?[ \t]{0,4}N?|[ \t]{0,4}[=(][ \t]{0,4}N?)(["'])([^"'\r\n]{1,512})\1/gi;

/** Values of keys that name a secret. Takes linear time. */
export function keys(text: string, found: (start: number, end: number) => void): void {
  for (const { index, 0: whole, 1: name = '', 2: closing = '', 3: opening = '', 4: value = '' } of allMatches(
    text,
    ASSIGNED,
  )) {
    if (!namesSecret(name)) continue;
    const end = index + whole.length;
    // A sentence also has a colon after such a word: our own messages do.
    const certain =
      closing !== '' || opening !== '' || /[=>]/.test(whole.slice(name.length, whole.length - value.length));
    if (isMode(value) && !/pass|pw/i.test(name)) continue;
    if (certain ? mayBeSecret(value) : unlikeWord(value)) found(end - value.length, end);
  }
  for (const { index, 0: whole, 1: name = '', 2: value = '' } of allMatches(text, PAIR)) {
    const end = index + whole.length;
    if (namesSecret(name) && mayBeSecret(value)) found(end - value.length, end);
  }
  if (text.includes('("') || text.includes("('") || text.includes("( '") || text.includes('( "')) {
    for (const { index, 0: whole, 2: name = '', 4: value = '' } of allMatches(text, CALL)) {
      const end = index + whole.length - 1;
      if (namesSecret(name) && !ASKS.test(name) && mayBeSecret(value)) found(end - value.length, end);
    }
  }
  if (text.includes('|') || text.includes('REG_')) {
    for (const { index, 0: whole, 1: name = '', 2: value = '' } of allMatches(text, CELL)) {
      const end = index + whole.length;
      if (namesSecret(name) && (whole.includes('REG_') ? mayBeSecret(value) : unlikeWord(value)))
        found(end - value.length, end);
    }
  }
  for (const { index, 0: whole, 2: value = '' } of allMatches(text, SQL))
    if (mayBeSecret(value)) found(index + whole.length - 1 - value.length, index + whole.length - 1);
}
