/** A template that Go refuses, or that is not known here. */
export class GoTemplateError extends Error {}

export interface Token {
  readonly kind: 'string' | 'raw' | 'char' | 'number' | 'fields' | 'dot' | 'variable' | 'word' | 'mark';
  readonly text: string;
  /** True: directly after the token before it. */
  readonly isGlued: boolean;
}

export type Piece = { readonly text: string } | { readonly tokens: readonly Token[] };

const TOKEN =
  /(?<string>"(?:[^"\\\n]|\\.)*")|(?<raw>`[^`]*`)|(?<char>'(?:[^'\\\n]|\\.)+')|(?<number>[+-]?(?:0[xX][\da-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?))(?![\w.])|(?<fields>(?:\.[A-Za-z_]\w*)+)|(?<dot>\.)|(?<variable>\$\w*)|(?<word>[A-Za-z_]\w*)|(?<mark>:=|[=|,()])/y;
const KINDS = ['string', 'raw', 'char', 'number', 'fields', 'dot', 'variable', 'word', 'mark'] as const;

/** Texts and actions, without the white space that trim markers remove (text/template, "Text and spaces"). */
export function pieces(template: string): readonly Piece[] {
  const found: Piece[] = [];
  let [end, trims] = [0, false];
  const literal = (text: string, right: boolean): void => {
    const left = trims ? text.replace(/^[ \t\r\n]+/, '') : text;
    const kept = right ? trimmedEnd(left) : left;
    if (kept !== '') found.push({ text: kept });
  };
  for (;;) {
    const start = template.indexOf('{{', end);
    if (start < 0) break;
    const trimsLeft = /^-[ \t\r\n]/.test(template.slice(start + 2, start + 4));
    literal(template.slice(end, start), trimsLeft);
    const action = readAction(template, start + (trimsLeft ? 3 : 2));
    if (action.tokens !== undefined) found.push({ tokens: action.tokens });
    [end, trims] = [action.end, action.trims];
  }
  literal(template.slice(end), false);
  return found;
}

function trimmedEnd(text: string): string {
  let end = text.length;
  while (end > 0 && ' \t\r\n'.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

interface Action {
  /** undefined for a comment. */
  readonly tokens: readonly Token[] | undefined;
  readonly end: number;
  readonly trims: boolean;
}

function readAction(template: string, start: number): Action {
  const comment = /[ \t\r\n]*\/\*/y;
  comment.lastIndex = start;
  if (comment.test(template)) {
    const close = template.indexOf('*/', comment.lastIndex);
    const tail = close < 0 ? undefined : /^(?:\}\}|[ \t\r\n]-\}\})/.exec(template.slice(close + 2, close + 6))?.[0];
    if (tail === undefined) throw new GoTemplateError('unclosed comment');
    return { tokens: undefined, end: close + 2 + tail.length, trims: tail.length > 2 };
  }
  const tokens: Token[] = [];
  for (let at = start; ; ) {
    const before = at;
    while (at < template.length && ' \t\r\n'.includes(template.charAt(at))) at++;
    if (template.startsWith('}}', at)) return { tokens, end: at + 2, trims: false };
    if (at > before && template.startsWith('-}}', at)) return { tokens, end: at + 3, trims: true };
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(template);
    const kind = KINDS.find((name) => match?.groups?.[name] !== undefined);
    if (match === null || kind === undefined) throw new GoTemplateError('an action that is not closed or not Go');
    tokens.push({ kind, text: match[0], isGlued: at === before });
    at = TOKEN.lastIndex;
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
};

/** A quoted string of Go. */
export function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(?:u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/g, (_whole, short, long, one) => {
    const code = short ?? long;
    const plain = code === undefined ? ESCAPES[one] : codePoint(Number.parseInt(code, 16));
    if (plain === undefined) throw new GoTemplateError('an escape in a string that is not known here');
    return plain;
  });
}

function codePoint(code: number): string | undefined {
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}

/** An integer, unless it has a point or an exponent. */
export function numberOf(text: string): number | bigint {
  if (/^[+-]?0[xX]/.test(text)) return text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text.replace('+', ''));
  if (/^[+-]?0\d/.test(text)) throw new GoTemplateError('an octal number');
  return /[.eE]/.test(text) ? Number(text) : BigInt(text.replace('+', ''));
}
