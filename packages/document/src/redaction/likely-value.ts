/** Values that are no secret whatever stands before them: placeholders, variables, truth values, times and paths. */
const HARMLESS =
  /^(?:true|false|yes|no|on|off|none|nil|null|undefined|default|unknown|<.{0,200}>|<value|\$.{0,200}|%\w{1,40}%|[*x]{1,64}|\[?redacted\]?.{0,200}|[0-9]{1,6}(?:ms|[smhd])?|(?:[0-9]{1,4}[hms]){1,3}|file:.{0,200}|env:.{0,200}|(?:\.{0,2}|~)\/[A-Za-z0-9_./@:-]{0,200}|--?[A-Za-z][a-z-]{0,60}|-|[{[(&|>].{0,200})$/i;

/** Longer values are judged by their beginning. */
const LONGEST_JUDGED = 200;

/** Whether a value can be a secret at a place that says that a secret follows. */
export function mayBeSecret(value: string): boolean {
  return value.length > 0 && !HARMLESS.test(value.slice(0, LONGEST_JUDGED));
}

const SHORTEST = 6;
/** Words, their compounds, numbers, versions, addresses, times and names of files: a sentence has them, too. */
const ORDINARY =
  /^(?:[A-Za-z]{1,40}(?:[-_./:'][A-Za-z]{1,40}){0,8}|v?[0-9]{1,12}(?:[.:,/-][0-9]{1,12}){0,8}|[A-Za-z]{2,20}[0-9]{1,3}|[a-z]{1,20}(?:-[a-z0-9]{1,5}){1,6}|[\w-]{1,40}\.(?:ya?ml|json|conf|crt|key|pem|env|service|go|c|so|txt|toml|sock)(?::[0-9]{1,6})?|[\w.-]{1,60}@[\w.-]{1,60}|(?:\w{1,40}\.){1,4}\w{1,20}\/\S{1,80})$/;

/** Whether a word is unlike the words of a sentence, so that a secret is likely where a sentence speaks of one. */
export function unlikeWord(value: string): boolean {
  if (value.length < SHORTEST || !mayBeSecret(value)) return false;
  const judged = value.slice(0, LONGEST_JUDGED).replace(/[.,;:!?)]{1,4}$/, '');
  return judged.length >= SHORTEST && /[0-9!#$%^&*~+@]/.test(judged) && !ORDINARY.test(judged);
}
