import type { Diagnostic, Place } from '../diagnostics/index.ts';
import type { Tree } from '../trees/tree.ts';
import { Cursor, END, syntaxError, YamlError } from './cursor.ts';
import { FlowReader } from './flow.ts';
import { type Entries, keyOf, Parts, type Properties } from './parts.ts';
import { beginsPlain, isFlowPunctuation, plainEnd, readBlockScalar, readPlain, readQuoted } from './scalars.ts';

/**
 * Parses one source as YAML 1.2 with the core schema (JSON is a subset of it), in linear time. An unreadable source is
 * a single problem, because later messages of a parser are guesswork. Messages quote nothing of the text, which may
 * contain secrets. The tree is undefined when nothing useful could be parsed.
 */
export function parseYaml(file: string, source: string, problems: Diagnostic[]): Tree | undefined {
  const text = source.includes('\r') ? source.replaceAll('\r\n', '\n') : source;
  const parser = new YamlParser(file, text);
  try {
    checkCharacters(file, text);
    const tree = parser.document();
    for (const { place, path, first } of parser.parts.duplicates) {
      const hint = `it is first given in line ${first}; keep one`;
      problems.push({ code: 'SyntaxError', place, path, message: 'the key is given twice', hint });
    }
    return tree;
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    const { at: place, hint } = error;
    problems.push({ code: 'SyntaxError', place, path: '', message: error.message, hint });
    return undefined;
  }
}

/** YAML 1.2.2, 5.1: control characters are written as escapes in double quotes. */
function checkCharacters(file: string, text: string): void {
  const offset = text.search(/[^\P{Cc}\t\n\x85]/u);
  if (offset < 0) return;
  const cursor = new Cursor(file, text);
  for (let end = cursor.lineEnd(); end < offset; end = cursor.lineEnd()) {
    cursor.pos = end;
    cursor.breakLine();
  }
  cursor.pos = offset;
  cursor.refuse('a control character', 'remove it, or write it as an escape in double quotes');
}

class YamlParser {
  readonly parts: Parts;
  readonly #cursor: Cursor;
  readonly #flow: FlowReader;
  /** Column of the content at the cursor, after a complete value. */
  #next = END;

