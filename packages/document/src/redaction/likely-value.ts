/**
 * What stands where a secret was or will be: a mask of another program, a variable of a template, the name or the length
 * of a secret instead of the secret.
 */
const WORDS_OF_MASKS =
  '(?:redacted|masked|hidden|protected|omitted|filtered|removed|withheld|scrubbed|sanitized|obfuscated|suppressed|elided|data[+_ -]?omitted|value[ _-](?:redacted|hidden|omitted|withheld)|sensitive(?:[ _-](?:value|data|content))?)';
const MASKS = [
  '[*\\u2022x.]{3,256}',
  '\\+?[0-9]{0,6}[*]{3,12}[0-9]{2,4}',
  '\\w{0,40}(?:NO_LOG|NOT_LOGGING)_\\w{1,40}',
  `[-*_#.]{0,8}${WORDS_OF_MASKS}[-*_#.]{0,8}`,
  `[<[({]{1,3}[-*_# ]{0,4}(?:${WORDS_OF_MASKS}[^<>(){}[\\]]{0,40}|known after apply|none|not set|not shown|unset|empty|secure|secret|private|encrypted|\\.{3})[-*_# ]{0,4}[>\\])}]{0,3}`,
  '\\(?[0-9]{1,6} (?:bytes|byte|chars|characters|bits)\\)?',
  '(?:var|local|module|data|each|self)(?:\\.[a-z]{1,40}(?:_[a-z0-9]{1,40}){0,8}){1,8}(?:\\[.{0,60})?',
  '(?:secrets|env|vars|inputs|process\\.env|os\\.environ)[.[]["\']?[a-z]{1,40}(?:_[a-z0-9]{1,40}){0,8}["\']?\\]?',
  '%\\(\\w{1,64}\\)s',
  '\\{\\{.{0,200}\\}\\}',
  '\\$\\{?\\w{1,64}\\}?',
  // With a message for a variable that is not set. A default may be a secret.
  '\\$\\{\\w[\\w.]{0,64}(?::?\\?[^{}]{0,120}|:?-)\\}',
  '\\$(?:\\([^()]{0,120}\\)|\\{\\{[^{}]{0,120}\\}\\})',
  '[#%$]?\\{[A-Za-z0-9_][\\w.]{0,60}\\}',
  '%[-+0-9.]{0,6}[svdqr](?:\\\\n)?|\\?|:[a-z_]{2,40}|@[A-Z][A-Z0-9_]{1,60}@|__[A-Z0-9_]{2,60}__',
  '<[A-Za-z][\\w/|.-]{0,60}(?:>| [^<>]{0,120}>?)',
  'ENC[\\[(].{1,200}',
  '!(?:vault|Ref|Sub|secret|env)\\b.{0,200}',
  '(?:arn:aws|op:/|@Microsoft\\.KeyVault\\(|(?:vault|ssm|aws-?sm|gcp-?sm|secretsmanager|keyvault|secretref|keyring|env|file):(?=[A-Za-z/])|ref\\+\\w|projects/\\S{1,80}/secrets/|https://\\S{1,80}\\.vault\\.azure\\.net/secrets/)\\S{1,180}',
  '[0-9]{1,4}/[0-9]{1,4}',
  '<{1,3}',
];
const MASKED = new RegExp(`^(?:(?:bearer|basic|token|digest) )?(?:${MASKS.join('|')})[,;)\\]}]{0,3}$`, 'i');

/** The name of a variable of the environment. */
const VARIABLE = /^(?:[A-Z0-9]{1,20}_){1,8}(?:PASS|PASSWORD|PASSWD|PASSPHRASE|PWD|SECRET|TOKEN|KEY|CREDENTIALS?)$/;

/** Whether another program has already removed the secret, or a template has its place. */
export function isMasked(value: string): boolean {
  return value.length <= LONGEST_JUDGED && (MASKED.test(value) || VARIABLE.test(value));
}

/** Kinds of authentication, which are values of `auth-token` and `auth`. */
const MODES =
  /^(?:simple|jwt|basic|bearer|opaque|anonymous|oauth2?|oidc|saml|webhook|kerberos|gssapi|negotiate|ntlm|ldap|pam|mfa|x509|tls|mtls|md5|(?:scram|cram|digest)-[a-z0-9-]{2,12}|plain|login|external|xoauth2|oauthbearer|trust|peer|none|optional|required)$/i;

/** Whether a value says how one is authenticated, and not with what. */
export function isMode(value: string): boolean {
  return MODES.test(value);
}

/** Answers and states, which no secret is: whether there is a secret, whether one is asked for, and what became of it. */
const ANSWERS =
  'true|false|yes|no|on|off|none|nil|null|undefined|default|unknown|n/a|required|optional|must|enabled|disabled|empty|invalid|missing|expired|denied|authorization denied|secret|password|passwd|token|simple|anonymous|unset|set|changed|unchanged|updated|rejected|accepted|incorrect|wrong|correct|auto|autogenerate|files|compat|systemd|sss|prompt|ask|always|never|on_create|present|absent|failed|valid|locked|unlocked|ignored|supplied|provided|configured|pending|rotated|created|deleted|not|not set|(?:new|old|your|the|current)[-_]?(?:api[-_]?)?(?:password|secret|token|key|passphrase)(?:[-_]?here)?';
