import { allMatches } from './all-matches.ts';
import { isMode, mayBeSecret, unlikeWord } from './likely-value.ts';
import { REFERENCE } from './reference-names.ts';

/** Words that end the name of a secret, alone or at the end of a longer word: `dbpwd`, `KEYSTOREPASS`, `bindpw`. */
const STEM =
  /(?:password|passwd|passphrase|passcode|(?<!by|com|tres|sur|encom)pass|pwd|(?<!s)pw|secret|token|authtok|api_?key|credentials?|psk|masterauth|pre_shared_key|secret_id)$/;
/** Kinds of keys that are secret; a `publicKey` is not. */
const KEY =
  /(?:api|access|secret|private|signing|encryption|master|account|shared|auth|service|deploy|license|activation|subscription|session|preshared|hmac|aes|webhook|integration|routing|storage|admin|client)_key$/;
const ENDINGS = /_(?:value|data|b64|base64|string|text|plain|plaintext|[0-9]{1,3})$/;
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

/** A name and its value in INI, TOML, YAML, JSON, env, properties, Ruby, XML, or a URL's query. */
const ASSIGNED =
  /(?<![\w.-])([A-Za-z_][\w.-]{1,80})(\\{0,3}["']?)(?:[ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}|>)(\\{0,3}["']?)([^\s"'<>,;&})\]\\]{1,4096})/g;
/** `name="dbPassword" value="x"`, `{"key":"DB_PASSWORD","value":"x"}`, `- name: DB_PASSWORD` and `value: x` below it. */
const PAIR =
  /\b(?:name|key|Name|Key)["']?[ ]?[:=][ ]?["']?([A-Za-z_][\w.-]{1,80})["']?,?\s{0,16}["']?[vV]alue["']?[ ]?[:=][ ]?["']?([^\s"'<>,;&})\]]{1,4096})/g;
/** A keyword at the beginning of a line, as in the configurations of Redis, nslcd, netrc and ifupdown. */
const KEYWORD =
  /(?:^|[\r\n]|\b(?:set|login \S{1,64}|default) )[ \t]{0,16}(requirepass|masterauth|bindpw|rootpw|rootbindpw|wpa-psk|wpa-passphrase|password|rocommunity|rwcommunity|secret) ([^\s"']{4,512})/g;
const SQL =
  /\b(?:IDENTIFIED (?:WITH \w{1,40} )?BY|(?:WITH |ENCRYPTED )?PASSWORD)[ \t]{1,4}(["'])([^"'\r\n]{1,512})\1/gi;

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
  for (const { index, 0: whole, 2: value = '' } of allMatches(text, KEYWORD))
    if (unlikeWord(value)) found(index + whole.length - value.length, index + whole.length);
  for (const { index, 0: whole, 2: value = '' } of allMatches(text, SQL))
    if (mayBeSecret(value)) found(index + whole.length - 1 - value.length, index + whole.length - 1);
}
