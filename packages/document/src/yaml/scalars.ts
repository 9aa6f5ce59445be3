import { type Cursor, END, syntaxError, YamlError } from './cursor.ts';

const NEVER_CLOSED = 'a quoted text that is never closed';
const CLOSE_IT = 'close it with the quotation mark it begins with, and indent its lines deeper than its key';

/**
 * A quoted text, from its first quote; leaves the cursor after the last. Lines must be indented deeper than `parent`.
 */
export function readQuoted(cursor: Cursor, parent: number): string {
  const opening = cursor.place();
  const quote = cursor.char;
  const pieces: string[] = [];
  cursor.pos++;
  for (;;) {
    const start = cursor.pos;
    while (cursor.pos < cursor.text.length && !isSpecial(cursor.char, quote)) cursor.pos++;
    pieces.push(cursor.text.slice(start, cursor.pos));
    if (cursor.pos >= cursor.text.length) throw syntaxError(opening, NEVER_CLOSED, CLOSE_IT);
    if (cursor.char === '\n') {
      trimLast(pieces);
      pieces.push(fold(cursor, parent, () => syntaxError(opening, NEVER_CLOSED, CLOSE_IT)));
    } else if (cursor.char === '\\') pieces.push(readEscape(cursor, parent, opening));
    else if (quote === "'" && cursor.text[cursor.pos + 1] === "'") {
      pieces.push("'");
      cursor.pos += 2;
    } else {
      cursor.pos++;
      return wellFormed(pieces.join(''), opening);
    }
  }
}

function isSpecial(char: string, quote: string): boolean {
  return char === quote || char === '\n' || (char === '\\' && quote === '"');
}

/** An unpaired surrogate, which is not valid in any encoding. */
function wellFormed(text: string, at: YamlError['at']): string {
  if (text.isWellFormed()) return text;
  throw new YamlError(
    at,
    'half of a character: an escape of a surrogate without its other half',
    'write the character itself',
  );
}

/** White space before a line break is not part of the text, unless it was escaped. */
function trimLast(pieces: string[]): void {
  const last = pieces.pop() ?? '';
  let end = last.length;
  while (end > 0 && (last[end - 1] === ' ' || last[end - 1] === '\t')) end--;
  pieces.push(last.slice(0, end));
}

/** Skips line breaks and indentation; one break becomes a space, each further one a break. */
function fold(cursor: Cursor, parent: number, error: () => YamlError): string {
  let breaks = 0;
  while (cursor.text[cursor.pos] === '\n') {
    cursor.breakLine();
    breaks++;
    while (cursor.text[cursor.pos] === ' ') cursor.pos++;
    const indentation = cursor.column;
    cursor.skipBlanks();
    if (!cursor.atLineEnd() && (indentation <= parent || cursor.isMarker())) throw error();
  }
  return breaks === 1 ? ' ' : '\n'.repeat(breaks - 1);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
};
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

function readEscape(cursor: Cursor, parent: number, opening: YamlError['at']): string {
  const char = cursor.text[cursor.pos + 1] ?? '';
  if (char === '\n') {
    cursor.pos++;
    return fold(cursor, parent, () => syntaxError(opening, NEVER_CLOSED, CLOSE_IT)).replace(/^ $/, '');
  }
  const simple = ESCAPES[char];
  if (simple !== undefined) {
    cursor.pos += 2;
    return simple;
  }
  const length = HEX_DIGITS[char] ?? 0;
  const digits = cursor.text.slice(cursor.pos + 2, cursor.pos + 2 + length);
  const code = Number.parseInt(digits, 16);
  if (length === 0 || digits.length < length || !/^[0-9a-fA-F]+$/.test(digits) || code > 0x10ffff) {
    cursor.fail('an unknown escape sequence', 'write a backslash as \\\\, or use single quotation marks');
  }
  cursor.pos += 2 + length;
  return String.fromCodePoint(code);
}

/** The end of an unquoted text in its line. In a flow collection its punctuation ends it, too. */
export function plainEnd(cursor: Cursor, from: number, inFlow: boolean, limit = cursor.text.length): number {
  const { text } = cursor;
  let end = from;
  for (let at = from; at < limit; at++) {
    const char = text[at];
    if (char === '\n') break;
    if (char === ' ' || char === '\t') continue;
    if (char === '#' && at > from && cursor.isBlankAt(at - 1)) break;
    if (char === ':' && (cursor.isBlankAt(at + 1) || (inFlow && isFlowPunctuation(text[at + 1])))) break;
    if (inFlow && isFlowPunctuation(char)) break;
    end = at + 1;
  }
  return end;
}

export function isFlowPunctuation(char: string | undefined): boolean {
  return char === ',' || char === '[' || char === ']' || char === '{' || char === '}';
}

