import type { Place } from '../diagnostics/index.ts';

/** The text is outside this parser's subset; nothing after `at` is read. */
export class YamlError extends Error {
  readonly at: Place;
  readonly hint: string | undefined;

  constructor(at: Place, message: string, hint?: string) {
    super(message);
    this.at = at;
    this.hint = hint;
  }
}

/** The text is not YAML from `at` on. */
export function syntaxError(at: Place, message: string, hint?: string): YamlError {
  return new YamlError(at, `not YAML: ${message}`, hint);
}

/** The end of the text, or of its one document. */
export const END = -1;

/**
 * A position in a text that only moves forward and counts lines: every step takes time proportional to what it skips.
 */
export class Cursor {
  readonly text: string;
  readonly file: string;
  pos = 0;
  line = 1;
  lineStart = 0;
  /** Whether the last move to a line skipped a comment, which ends a plain scalar. */
  passedComment = false;

  constructor(file: string, text: string) {
    this.file = file;
    this.text = text;
  }

  /** Counted from 0. */
  get column(): number {
    return this.pos - this.lineStart;
  }

  get char(): string {
    return this.text[this.pos] ?? '';
  }

  place(): Place {
    return { file: this.file, line: this.line, column: this.column + 1 };
  }

  /** The text is not YAML here. */
  fail(message: string, hint?: string): never {
    this.refuse(`not YAML: ${message}`, hint);
  }

  /**
   *
   * @throws {YamlError} at the current position, or at the last character of the line if that is past it
   */
  refuse(message: string, hint?: string): never {
    const at = this.place();
    const isPastLine = this.pos >= this.text.length || this.text[this.pos] === '\n';
    throw new YamlError(isPastLine ? { ...at, column: Math.max(1, at.column - 1) } : at, message, hint);
  }

  /** Whether the character at `offset` separates tokens: white space, or the end. */
  isBlankAt(offset: number): boolean {
    const char = this.text[offset];
    return char === undefined || char === ' ' || char === '\n' || char === '\t';
  }

  /** Whether an indicator (`-`, `?`, `:`) is at the cursor, followed by white space. */
  isIndicator(char: string): boolean {
    return this.text[this.pos] === char && this.isBlankAt(this.pos + 1);
  }

  skipBlanks(): void {
    while (this.char === ' ' || this.char === '\t') this.pos++;
  }

  lineEnd(from = this.pos): number {
    const end = this.text.indexOf('\n', from);
    return end < 0 ? this.text.length : end;
  }

  atLineEnd(): boolean {
    return this.pos >= this.text.length || this.text[this.pos] === '\n';
  }

  /** Skips white space and a comment; false if anything else is left in the line. */
  endsLine(): boolean {
    this.skipBlanks();
    if (this.char === '#' && (this.column === 0 || this.isBlankAt(this.pos - 1))) {
      this.passedComment = true;
      this.pos = this.lineEnd();
    } else this.passedComment = false;
    return this.atLineEnd();
  }

  /** Moves over a line break. */
  breakLine(): void {
    this.pos++;
    this.line++;
    this.lineStart = this.pos;
  }

  /** From the end of a line to the next content: its column, or END. */
  nextContent(): number {
    if (this.pos >= this.text.length) return END;
    this.breakLine();
    return this.content();
  }

  /** From the start of a line to its content, or that of the next line with content: its column, or END. */
  content(): number {
    for (;;) {
      while (this.char === ' ') this.pos++;
      const indentation = this.pos;
      if (this.char === '\t') this.skipBlanks();
      if (this.char === '#') {
        this.passedComment = true;
        this.pos = this.lineEnd();
      }
      if (this.pos >= this.text.length) return END;
      if (this.char === '\n') {
        this.breakLine();
        continue;
      }
      if (this.pos > indentation) {
        this.pos = indentation;
        this.fail('a tab in the indentation', 'indent with spaces');
      }
      return this.isMarker() ? END : this.column;
    }
  }

  /** `---` or `...` at the start of a line: the document begins or ends. */
  isMarker(): boolean {
    if (this.column !== 0 || !this.isBlankAt(this.pos + 3)) return false;
    return this.text.startsWith('---', this.pos) || this.text.startsWith('...', this.pos);
  }
}
