/** A word of a shell command, quotes removed. */
export interface ShellWord {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** True: the shell replaces a part of it: a variable, a command, a pattern. */
  readonly isExpanded: boolean;
}

/** A command without the commands in it: its words, and what stands before and after it. */
export interface SimpleCommand {
  readonly words: readonly ShellWord[];
  readonly redirections: readonly ShellWord[];
  readonly start: number;
  end: number;
  /** `&&`, `||`, `|`, `;`, `&`, a line feed, a bracket, a reserved word; '' at the beginning. */
  readonly before: string;
  after: string;
  /** Compound commands around it. */
  readonly depth: number;
}

/** Reserved words that open a compound command, with the one that closes it (POSIX XCU 2.4, 2.9.4). */
const CLOSING: Readonly<Record<string, string>> = {
  if: 'fi',
  case: 'esac',
  for: 'done',
  while: 'done',
  until: 'done',
  select: 'done',
  '{': '}',
  '(': ')',
};
const CLOSERS = new Set(['fi', 'esac', 'done', '}']);
/** Reserved words after which a command begins. */
const BEGINNERS = new Set(['if', 'then', 'else', 'elif', 'do', 'while', 'until', '!', 'fi', 'done', 'esac', '{', '}']);
const BLANK = /[ \t\r\f\v]/;
const DIGITS = /^\d*$/;

interface Draft {
  words: ShellWord[];
  redirections: ShellWord[];
  start: number;
  before: string;
}

/**
 * Reads the text of a shell, as far as its commands and what is open at its end are concerned; each character once, so
 * that the time is linear. It goes on with every text that it is fed, as with the next line of a script.
 */
export class ShellScanner {
  /** Complete simple commands, with positions in all that was fed. */
  readonly commands: SimpleCommand[] = [];
  /** Names of functions that are defined. */
  readonly functions = new Set<string>();
  /** Characters that were read: a measure of the work. */
  steps = 0;
  #offset = 0;
  readonly #expected: string[] = [];
  #draft: Draft | undefined;
  #separator = '';
  #isCommand = true;
  #quote: '' | "'" | '"' | '`' = '';
  #braces = 0;
  #word: { text: string[]; start: number; isExpanded: boolean; isQuoted: boolean } | undefined;
  #wantsDelimiter: 'no' | 'plain' | 'tabs' = 'no';
  #isRedirected = false;
  readonly #documents: { readonly end: string; readonly tabs: boolean }[] = [];
  /** How many of the here-documents have ended, while others have not. */
  #ended = 0;
  #isContinued = false;
  #isComment = false;