/** Whether an unquoted text can begin here. */
export function beginsPlain(cursor: Cursor, inFlow: boolean): boolean {
  const { char } = cursor;
  const next = cursor.text[cursor.pos + 1];
  if (char === '-' || char === '?' || char === ':') {
    return !cursor.isBlankAt(cursor.pos + 1) && !(inFlow && isFlowPunctuation(next));
  }
  return char !== '' && !',[]{}#&*!|>\'"%@`'.includes(char);
}

/** `|` or `>`: a block of lines. Leaves the cursor at the start of the line after it, or at the end. */
export function readBlockScalar(cursor: Cursor, parent: number): string {
  const literal = cursor.char === '|';
  const opening = cursor.place();
  cursor.pos++;
  const [header = ''] = /^[-+0-9]*/.exec(cursor.text.slice(cursor.pos, cursor.pos + 8)) ?? [];
  const [, sign, digit, lateSign] = /^([-+]?)([1-9]?)([-+]?)$/.exec(header) ?? [];
  if (sign === undefined || (sign !== '' && lateSign !== '')) {
    cursor.fail('a wrong block header', 'after | or > come at most a sign and a digit, such as |- or |2');
  }
  cursor.pos += header.length;
  if (!cursor.endsLine()) {
    cursor.fail('text in the line of | or >', 'begin the text in the next line');
  }
  // The whole document has no parent, which libyaml, Go's parser and the library count as 0, and not as -1.
  const given = digit === '' ? undefined : Math.max(0, parent) + Number(digit);
  const { lines, trailing } = readLines(cursor, given, parent, opening);
  const chomp = sign === '' ? lateSign : sign;
  const body = literal ? lines.join('\n') : foldLines(lines);
  if (chomp === '+') return lines.length === 0 ? '\n'.repeat(trailing) : `${body}\n${'\n'.repeat(trailing)}`;
  return chomp === '-' || lines.length === 0 ? body : `${body}\n`;
}

/** The lines of a block without their indentation, and the number of blank ones at its end. */
function readLines(cursor: Cursor, given: number | undefined, parent: number, opening: YamlError['at']) {
  const lines: string[] = [];
  let indentation = given;
  let blanks = 0;
  let widestBlank = 0;
  while (cursor.pos < cursor.text.length) {
    cursor.breakLine();
    if (cursor.pos >= cursor.text.length) break;
    const start = cursor.pos;
    let content = start;
    while (cursor.text[content] === ' ' && (indentation === undefined || content - start < indentation)) content++;
    const end = cursor.lineEnd(content);
    if (content === end) {
      if (indentation === undefined) widestBlank = Math.max(widestBlank, content - start);
      blanks++;
    } else {
      indentation ??= content - start;
      if (indentation <= parent || content - start < indentation || (content === start && cursor.isMarker())) break;
      if (lines.length === 0 && widestBlank > indentation) {
        throw new YamlError(
          opening,
          'a blank line at the start of the block is indented deeper than its text',
          'remove its spaces',
        );
      }
      for (; blanks > 0; blanks--) lines.push('');
      lines.push(cursor.text.slice(content, end));
    }
    cursor.pos = end;
  }
  return { lines, trailing: blanks };
}

/** `>`: lines are joined by spaces; blank ones and lines indented deeper keep their breaks (YAML 1.2.2, 8.1.3). */
function foldLines(lines: readonly string[]): string {
  const pieces: string[] = [];
  let isKept = true;
  let blanks = 0;
  for (const line of lines) {
    if (line === '') {
      blanks++;
      continue;
    }
    const keeps = line.startsWith(' ') || line.startsWith('\t');
    if (pieces.length === 0) pieces.push('\n'.repeat(blanks));
    else if (isKept || keeps) pieces.push('\n'.repeat(blanks + 1));
    else pieces.push(blanks === 0 ? ' ' : '\n'.repeat(blanks));
    pieces.push(line);
    isKept = keeps;
    blanks = 0;
  }
  return pieces.join('');
}

const DEEPER_KEY_HINT = 'indent both alike; if the lines are one value, put it in quotes';

/**
 * An unquoted text of a block, from its first character; it continues in lines that are indented deeper than `parent`.
 * Leaves the cursor at the next content, whose column is returned.
 */
export function readPlain(cursor: Cursor, parent: number): { readonly text: string; readonly next: number } {
  const pieces: string[] = [];
  for (;;) {
    const end = plainEnd(cursor, cursor.pos, false);
    pieces.push(cursor.text.slice(cursor.pos, end));
    cursor.pos = end;
    const { line } = cursor;
    if (!cursor.endsLine()) {
      if (pieces.length > 1)
        cursor.fail('a key that is indented deeper than the key above it, which has a value already', DEEPER_KEY_HINT);
      cursor.fail('a second ":" in one value', 'put the value in quotes, or the map on separate lines');
    }
    const isCommented = cursor.passedComment;
    const next = cursor.nextContent();
    if (next === END || next <= parent || isCommented || cursor.passedComment) return { text: pieces.join(''), next };
    pieces.push(cursor.line - line === 1 ? ' ' : '\n'.repeat(cursor.line - line - 1));
  }
}
