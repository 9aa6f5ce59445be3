/**
 * What stands where a secret was or will be: a mask of another program, a variable of a template, the name or the length
 * of a secret instead of the secret.
 */
const WORDS_OF_MASKS =
  '(?:redacted|masked|hidden|protected|omitted|filtered|removed|withheld|scrubbed|sanitized|obfuscated|suppressed|elided|data[+_ -]?omitted|value[ _-](?:redacted|hidden|omitted|withheld)|sensitive(?:[ _-](?:value|data|content))?)';
const MASKS = [
  '[*\\u2022x.]{3,256}',
  `[-*_#.]{0,8}${WORDS_OF_MASKS}[-*_#.]{0,8}`,
  `[<[({]{1,3}[-*_# ]{0,4}(?:${WORDS_OF_MASKS}[^<>(){}[\\]]{0,40}|known after apply|none|not set|not shown|unset|empty|secure|secret|private|encrypted|\\.{3})[-*_# ]{0,4}[>\\])}]{0,3}`,
  '\\(?[0-9]{1,6} (?:bytes|byte|chars|characters|bits)\\)?',
  '(?:var|local|module|data|each|self)(?:\\.[a-z]{1,40}(?:_[a-z0-9]{1,40}){0,8}){1,8}',
  '(?:secrets|env|vars|inputs|process\\.env|os\\.environ)[.[]["\']?[a-z]{1,40}(?:_[a-z0-9]{1,40}){0,8}["\']?\\]?',
  '%\\(\\w{1,64}\\)s',
  '\\{\\{.{0,200}\\}\\}',
  '\\$\\{?\\w{1,64}\\}?',
  '!(?:vault|Ref|Sub|secret|env)\\b.{0,200}',
  '(?:arn:aws|op:/|ref\\+\\w|projects/\\S{1,80}/secrets/|https://\\S{1,80}\\.vault\\.azure\\.net/secrets/)\\S{1,180}',
  '[0-9]{1,4}/[0-9]{1,4}',
  '<{1,3}',
];
const MASKED = new RegExp(`^(?:(?:bearer|basic|token|digest) )?(?:${MASKS.join('|')})[,;]?$`, 'i');

/** Whether another program has already removed the secret, or a template has its place. */
export function isMasked(value: string): boolean {
  return value.length <= LONGEST_JUDGED && MASKED.test(value);
}

/** Kinds of authentication, which are values of `auth-token` and `auth`. */
const MODES =
  /^(?:simple|jwt|basic|bearer|opaque|anonymous|oauth2?|oidc|saml|webhook|kerberos|gssapi|negotiate|ntlm|ldap|pam|mfa|x509|tls|mtls|md5|scram-sha-(?:1|256|512)|trust|peer|none|optional|required)$/i;

/** Whether a value says how one is authenticated, and not with what. */
export function isMode(value: string): boolean {
  return MODES.test(value);
}

/** Values that are no secret whatever stands before them: placeholders, variables, truth values, times and paths. */
const HARMLESS =
  /^(?:true|false|yes|no|on|off|none|nil|null|undefined|default|unknown|<.{0,200}>|<value|\$.{0,200}|%\w{1,40}%|[*x]{1,64}|\[?redacted\]?.{0,200}|[0-9]{1,6}(?:ms|[smhd])?|(?:[0-9]{1,4}[hms]){1,3}|file:.{0,200}|env:.{0,200}|(?:\.{0,2}|~)\/[A-Za-z0-9_./@:-]{0,200}|--?[A-Za-z][a-z-]{0,60}|-|[{[(&|>].{0,200})$/i;

/** Longer values are judged by their beginning. */
const LONGEST_JUDGED = 200;

/** Whether a value can be a secret at a place that says that a secret follows. */
export function mayBeSecret(value: string): boolean {
  return value.length > 0 && !HARMLESS.test(value.slice(0, LONGEST_JUDGED)) && !isMasked(value);
}

const SHORTEST = 6;
/** Words, their compounds, numbers, versions, addresses, times and names of files: a sentence has them, too. */
const ORDINARY =
  /^(?:[A-Za-z]{1,40}(?:[-_./:'][A-Za-z]{1,40}){0,8}|v?[0-9]{1,12}(?:[.:,/-][0-9]{1,12}){0,8}|[A-Za-z]{2,20}[0-9]{1,3}|[a-z]{1,20}(?:-[a-z0-9]{1,5}){1,6}|[\w-]{1,40}\.(?:ya?ml|json|conf|crt|key|pem|env|service|go|c|so|txt|toml|sock)(?::[0-9]{1,6})?|[\w.-]{1,60}@[\w.-]{1,60}|(?:\w{1,40}\.){1,4}\w{1,20}\/\S{1,80}|[A-Za-z][A-Za-z-]{0,30}\/v?[0-9]{1,4}(?:\.[0-9]{1,6}){1,3}|[a-z]{2,20}(?:\/[a-z0-9][a-z0-9._-]{0,40}){2,8})$/;

/** Whether a word is unlike the words of a sentence, so that a secret is likely where a sentence speaks of one. */
export function unlikeWord(value: string): boolean {
  if (value.length < SHORTEST || !mayBeSecret(value)) return false;
  const judged = value.slice(0, LONGEST_JUDGED).replace(/[.,;:!?)]{1,4}$/, '');
  return judged.length >= SHORTEST && /[0-9!#$%^&*~+@]/.test(judged) && !ORDINARY.test(judged);
}