  /** Whether a shell would read on: a quote, a compound command, a here-document or a list that is not at its end. */
  get isOpen(): boolean {
    if (this.#quote !== '' || this.#braces > 0 || this.#expected.length > 0 || this.#documents.length > 0) return true;
    return this.#isContinued || (this.#draft === undefined && ['&&', '||', '|'].includes(this.#separator));
  }

  /** Reads one more command, or line, of the script. */
  feed(text: string): void {
    if (this.#offset > 0) this.#read('\n', 0, this.#offset++);
    let index = 0;
    while (index < text.length) {
      if (this.#documents.length > 0 && this.#isAtLineStart(text, index)) index = this.#skipDocument(text, index);
      else index += this.#read(text, index, this.#offset + index);
    }
    this.#offset += text.length;
    if (this.#quote === '' && this.#braces === 0) this.#endWord(this.#offset);
  }

  #inDocument = false;

  #isAtLineStart(text: string, index: number): boolean {
    return this.#inDocument && (index === 0 || text[index - 1] === '\n');
  }

  /** The lines up to the end of a here-document; returns where the shell reads on. */
  #skipDocument(text: string, from: number): number {
    const document = this.#documents[this.#ended];
    let lineEnd = text.indexOf('\n', from);
    if (lineEnd < 0) lineEnd = text.length;
    this.steps += lineEnd - from + 1;
    const line = text.slice(from, lineEnd).replace(document?.tabs === true ? /^\t+/ : '', '');
    if (line === document?.end) {
      this.#ended++;
      if (this.#ended === this.#documents.length) {
        this.#documents.length = 0;
        [this.#ended, this.#inDocument] = [0, false];
      }
    }
    return Math.min(lineEnd + 1, text.length);
  }

  /** Reads at a place; returns the number of characters. */
  #read(text: string, index: number, at: number): number {
    this.steps++;
    const character = text[index] ?? '';
    if (this.#isComment && character !== '\n') {
      const end = text.indexOf('\n', index);
      const length = (end < 0 ? text.length : end) - index;
      this.steps += length;
      return length;
    }
    this.#isComment = false;
    if (this.#inDocument) return 1;
    if (this.#isContinued) {
      this.#isContinued = false;
      if (character === '\n') return 1;
      this.#append(character, at);
      return 1;
    }
    if (this.#quote !== '') return this.#readQuoted(character, text, index, at);
    if (this.#braces > 0) {
      if (character === '{') this.#braces++;
      if (character === '}') this.#braces--;
      this.#append(character, at);
      return 1;
    }
    switch (character) {
      case '\\':
        if (index + 1 === text.length) this.#isContinued = true;
        else if (text[index + 1] === '\n') return 2;
        else {
          this.#append(text[index + 1] ?? '', at, true);
          return 2;
        }
        return 1;
      case "'":
      case '"':
      case '`':
        this.#append('', at, true);
        this.#quote = character;
        if (character === '`' && this.#word !== undefined) this.#word.isExpanded = true;
        return 1;
      case '$':
        this.#append('$', at);
        if (this.#word !== undefined) this.#word.isExpanded = true;
        if (text[index + 1] !== '{') return 1;
        this.#append('{', at + 1);
        this.#braces = 1;
        return 2;
      case '#':
        if (this.#word === undefined) this.#isComment = true;
        else this.#append('#', at);
        return 1;
      case '\n':
        this.#endWord(at);
        this.#separate('\n', at);
        if (this.#documents.length > 0) this.#inDocument = true;
        return 1;
      case ';':
      case '&':
      case '|':
        return this.#readOperator(character, text[index + 1] ?? '', at);
      case '(':
      case ')':
        this.#endWord(at);
        this.#bracket(character, at);
        return 1;
      case '<':
      case '>':
        return this.#readRedirection(text, index, at);
      default:
        if (BLANK.test(character)) this.#endWord(at);
        else {
          this.#append(character, at);
          if ((character === '*' || character === '?' || character === '[') && this.#word !== undefined) {
            this.#word.isExpanded = true;
          }
        }
        return 1;
    }
  }

  #readQuoted(character: string, text: string, index: number, at: number): number {
    if (character === this.#quote) this.#quote = '';
    else if (character === '\\' && this.#quote !== "'" && index + 1 < text.length) {
      this.#append(text[index + 1] ?? '', at);
      return 2;
    } else {
      this.#append(character, at);
      if ((character === '$' || character === '`') && this.#quote !== "'" && this.#word !== undefined) {
        this.#word.isExpanded = true;
      }
    }
    return 1;
  }

  #readOperator(character: string, next: string, at: number): number {
    // `2>&1`, `>|file` and `&>file` are redirections.
    if (character !== ';' && this.#isRedirected && this.#word === undefined) return 1;
    if (character === '&' && next === '>') {
      this.#endWord(at);
      this.#isRedirected = true;
      return 2;
    }
    this.#endWord(at);
    const isDouble = next === character;
    this.#separate(isDouble ? character + character : character, at);
    return isDouble ? 2 : 1;
  }

  #readRedirection(text: string, index: number, at: number): number {
    // The number of a descriptor belongs to it.
    if (this.#word !== undefined && DIGITS.test(this.#word.text.join('')) && !this.#word.isQuoted)
      this.#word = undefined;
    this.#endWord(at);
    this.#begin(at);
    this.#isRedirected = true;
    if (text[index] !== '<' || text[index + 1] !== '<') return text[index + 1] === '>' ? 2 : 1;
    if (text[index + 2] === '<') return 3;
    const isArithmetic = this.#expected.at(-1) === ')' && this.#expected.at(-2) === ')';
    if (isArithmetic) return 2;
    this.#wantsDelimiter = text[index + 2] === '-' ? 'tabs' : 'plain';
    return this.#wantsDelimiter === 'tabs' ? 3 : 2;
  }

  #append(characters: string, at: number, isQuoted = false): void {
    this.#word ??= { text: [], start: at, isExpanded: false, isQuoted: false };
    this.#word.text.push(characters);
    if (isQuoted) this.#word.isQuoted = true;
  }

  #begin(at: number): Draft {
    this.#draft ??= { words: [], redirections: [], start: at, before: this.#separator };
    return this.#draft;
  }

  #endWord(at: number): void {
    const word = this.#word;
    if (word === undefined) return;
    this.#word = undefined;
    const text = word.text.join('');
    if (this.#wantsDelimiter !== 'no') {
      this.#documents.push({ end: text, tabs: this.#wantsDelimiter === 'tabs' });
      this.#wantsDelimiter = 'no';
    }
    const found: ShellWord = { text, start: word.start, end: at, isExpanded: word.isExpanded };
    if (this.#isRedirected) {
      this.#isRedirected = false;
      this.#begin(word.start).redirections.push(found);
      return;
    }
    if (this.#isCommand && !word.isQuoted && this.#reserved(text, at)) return;
    this.#begin(word.start).words.push(found);
    this.#isCommand = false;
  }

  /** Whether a word in the place of a command is one of the shell's own. */
  #reserved(text: string, at: number): boolean {
    const closing = CLOSING[text];
    const closes = CLOSERS.has(text) && this.#expected.at(-1) === text;
    if (closing === undefined && !closes && !BEGINNERS.has(text) && text !== 'function') return false;
    if (closing !== undefined) this.#expected.push(closing);
    if (closes) this.#expected.pop();
    this.#separate(text, at);
    // `case x in` and `for x in …` have words first.
    this.#isCommand = !['case', 'for', 'select', 'function'].includes(text);
    return true;
  }

  #bracket(character: string, at: number): void {
    const draft = this.#draft;
    const [name, more] = draft?.words ?? [];
    if (character === '(') {
      const isFunction = name !== undefined && more === undefined && !name.isExpanded;
      if (isFunction && /^[A-Za-z_][\w.-]*$/.test(name.text)) this.functions.add(name.text);
      this.#expected.push(')');
    } else if (this.#expected.at(-1) === ')') this.#expected.pop();
    this.#separate(character, at);
  }

  #separate(separator: string, at: number): void {
    const draft = this.#draft;
    this.#draft = undefined;
    this.#isRedirected = false;
    if (draft !== undefined) {
      if (draft.before === 'function' && draft.words[0] !== undefined) this.functions.add(draft.words[0].text);
      this.commands.push({ ...draft, end: at, after: separator, depth: this.#expected.length });
      // Blank lines do not end a list.
    } else if (separator === '\n' && ['&&', '||', '|'].includes(this.#separator)) return;
    this.#separator = separator;
    this.#isCommand = true;
  }

  /** All simple commands, the last one included. */
  end(): readonly SimpleCommand[] {
    if (this.#quote === '' && this.#braces === 0) this.#endWord(this.#offset);
    this.#separate('', this.#offset);
    return this.commands;
  }
}

/** The simple commands of a text. */
export function commandsIn(text: string): readonly SimpleCommand[] {
  const scanner = new ShellScanner();
  scanner.feed(text);
  return scanner.end();
}