  constructor(file: string, text: string) {
    this.#cursor = new Cursor(file, text);
    this.parts = new Parts(this.#cursor);
    this.#flow = new FlowReader(this.#cursor, this.parts);
  }

  document(): Tree {
    const cursor = this.#cursor;
    this.#next = cursor.content();
    this.#directives();
    let isMarked = false;
    if (cursor.text.startsWith('---', cursor.pos) && cursor.isMarker()) {
      cursor.pos += 3;
      isMarked = true;
    }
    const start = cursor.place();
    const isEmpty = isMarked ? undefined : this.#next === END;
    const tree = isEmpty === true ? nothing(start) : this.#node(-1, isMarked ? 'value' : 'document', start);
    if (this.#next !== END)
      cursor.fail('a line that belongs to nothing above it', 'indent the entries of one map alike');
    this.#end();
    if (tree.kind === 'scalar' && tree.value === null) {
      const at = { file: cursor.file, line: 1, column: 1 };
      throw new YamlError(at, 'the document is empty', '`machineadm example --role Worker` prints one to start from');
    }
    return tree;
  }

  #directives(): void {
    const cursor = this.#cursor;
    while (this.#next === 0 && cursor.char === '%') {
      if (!/^%YAML[ \t]+1\.\d+[ \t]*(?:#|\n)/.test(cursor.text.slice(cursor.pos, cursor.pos + 80))) {
        cursor.fail('a directive that is not read', 'remove it');
      }
      cursor.pos = cursor.lineEnd();
      this.#next = cursor.nextContent();
      if (this.#next !== END && cursor.char !== '%') cursor.fail('a directive without "---" after it', 'remove it');
    }
  }

  /** The rest after the document: nothing, or another document, which is a problem. */
  #end(): void {
    const cursor = this.#cursor;
    while (cursor.text.startsWith('...', cursor.pos) && cursor.isMarker()) {
      cursor.pos += 3;
      if (!cursor.endsLine()) cursor.fail('text after the end of the document', 'remove it');
      this.#next = cursor.nextContent();
    }
    if (cursor.pos >= cursor.text.length) return;
    cursor.refuse('more than one YAML document in one source', 'merge them, or give each in its own file');
  }

  /**
   * The value after an indicator, up to the next content. `place` is its context: a list item and a document may begin
   * a map in the same line, the value of a key may not, but its list may be in the column of the key.
   */
  #node(parent: number, place: 'document' | 'item' | 'value', emptyAt: Place): Tree {
    const cursor = this.#cursor;
    let properties: Properties = {};
    let mayBegin = place !== 'value';
    for (;;) {
      if (cursor.endsLine()) {
        const column = cursor.nextContent();
        const isOwn =
          column > parent || (place === 'value' && column === parent && column >= 0 && cursor.isIndicator('-'));
        if (column === END || !isOwn) {
          this.#next = column;
          return this.parts.node(properties, () => this.parts.scalar(emptyAt, '', true, properties));
        }
        mayBegin = true;
      }
      if (mayBegin && this.#isCollection()) return this.parts.node(properties, () => this.#collection(properties));
      if (cursor.isIndicator('-')) cursor.fail('a list item in the line of its key', 'begin the list in the next line');
      if (cursor.char !== '&' && cursor.char !== '!') break;
      properties = this.parts.property(properties);
      mayBegin = false;
    }
    return this.parts.node(properties, () => this.#content(parent, properties));
  }

  #isCollection(): boolean {
    const cursor = this.#cursor;
    return cursor.isIndicator('-') || cursor.isIndicator('?') || isKey(cursor);
  }

  #collection(properties: Properties): Tree {
    const cursor = this.#cursor;
    if (cursor.text.slice(cursor.lineStart, cursor.pos).includes('\t')) {
      cursor.pos = cursor.text.indexOf('\t', cursor.lineStart);
      cursor.fail('a tab in the indentation', 'indent with spaces');
    }
    const isList = cursor.isIndicator('-');
    this.parts.checkTag(properties, isList ? 'seq' : 'map');
    return isList ? this.#list(cursor.column) : this.#map(cursor.column);
  }

  #list(column: number): Tree {
    const cursor = this.#cursor;
    const at = cursor.place();
    const items: Tree[] = [];
    do {
      const itemAt = cursor.place();
      cursor.pos++;
      this.parts.item(items, () => this.#node(column, 'item', itemAt));
      this.#checkIndentation(column);
    } while (this.#next === column && cursor.isIndicator('-'));
    return { kind: 'list', at, items };
  }

  #map(column: number): Tree {
    const cursor = this.#cursor;
    const at = cursor.place();
    const entries: Entries = new Map();
    do {
      const keyAt = cursor.place();
      if (cursor.isIndicator('?')) this.#explicitEntry(entries, keyAt, column);
      else if (isKey(cursor)) {
        const key = this.#implicitKey();
        this.parts.entry(entries, key, keyAt, () => this.#node(column, 'value', keyAt));
      } else if (cursor.isIndicator('-')) {
        cursor.fail('a list item among the keys of a map', 'indent the list alike, or give it a key');
      } else {
        const isLong = cursor.lineEnd() - cursor.pos > LONGEST_KEY;
        const hint = isLong
          ? `a key has at most ${LONGEST_KEY} characters`
          : 'write "key: value", or indent it deeper than its key';
        cursor.fail('a line that is neither a key with ":" nor part of a value', hint);
      }
      this.#checkIndentation(column);
    } while (this.#next === column);
    return { kind: 'map', at, entries };
  }

  #checkIndentation(column: number): void {
    if (this.#next > column) {
      this.#cursor.fail(
        'a line that is indented deeper than those it belongs to',
        'indent the entries of one map alike',
      );
    }
  }

  #implicitKey(): string {
    const cursor = this.#cursor;
    let properties: Properties = {};
    while (cursor.char === '&' || cursor.char === '!') {
      properties = this.parts.property(properties);
      cursor.skipBlanks();
    }
    const key = keyOf(this.parts.node(properties, () => this.#keyContent(properties)));
    cursor.skipBlanks();
    cursor.pos++;
    return key;
  }

  #keyContent(properties: Properties): Tree {
    const cursor = this.#cursor;
    const at = cursor.place();
    if (cursor.char === '"' || cursor.char === "'") {
      return this.parts.scalar(at, readQuoted(cursor, Number.MAX_SAFE_INTEGER), false, properties);
    }
    if (!beginsPlain(cursor, false)) cursor.fail('a key that is not a string', 'write the key in quotes');
    const start = cursor.pos;
    while (!(cursor.char === ':' && cursor.isBlankAt(cursor.pos + 1))) cursor.pos++;
    return this.parts.scalar(at, cursor.text.slice(start, cursor.pos).trimEnd(), true, properties);
  }

  /** `? key` with `: value` in a separate line. */
  #explicitEntry(entries: Entries, keyAt: Place, column: number): void {
    const cursor = this.#cursor;
    cursor.pos++;
    const key = keyOf(this.#node(column, 'item', keyAt));
    this.parts.entry(entries, key, keyAt, () => {
      if (this.#next !== column || !cursor.isIndicator(':')) return nothing(keyAt);
      cursor.pos++;
      return this.#node(column, 'item', keyAt);
    });
  }

  /** A value that is not a block collection. */
  #content(parent: number, properties: Properties): Tree {
    const cursor = this.#cursor;
    const at = cursor.place();
    switch (cursor.char) {
      case '|':
      case '>': {
        const tree = this.parts.scalar(at, readBlockScalar(cursor, parent), false, properties);
        this.#next = cursor.column === 0 ? cursor.content() : END;
        return tree;
      }
      case '"':
      case "'":
        return this.#ended(this.parts.scalar(at, readQuoted(cursor, parent), false, properties));
      case '[':
      case '{':
        this.parts.checkTag(properties, cursor.char === '[' ? 'seq' : 'map');
        return this.#ended(this.#flow.collection(parent));
      case '*':
        return this.#ended(this.#alias(at, properties));
    }
    if (!beginsPlain(cursor, false)) cursor.fail('a character that begins no value', 'put the value in quotes');
    const { text, next } = readPlain(cursor, parent);
    this.#next = next;
    return this.parts.scalar(at, text, true, properties);
  }

  #alias(at: Place, properties: Properties): Tree {
    const cursor = this.#cursor;
    const start = cursor.pos + 1;
    while (!cursor.isBlankAt(cursor.pos)) cursor.pos++;
    if (properties.anchor !== undefined || properties.tag !== undefined) {
      throw syntaxError(at, 'an alias with an anchor or a tag', 'remove it');
    }
    return this.parts.alias(cursor.text.slice(start, cursor.pos), at);
  }

