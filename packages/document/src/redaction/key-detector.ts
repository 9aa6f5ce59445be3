import { allMatches } from './all-matches.ts';
import { isMode, mayBeSecret, unlikeWord } from './likely-value.ts';

/**
 * Names that end as the name of a secret, and whose value is none: references of systemd's settings, of the values of Helm charts, of
 * .NET and of AWS; answers of sudoers and Kerberos; and programs whose messages follow their name.
 */
export const REFERENCE =
  /(?:^|[^a-z])(?:LoadCredential(?:Encrypted)?|ImportCredential|existing_?secret|public_?key_?token|[0-9]{12}:secret|no_?pass(?:wd|word)|(?:needed_?)?pre_?auth(?:ent)?|(?:gp|smb|ht|yp|k|un)passwd|update_password|password-secret|initial[-_]cluster[-_]token)$/i;

/** Words that end the name of a secret, alone or at the end of a longer word: `dbpwd`, `KEYSTOREPASS`, `bindpw`. */
const STEM =
  /(?:password|passphrase|passcode|(?:^|_)pin|p(?:a?ss?)?w(?:o?r)?d|(?<!by|com|tres|sur|encom)pass|(?<!s)pw|secret|token|authtok|api_?key|credentials?|psk|masterauth|pre_shared_key|secret_id|phpsessid|jsessionid|connect_sid)$/;
/** Kinds of keys that are secret; a `publicKey` is not. */
const KEY =
  /(?:api|access|secret|private|signing|encryption|master|account|shared|auth|service|deploy|license|activation|subscription|session|preshared|hmac|aes|webhook|integration|routing|storage|admin|client|validation|decryption|machine|cluster|gossip|unseal|recovery|registration|setup|instrumentation|stream|ingest|pre_?share|md5|message_digest|app|application|authentication|priv|privacy|fernet|ssl|sse|wrapping|derived|seed|pairing)_key$/;
const ENDINGS =
  /_(?:value|data|b64|base64|string|text|plain|plaintext|in|out|new|old|current|confirm|confirmation|hash|[0-9]{1,3})$/;
const COMMUNITY = /(?:^|_)(?:ro|rw)?community$/;

/** In every name of a secret: most names of a text have none of these. */
const MAY_NAME = /pass|p[as]{0,3}w|secret|token|authtok|key|cred|psk|masterauth|community|pin|sessid|sid/i;

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
  if (!MAY_NAME.test(name) || REFERENCE.test(name)) return false;
  const words = wordsOf(name).replace(ENDINGS, '');
  return STEM.test(words) || KEY.test(words) || COMMUNITY.test(words);
}

/** Functions and types that only wrap a secret. */
const WRAPPERS =
  '(?:(?:[Ss]ensitive|[Ss]ecret(?:Str|String|Value)?|SecureString|[Pp]assword|[Pp]lainText|String|str|bytes|b|N|u|r)(?:\\()?(?=["\']))?';
