/** What a finger hits beside the key that was meant. */
const SIGNS = [...':"\'{}[]\t&*!|>%@`#-,?\\\n \r', ': ', '- ', '\n  ', '{{', '${', '<<: *'];

let state = 13;

/** Mulberry32: the same damages in each run. */
function below(limit: number): number {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
}

/** What a hand slips into. */
const DAMAGES: readonly ((text: string, at: number) => string)[] = [
  (text, at) => text.slice(0, at) + text.slice(at + 1),
  (text, at) => text.slice(0, at) + SIGNS[below(SIGNS.length)] + text.slice(at),
  (text, at) => text.slice(0, at) + SIGNS[below(SIGNS.length)] + text.slice(at + 1),
  (text, at) => text.slice(0, at) + text.slice(at + 2 + below(12)),
  (text, at) => text.slice(0, at),
  // A line is joined with the next, indented deeper, or written twice.
  (text, at) => text.slice(0, at) + text.slice(at).replace(/\n\s*/, ' '),
  (text, at) => text.slice(0, at) + text.slice(at).replace('\n', '\n '),
  (text, at) => text.slice(0, at) + text.slice(at).replace(/\n(.*)\n/, '\n$1\n$1\n'),
  // A key is misspelt, or stands where its value should.
  (text, at) => text.slice(0, at) + text.slice(at).replace(/(\w+)(["']?:)/, '$1x$2'),
  (text, at) => text.slice(0, at) + text.slice(at).replace(/: ([^\n]+)/, ': {$1: true}'),
  (text, at) => text.slice(0, at) + text.slice(at).replace(/: ([^\n]+)/, ': [$1]'),
];

/** The text with one slip: near one of the secrets, where the text has it. */
export function withSlip(text: string, secrets: readonly string[]): string {
  const near = text.indexOf(secrets[below(secrets.length)] ?? '');
  const at = near < 0 ? below(text.length) : Math.max(0, near - 12 + below(48));
  return DAMAGES[below(DAMAGES.length)]?.(text, at) ?? '';
}

/** What a message is searched for: a slip may have cut a secret, and a third of it is enough. */
export function piecesOf(secrets: readonly string[]): readonly string[] {
  return secrets.flatMap((secret) => [secret.slice(0, 8), secret.slice(8, 16), secret.slice(-8)]);
}