  #ended(tree: Tree): Tree {
    if (!this.#cursor.endsLine()) {
      this.#cursor.fail('text after the end of a value', 'put the whole value in quotes, or the map on separate lines');
    }
    this.#next = this.#cursor.nextContent();
    return tree;
  }
}

function nothing(at: Place): Tree {
  return { kind: 'scalar', at, value: null };
}

/**
 * A key without `?` is on one line and has at most this many characters (YAML 1.2.2, 7.4.2), so the search is short.
 */
const LONGEST_KEY = 1024;

/** Whether a key begins here: a node in one line followed by a colon. Does not move the cursor. */
function isKey(cursor: Cursor): boolean {
  const { text } = cursor;
  const limit = Math.min(cursor.lineEnd(), cursor.pos + LONGEST_KEY + 1);
  let at = cursor.pos;
  const blanks = (): void => {
    while (at < limit && (text[at] === ' ' || text[at] === '\t')) at++;
  };
  const word = (): void => {
    while (at < limit && text[at] !== ' ' && text[at] !== '\t') at++;
  };
  while (text[at] === '&' || text[at] === '!') {
    word();
    blanks();
  }
  const char = text[at];
  if (char === '"' || char === "'") at = quotedEnd(text, at, limit);
  else if (char === '[' || char === '{') at = flowEnd(text, at, limit);
  else if (char === '*') word();
  else {
    const start = cursor.pos;
    cursor.pos = at;
    const begins = beginsPlain(cursor, false);
    cursor.pos = start;
    // An empty key: `: value`.
    if (!begins && char !== ':') return false;
    if (begins) at = plainEnd(cursor, at, false, limit);
  }
  blanks();
  return at < limit && text[at] === ':' && cursor.isBlankAt(at + 1);
}

function quotedEnd(text: string, from: number, limit: number): number {
  const quote = text[from];
  for (let at = from + 1; at < limit; at++) {
    if (text[at] === '\\' && quote === '"') at++;
    else if (text[at] === quote && quote === "'" && text[at + 1] === "'") at++;
    else if (text[at] === quote) return at + 1;
  }
  return limit;
}

function flowEnd(text: string, from: number, limit: number): number {
  let open = 0;
  for (let at = from; at < limit; at++) {
    const char = text[at];
    if ((char === '"' || char === "'") && !isInWord(text[at - 1])) at = quotedEnd(text, at, limit) - 1;
    else if (char === '[' || char === '{') open++;
    else if (char === ']' || char === '}') {
      open--;
      if (open === 0) return at + 1;
    }
  }
  return limit;
}

/** A quotation mark inside an unquoted text is literal. */
function isInWord(before: string | undefined): boolean {
  return before !== undefined && before !== ' ' && before !== '\t' && before !== ':' && !isFlowPunctuation(before);
}
