import { mayTell, tellingKey, tellingTexts } from './candidates.ts';
import { LONGEST_LINE, type ObservedLine } from './observed-line.ts';
import { observedLines, type Section, sectionAfter, sectionOfFile } from './saved-log.ts';

/** A line as it was read, and where. */
interface RawLine {
  readonly bytes: Uint8Array;
  readonly number: number;
  readonly section: Section;
  /** Its bytes are a copy, and no part of a piece. */
  readonly isOwn?: true;
}

/** Lines that hold the same texts say the same: the first and the last of them tell it all. */
const MOST_ALIKE = 10;
const MOST_KINDS = 1000;
/** Lines that hold none: the first of each section, and the last of all, which show who speaks and what was said last. */
const MOST_FIRST = 20;
const MOST_LAST = 200;
/** What follows kubeadm's error line is part of it. */
const MOST_AFTER_ERROR = 12;
/** Before the line of systemd that says how a process exited. */
const MOST_BEFORE_EXIT = 4;
const MOST_EXITS = 60;
const MOST_BYTES = 3 * 1024 * 1024;

const NEWLINE = 10;
const BRACE = 0x7b;
const DASH = 0x2d;
/** Colours, and the zeros of UTF-16, may split a text. */
const CONTROLS = [0x1b, 0];

/**
 * The lines of a log of any length that can tell why a bootstrap failed, in memory that does not grow with it. What is left
 * out holds none of the catalogue's texts, or the same ones as lines that are kept.
 */
export class TellingLines {
  #section: Section;
  #number = 0;
  /** The beginning of a line whose end has not been read. */
  #rest: Uint8Array = new Uint8Array();
  #bytes = 0;
  readonly #kinds = new Map<string, Kind>();
  readonly #first = new Map<string, RawLine[]>();
  readonly #last = new Ring(MOST_LAST);
  #afterError: RawLine[] | undefined;
  /** The last lines, as the error with which a process ends may hold no text of the catalogue. */
  readonly #exits = new Ring(MOST_EXITS);
  readonly #before = new Ring(MOST_BEFORE_EXIT);

  constructor(fileName: string) {
    this.#section = sectionOfFile(fileName);
  }

  add(chunk: Uint8Array): void {
    const hasControls = CONTROLS.some((control) => chunk.includes(control) || this.#rest.includes(control));
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#line(this.#joined(chunk.subarray(start, end)), hasControls);
      this.#rest = new Uint8Array();
      start = end + 1;
    }
    this.#last.own();
    this.#before.own();
    this.#rest = new Uint8Array(this.#joined(chunk.subarray(start)).subarray(0, LONGEST_LINE));
  }