const WORTHLESS = new RegExp(
  `^(?:${ANSWERS}|<.{0,200}>|<value|[0-9]{1,6}(?:ms|[smhd])?|(?:[0-9]{1,4}[hms]){1,3}|%\\w{1,40}%|\\$\\(.{0,200}|[*x]{1,64}|[{|>&*~#-]|[A-Z][A-Za-z]{2,40}\\{[0-9a-f]{4,16}|(?:[a-z]\\w{0,40}\\.){1,8}[A-Z]\\w{0,60}@[0-9a-f]{4,16}|\\$\\w{1,60}/.{0,200}|[A-Za-z_$][A-Za-z_.]{1,60}[(\\[](?:[\\w., ]{0,60}[)\\]];?)?|(?:[A-Za-z_]\\w{1,30}\\.){1,4}[A-Za-z_]\\w{1,40}\\([\\w., ]{0,60}|>-|\\|-)[,;.)\\]}]{0,3}$`,
  'i',
);
/** Variables, paths, options and the beginnings of structures. */
const HARMLESS =
  /^(?:\$.{0,200}|\[?redacted\]?.{0,200}|file:.{0,200}|env:.{0,200}|(?:\.{0,2}|~)\/[A-Za-z0-9_./@:-]{0,200}|--?[A-Za-z][a-z-]{0,60}|[{[(&|>].{0,200})$/i;

/** Whether a value is no secret whatever stands before it: an answer, a mask, a placeholder, a time. */
export function isWorthless(value: string): boolean {
  return WORTHLESS.test(value.slice(0, LONGEST_JUDGED)) || isMasked(value);
}

/** Words of diagnostics, which a passphrase seldom has. */
const TELLING =
  /(?:^| )(?:is|are|was|has|have|not|must|cannot|could|should|failed|failure|missing|invalid|expired|expiry|wrong|incorrect|required|changed|updated|set|unable|error|found|does|did|information|denied|accepted|rejected)(?:[ ,.;:]|$)/i;

/** Whether words are a sentence about a secret instead of a secret: `the field is not set`. */
export function readsAsSentence(value: string): boolean {
  return /^[A-Za-z]{1,20}[,:]?(?: [\w'"():,./-]{1,40}){2,40}!?$/.test(value) && TELLING.test(value);
}

/** Longer values are judged by their beginning. */
const LONGEST_JUDGED = 200;

/** Whether a value can be a secret at a place that says that a secret follows. */
export function mayBeSecret(value: string): boolean {
  return value.length > 0 && !HARMLESS.test(value.slice(0, LONGEST_JUDGED)) && !isWorthless(value);
}

const SHORTEST = 6;
/** Words, their compounds, numbers, versions, addresses, times and names of files: a sentence has them, too. */
const ORDINARY =
  /^(?:[A-Za-z]{1,40}(?:[-_./:'][A-Za-z]{1,40}){0,8}|v?[0-9]{1,12}(?:[.:,/-][0-9]{1,12}){0,8}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{4,20}(?:Z|[+-][0-9:]{4,6})?|(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}|[0-9]{1,8}(?:\.[0-9]{1,6})?[A-Za-z%]{1,3}|sha[0-9]{1,3}:[0-9a-f]{8,128}|[A-Za-z]{2,20}[0-9]{1,3}|[a-z]{1,20}(?:-[a-z0-9]{1,5}){1,6}|[\w-]{1,40}\.(?:ya?ml|json|conf|crt|key|pem|env|service|go|c|so|txt|toml|sock)(?::[0-9]{1,6})?|[\w.-]{1,60}@[\w.-]{1,60}|(?:\w{1,40}\.){1,4}\w{1,20}\/\S{1,80}|[A-Za-z][A-Za-z-]{0,30}\/v?[0-9]{1,4}(?:\.[0-9]{1,6}){1,3}|[A-Za-z]{1,20}\([0-9, ]{0,10}\)?|[a-z][a-z_.-]{1,30}=[^=]\S{0,200}|[a-z+]{2,12}:\/\/\S{1,200}|[a-z]{2,20}(?:\/[a-z0-9][a-z0-9._-]{0,40}){1,8})$/;

/** Whether a word is unlike the words of a sentence, so that a secret is likely where a sentence speaks of one. */
export function unlikeWord(value: string): boolean {
  if (value.length < SHORTEST || !mayBeSecret(value)) return false;
  const judged = value.slice(0, LONGEST_JUDGED).replace(/[.,;:!?)]{1,4}$/, '');
  return judged.length >= SHORTEST && /[0-9!#$%^&*~+@]/.test(judged) && !ORDINARY.test(judged);
}
