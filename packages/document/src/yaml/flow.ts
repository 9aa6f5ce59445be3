import type { Place } from '../diagnostics/index.ts';
import type { Tree } from '../trees/tree.ts';
import { type Cursor, syntaxError } from './cursor.ts';
import { type Entries, keyOf, type Parts, type Properties } from './parts.ts';
import { beginsPlain, isFlowPunctuation, plainEnd, readQuoted } from './scalars.ts';

/** `[…]` and `{…}`, as in JSON. */
export class FlowReader {
  readonly #cursor: Cursor;
  readonly #parts: Parts;

  constructor(cursor: Cursor, parts: Parts) {
    this.#cursor = cursor;
    this.#parts = parts;
  }

  /** The collection at the cursor; its lines must be indented deeper than `parent`. */
  collection(parent: number): Tree {
    return this.#cursor.char === '[' ? this.#list(parent) : this.#map(parent);
  }

  #list(parent: number): Tree {
    const cursor = this.#cursor;
    const at = cursor.place();
    const items: Tree[] = [];
    cursor.pos++;
    while (!this.#closes(']', at, parent)) {
      this.#parts.item(items, () => this.#listItem(at, parent));
      this.#separator(']', at, parent);
    }
    return { kind: 'list', at, items };
  }

  /** `a: 1` inside a list is a map of one entry. */
  #listItem(opening: Place, parent: number): Tree {
    const cursor = this.#cursor;
    const at = cursor.place();
    if (cursor.char === ',') cursor.fail('an entry without a value', 'remove the ","');
    const isExplicit = cursor.isIndicator('?');
    if (isExplicit) {
      cursor.pos++;
      this.#skip(opening, parent);
    }
    const start = cursor.pos;
    const startLine = cursor.line;
    const first = this.#value(opening, parent);
    const isJson = '"\']}'.includes(cursor.text[cursor.pos - 1] ?? '') && cursor.pos > start;
    const endLine = cursor.line;
    this.#skip(opening, parent);
    const isPair = (isExplicit || endLine === startLine) && cursor.line === endLine && this.#isColon(isJson);
    if (!isPair && !isExplicit) return first;
    const entries: Entries = new Map();
    this.#parts.entry(entries, keyOf(first), at, () => (isPair ? this.#entryValue(at, opening, parent) : nothing(at)));
    return { kind: 'map', at, entries };
  }

  #map(parent: number): Tree {
    const cursor = this.#cursor;
    const at = cursor.place();
    const entries: Entries = new Map();
    cursor.pos++;
    while (!this.#closes('}', at, parent)) {
      if (cursor.isIndicator('?')) {
        cursor.pos++;
        this.#skip(at, parent);
      }
      if (cursor.char === ',') cursor.fail('an entry without a key', 'remove the ","');
      const keyAt = cursor.place();
      const key = keyOf(this.#value(at, parent));
      const isJson = '"\''.includes(cursor.text[cursor.pos - 1] ?? '');
      this.#skip(at, parent);
      this.#parts.entry(entries, key, keyAt, () =>
        this.#isColon(isJson) ? this.#entryValue(keyAt, at, parent) : nothing(keyAt),
      );
      this.#separator('}', at, parent);
    }
    return { kind: 'map', at, entries };
  }

  #isColon(afterJson: boolean): boolean {
    const cursor = this.#cursor;
    const next = cursor.text[cursor.pos + 1];
    return cursor.char === ':' && (afterJson || cursor.isBlankAt(cursor.pos + 1) || isFlowPunctuation(next));
  }

  #entryValue(keyAt: Place, opening: Place, parent: number): Tree {
    const cursor = this.#cursor;
    cursor.pos++;
    this.#skip(opening, parent);
    if (cursor.char === ',' || cursor.char === '}' || cursor.char === ']') return nothing(keyAt);
    return this.#value(opening, parent);
  }

  #value(opening: Place, parent: number): Tree {
    const cursor = this.#cursor;
    let properties: Properties = {};
    while (cursor.char === '&' || cursor.char === '!') {
      properties = this.#parts.property(properties);
      this.#skip(opening, parent);
    }
    return this.#parts.node(properties, () => this.#content(properties, opening, parent));
  }

  #content(properties: Properties, opening: Place, parent: number): Tree {
    const cursor = this.#cursor;
    const at = cursor.place();
    switch (cursor.char) {
      case '[':
      case '{':
        this.#parts.checkTag(properties, cursor.char === '[' ? 'seq' : 'map');
        return this.collection(parent);
      case '"':
      case "'":
        return this.#parts.scalar(at, readQuoted(cursor, parent), false, properties);
      case '*':
        return this.#alias(at, properties);
    }
    const isEmpty = ',:]}'.includes(cursor.char) && !beginsPlain(cursor, true);
    if (isEmpty) return this.#parts.scalar(at, '', true, properties);
    if (!beginsPlain(cursor, true)) cursor.fail('a character that begins no value', 'put the value in quotes');
    return this.#parts.scalar(at, this.#plain(opening, parent), true, properties);
  }

  #alias(at: Place, properties: Properties): Tree {
    const cursor = this.#cursor;
    const start = cursor.pos + 1;
    while (!cursor.isBlankAt(cursor.pos) && !isFlowPunctuation(cursor.char)) cursor.pos++;
    if (properties.anchor !== undefined || properties.tag !== undefined) {
      throw syntaxError(at, 'an alias with an anchor or a tag', 'remove it');
    }
    return this.#parts.alias(cursor.text.slice(start, cursor.pos), at);
  }

  #plain(opening: Place, parent: number): string {
    const cursor = this.#cursor;
    const pieces: string[] = [];
    for (;;) {
      const end = plainEnd(cursor, cursor.pos, true);
      pieces.push(cursor.text.slice(cursor.pos, end));
      cursor.pos = end;
      const { line } = cursor;
      const isCommented = this.#skip(opening, parent);
      const breaks = cursor.line - line;
      if (breaks === 0 || isCommented || !this.#continuesPlain()) return pieces.join('');
      pieces.push(breaks === 1 ? ' ' : '\n'.repeat(breaks - 1));
    }
  }

  #continuesPlain(): boolean {
    const { char } = this.#cursor;
    if (char === ':') return !this.#isColon(false);
    return char !== '' && char !== '#' && !isFlowPunctuation(char);
  }

  #closes(closing: string, opening: Place, parent: number): boolean {
    this.#skip(opening, parent);
    if (this.#cursor.char !== closing) return false;
    this.#cursor.pos++;
    return true;
  }

  #separator(closing: string, opening: Place, parent: number): void {
    const cursor = this.#cursor;
    this.#skip(opening, parent);
    if (cursor.char === ',') cursor.pos++;
    else if (cursor.char !== closing) cursor.fail(`"," or "${closing}" is missing`, 'separate the entries by ","');
  }

  /**
   * White space, line breaks and comments; returns whether there was a comment. The text may not end inside a
   * collection.
   */
  #skip(opening: Place, parent: number): boolean {
    const cursor = this.#cursor;
    let isCommented = false;
    while (cursor.endsLine()) {
      isCommented ||= cursor.passedComment;
      const isOver = cursor.pos >= cursor.text.length;
      if (!isOver) {
        cursor.breakLine();
        while (cursor.char === ' ') cursor.pos++;
        const indentation = cursor.column;
        cursor.skipBlanks();
        if (cursor.atLineEnd() || cursor.char === '#') continue;
        const isClosing = (cursor.char === ']' || cursor.char === '}') && indentation >= parent;
        if (!cursor.isMarker() && (indentation > parent || isClosing)) return isCommented;
      }
      throw syntaxError(
        opening,
        'a collection that is never closed',
        'close it with ] or }, and indent its lines deeper than its key',
      );
    }
    return isCommented;
  }
}

function nothing(at: Place): Tree {
  return { kind: 'scalar', at, value: null };
}