  /** The lines kept, in their order. */
  lines(): readonly ObservedLine[] {
    if (this.#rest.length > 0) this.#line(this.#rest, true);
    this.#rest = new Uint8Array();
    const kept = new Map<number, RawLine>();
    const keep = (lines: Iterable<RawLine>): void => {
      for (const line of lines) kept.set(line.number, line);
    };
    for (const lines of this.#first.values()) keep(lines);
    for (const { first, last } of this.#kinds.values()) keep([...first, ...last.lines()]);
    keep(this.#last.lines());
    keep(this.#exits.lines());
    keep(this.#afterError ?? []);
    const decoder = new TextDecoder();
    return [...kept.values()]
      .sort((a, b) => a.number - b.number)
      .flatMap(({ bytes, number, section }) => observedLines(decoder.decode(bytes), number, section));
  }

  #joined(end: Uint8Array): Uint8Array {
    return this.#rest.length === 0 ? end : Buffer.concat([this.#rest, end.subarray(0, LONGEST_LINE)]);
  }

  #line(whole: Uint8Array, hasControls: boolean): void {
    this.#number++;
    const bytes = whole.subarray(0, LONGEST_LINE);
    if (bytes[0] === DASH) this.#section = sectionAfter(Buffer.from(bytes).toString(), this.#section);
    const isCoded = hasControls && CONTROLS.some((control) => bytes.includes(control));
    const isJson = bytes[0] === BRACE;
    const text = isCoded || (isJson && mayTell(bytes)) ? this.#unwrapped(bytes) : bytes;
    const key = isJson && text === bytes ? '' : tellingKey(text);
    if (key === '') this.#keepPlain(bytes);
    else this.#keepTelling(bytes, key, text);
  }

  /** The text of a line whose bytes do not show it: of an entry in JSON, or with colours in it. */
  #unwrapped(bytes: Uint8Array): Uint8Array {
    const lines = observedLines(new TextDecoder().decode(bytes), 0, this.#section);
    return Buffer.from(lines.map(({ text }) => text).join('\n'), 'latin1');
  }

  #keepTelling(bytes: Uint8Array, key: string, text: Uint8Array): void {
    let kind = this.#kinds.get(key);
    if (kind === undefined) {
      if (this.#kinds.size >= MOST_KINDS || this.#bytes > MOST_BYTES) {
        this.#keepPlain(bytes);
        return;
      }
      const texts = tellingTexts(text);
      const isError = ERRORS.some((error) => texts.has(error));
      kind = { first: [], last: new Ring(MOST_ALIKE), isError, isExit: texts.has(EXIT) };
      this.#kinds.set(key, kind);
    }
    const line = this.#raw(bytes);
    if (kind.isExit) for (const before of this.#before.lines()) this.#exits.push(copied(before));
    if (kind.isError) this.#afterError = [];
    else this.#follow(line);
    if (kind.first.length < MOST_ALIKE && this.#bytes <= MOST_BYTES) {
      kind.first.push(line);
      this.#bytes += line.bytes.length;
    } else this.#bytes += line.bytes.length - kind.last.push(line, this.#bytes > MOST_BYTES);
  }

  #keepPlain(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const { origin } = this.#section;
    const first = this.#first.get(origin) ?? [];
    if (first.length === 0 && this.#first.size < MOST_KINDS) this.#first.set(origin, first);
    if (first.length < MOST_FIRST && this.#bytes <= MOST_BYTES) {
      first.push(this.#raw(bytes));
      this.#bytes += bytes.length;
    }
    if (this.#afterError !== undefined && this.#afterError.length < MOST_AFTER_ERROR) this.#follow(this.#raw(bytes));
    // Most of these lines are soon replaced: the few that stay are copied when the piece ends.
    const line = { bytes, number: this.#number, section: this.#section };
    this.#last.push(line);
    this.#before.push(line);
  }

  #follow(line: RawLine): void {
    if (this.#afterError !== undefined && this.#afterError.length < MOST_AFTER_ERROR) this.#afterError.push(line);
  }

  #raw(bytes: Uint8Array): RawLine {
    return { bytes: new Uint8Array(bytes), number: this.#number, section: this.#section, isOwn: true };
  }
}

interface Kind {
  readonly first: RawLine[];
  readonly last: Ring;
  /** kubeadm's error: what follows is part of it. */
  readonly isError: boolean;
  /** The end of a process: what it logged before is the cause. */
  readonly isExit: boolean;
}

const ERRORS = ['error: ', 'error execution phase '];
const EXIT = ': Main process exited, ';

function copied(line: RawLine): RawLine {
  return line.isOwn === true ? line : { ...line, bytes: new Uint8Array(line.bytes), isOwn: true };
}

/** The last so many lines. */
class Ring {
  readonly #most: number;
  readonly #lines: RawLine[] = [];
  #next = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds a line in the place of the oldest; without room to grow also before the ring is full. Returns the bytes freed. */
  push(line: RawLine, mayNotGrow = false): number {
    if (this.#lines.length < this.#most && !(mayNotGrow && this.#lines.length > 0)) {
      this.#lines.push(line);
      return 0;
    }
    const at = this.#next % this.#lines.length;
    const freed = this.#lines[at]?.bytes.length ?? 0;
    this.#lines[at] = line;
    this.#next = at + 1;
    return freed;
  }

  /** Copies the lines, before the piece that they are part of is read over. */
  own(): void {
    for (const [index, line] of this.#lines.entries()) this.#lines[index] = copied(line);
  }

  lines(): readonly RawLine[] {
    return this.#lines;
  }
}