/** A name and the sign after it in INI, TOML, YAML, JSON, env, properties, Ruby, XML, PHP, or a URL's query. */
const NAME =
  /(?<![\w.-])([A-Za-z_][\w.-]{1,80})(\\{0,3}["']?)\]?([ \t]{0,40}(?:=>|\|\|=|[?:]{0,2}={1,3}|:)[ \t]{0,40}|>\s{0,40})/g;
const VALUE = new RegExp(`${WRAPPERS}(\\\\{0,3}["'\u201c\u00ab]?)([^\\s"'<>,;&})\\]\\\\\u201d\u00bb]{1,4096})`, 'y');
/** `setPassword("x")`, `define('DB_PASSWORD', 'x')`, after the name of the function. */
const CALL = /\([ \t]{0,8}(?:(["'])([A-Za-z_][\w.-]{1,80})\1[ \t]{0,4},[ \t]{0,8})?(["'])([^\s"'\\]{3,512})\3/g;
const LAST_NAME = /(?<![\w.-])[A-Za-z_][\w.-]{1,80}$/;
/** Functions that ask for a secret, or look it up by the name that follows. */
const ASKS =
  /^(?:get|read|ask|prompt|check|verify|input|generate|has|is|find|load|fetch|lookup|require|validate|on|show|reset|encode)(?=[A-Z_])/;
/** In a registry's export, and in a table, after the name. */
const CELL = /(?:REG_(?:EXPAND_)?SZ[ \t]{1,16}|\| )([^\s|"']{4,512})/g;
/** Names and values that stand apart, in the attributes and elements of XML, in YAML and in HCL. */
const PAIRS: readonly RegExp[] = [
  // `name="dbPassword" value="x"`, `{"key":"DB_PASSWORD","value":"x"}`, `- name: DB_PASSWORD` and `value: x` below it.
  /\b(?:name|key|Name|Key)["']?[ ]?[:=][ ]?["']?([A-Za-z_][\w.-]{1,80})["']?,?\s{0,16}["']?[vV]alue["']?[ ]?[:=][ ]?["']?([^\s"'<>,;&})\]]{1,4096})/g,
  // `<property name="password"><value>x</value>`, `<key>password</key><string>x</string>`.
  /(?:\b(?:name|key|id)=["']|<(?:key|name)>)([A-Za-z_][\w.-]{1,80})(?:["'][^<>]{0,100}>|<\/(?:key|name)>)\s{0,16}(?:<\w{1,20}>)?([^\s<>]{1,512})(?=<\/)/g,
  // `variable "db_password" { default = "x" }`.
  /\bvariable "([A-Za-z_][\w.-]{1,80})" \{[^{}]{0,300}?\bdefault[ \t]{0,16}= {0,4}"([^"\r\n]{1,512})/g,
];
/** `login("admin", "x")`, also of other functions and classes that authenticate with a user and a password. */
const ACCOUNT =
  /(?:auth(?:entication)?|log_?[io]n|credentials?|changeUserPassword|sp_addlogin)\w{0,20}[ \t]{0,2}=?[ \t]{0,2}\(?[ ]?["'][^"'\r\n]{0,100}["'], ?["']([^"'\r\n]{1,512})(?=["'])/gi;
/** `new mysqli("server", "user", "x")`, `getConnection(url, "user", "x")`. */
const CONNECTION =
  /\b(?:mysqli?(?:_connect)?|PDO|connect|getConnection)\((?:["'][^"'\r\n]{0,200}["']|[\w$.]{1,60}), ?(?:["'][^"'\r\n]{0,100}["']|[\w$.]{1,60}), ?["']([^"'\r\n]{1,512})(?=["'])/g;
/** Without quotes, as Oracle's. */
const ORACLE =
  /\b(?:IDENTIFIED BY|(?:user|role) \S{1,64} identified by) (?!["'$<]|VALUES\b|PASSWORD\b|RANDOM\b|the\b)([^\s"';\\)]{3,128})/g;
const SQL =
  /\b(?:IDENTIFIED (?:WITH ["'`]?\w{1,40}["'`]? )?(?:BY|AS|USING)(?: PASSWORD| VALUES)?|(?:WITH |ENCRYPTED )?PASSWORD)(?:[ \t]{1,4}=?[ \t]{0,4}N?|[ \t]{0,4}[=(][ \t]{0,4}N?)(["'])([^"'\r\n]{1,512})\1/gi;

/** Values of keys that name a secret. Takes linear time. */
export function keys(text: string, found: (start: number, end: number) => void): void {
  for (const { index, 0: whole, 1: name = '', 2: closing = '', 3: sign = '' } of allMatches(text, NAME)) {
    if (!namesSecret(name) || REFERENCE.test(text.slice(Math.max(0, index - 24), index + name.length))) continue;
    VALUE.lastIndex = index + whole.length;
    const [, opening = '', value = ''] = VALUE.exec(text) ?? [];
    const end = VALUE.lastIndex;
    // A placeholder such as `<token>` is no element.
    if (sign === '>' && end < text.length && !/[<\r\n]/.test(text[end] ?? '')) continue;
    if (value === '' || (isMode(value) && !/pass|pw/i.test(name)) || (sign.includes('==') && opening === '')) continue;
    // A sentence also has a colon after such a word: our own messages do.
    const isEntry = /[._-]|[a-z][A-Z]/.test(name) && /^[\r\n,}#]?$/.test(text[end] ?? '');
    const certain = closing !== '' || opening !== '' || /[=>]/.test(sign) || isEntry;
    if (certain ? mayBeSecret(value) : unlikeWord(value)) found(end - value.length, end);
  }
  for (const pair of PAIRS) {
    for (const { index, 0: whole, 1: name = '', 2: value = '' } of allMatches(text, pair)) {
      const end = index + whole.length;
      if (namesSecret(name) && mayBeSecret(value)) found(end - value.length, end);
    }
  }
  for (const form of [ACCOUNT, CONNECTION, ORACLE]) {
    for (const { index, 0: whole, 1: value = '' } of allMatches(text, form)) {
      const end = index + whole.length;
      if (mayBeSecret(value)) found(end - value.length, end);
    }
  }
  for (const { index, 0: whole, 2: argument, 4: value = '' } of allMatches(text, CALL)) {
    const end = index + whole.length - 1;
    const name = argument ?? nameBefore(text, index);
    if (namesSecret(name) && !ASKS.test(name) && mayBeSecret(value)) found(end - value.length, end);
  }
  for (const { index, 0: whole, 1: value = '' } of allMatches(text, CELL)) {
    const isSecret = whole.startsWith('REG_') ? mayBeSecret(value) : unlikeWord(value);
    if (isSecret && namesSecret(nameBefore(text, index)))
      found(index + whole.length - value.length, index + whole.length);
  }
  for (const { index, 0: whole, 2: value = '' } of allMatches(text, SQL))
    if (mayBeSecret(value)) found(index + whole.length - 1 - value.length, index + whole.length - 1);
}

/** The name before a place, and blanks. */
function nameBefore(text: string, at: number): string {
  return LAST_NAME.exec(text.slice(Math.max(0, at - 120), at).trimEnd())?.[0] ?? '';
}
