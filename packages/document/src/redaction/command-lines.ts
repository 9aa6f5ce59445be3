import { allMatches, eachValue } from './all-matches.ts';
import { mayBeSecret } from './likely-value.ts';
import { GRAMMARS, type Grammar } from './program-options.ts';
import { PAIRS, PLACES } from './word-places.ts';

const PROGRAMS = new Set([...GRAMMARS.keys()].map((name) => /^[^.]+(?:\.(?:exe|local))?/.exec(name)?.[0] ?? name));
const PROGRAM = new RegExp(`(?<![\\w.-])(?:${[...PROGRAMS].join('|').replaceAll('.', '\\.')})(?=["']?[, \\t])`, 'g');
/** A shell's words, or the elements of a JSON array of arguments. */
const WORDS = /"(?:[^"\\\r\n]|\\.){0,4096}"|'[^'\r\n]{0,4096}'|[^\s"']{1,4096}|[\r\n]/g;
const ENDS = /^(?:[\r\n]|[|;&]{1,2})$/;
/** A sentence about a program continues so. */
const FUNCTION_WORD = /^(?:to|the|an?|and|or|for|with|is|was|in|of|on|by|from|failed|command|has|will|can|[|&;]+)$/;
/** So many words after a program belong to it. */
const MOST_WORDS = 64;

/** The secrets in the arguments of known programs. Takes linear time. */
export function commandLines(text: string, found: (start: number, end: number) => void): void {
  eachValue(text, PLACES, (value, end) => {
    if (mayBeSecret(value)) found(end - value.length, end);
  });
  for (const { sign, line, pair } of PAIRS) {
    if (!text.includes(sign)) continue;
    for (const { index, 0: command } of allMatches(text, line)) {
      eachValue(command, [['=', pair]], (value, end) => {
        if (mayBeSecret(value)) found(index + end - value.length, index + end);
      });
    }
  }
  PROGRAM.lastIndex = 0;
  for (let match = PROGRAM.exec(text); match !== null; match = PROGRAM.exec(text)) {
    // A quoted program in a list of arguments, as the kernel's audit writes them: `a0="zip" a1="-P"`.
    const isQuoted = /["']/.test(text[match.index - 1] ?? '') && /["']/.test(text[PROGRAM.lastIndex] ?? '');
    PROGRAM.lastIndex = argumentsOf(text, match.index - (isQuoted ? 1 : 0), found);
  }
}

/** Reports the secrets of one command line, and returns where it ends. */
function argumentsOf(text: string, at: number, found: (start: number, end: number) => void): number {
  WORDS.lastIndex = at;
  let names: string[] = [];
  let waiting: 'secret' | 'user' | undefined;
  /** So many arguments before the secret, with it. */
  let place = 0;
  for (let count = 0; count < MOST_WORDS; count += 1) {
    const match = WORDS.exec(text);
    if (match === null) return text.length;
    if (ENDS.test(match[0])) break;
    const quoted = /^["'](.*)["']$/.exec(match[0])?.[1];
    const word = (quoted ?? match[0]).replace(/^\[|[\],]$/g, '');
    if (word === '' || word === ',' || /^a[0-9]{1,3}=$/.test(word)) continue;
    const start = match.index + match[0].indexOf(word);
    if (waiting !== undefined) {
      report(word, start, waiting, found);
      waiting = undefined;
      continue;
    }
    if (!word.startsWith('-')) {
      const base = word.slice(word.lastIndexOf('/') + 1);
      if (place > 0) {
        place = FUNCTION_WORD.test(word) ? 0 : place - 1;
        if (place === 0) report(word, start, 'secret', found);
      }
      // A program that starts another, as sshpass and sudo do.
      else if (PROGRAMS.has(base) && !names.includes('login')) names = [base];
      else if (names.length === 0) names = [base];
      else if (names.length < 4) names.push(word);
    }
    for (const grammar of grammarsOf(names))
      place = grammar.places?.[PROGRAMS.has(word) ? (names[0] ?? '') : word] ?? place;
    waiting = optionIn(word, start, names, found);
  }
  return Math.max(at + 1, WORDS.lastIndex);
}

function grammarsOf(names: readonly string[]): readonly Grammar[] {
  const [program = '', ...words] = names;
  return [program, ...words.map((word) => `${program}.${word}`)].flatMap((key) => GRAMMARS.get(key) ?? []);
}

/** Reports a value in the option's own word; otherwise says what the next word is. */
function optionIn(
  word: string,
  start: number,
  names: readonly string[],
  found: (start: number, end: number) => void,
): 'secret' | 'user' | undefined {
  const equals = word.indexOf('=');
  const name = equals > 0 ? word.slice(0, equals) : word;
  for (const grammar of grammarsOf(names)) {
    for (const kind of ['secret', 'user'] as const) {
      if (grammar[kind]?.includes(name) !== true) continue;
      if (equals < 0) return kind;
      report(word.slice(equals + 1), start + equals + 1, kind, found);
    }
    for (const option of grammar.attached ?? []) {
      if (word.startsWith(option) && word.length > option.length)
        report(word.slice(option.length), start + option.length, 'secret', found);
    }
    for (const option of grammar.user ?? []) {
      if (option.length === 2 && word.startsWith(option) && word.length > 2)
        report(word.slice(2), start + 2, 'user', found);
    }
  }
  return undefined;
}

function report(
  value: string,
  start: number,
  kind: 'secret' | 'user',
  found: (start: number, end: number) => void,
): void {
  const user = kind === 'user' ? value.search(/[:%]/) : -1;
  if (kind === 'user' && user < 0) return;
  const secret = value.slice(user + 1);
  if (mayBeSecret(secret)) found(start + user + 1, start + value.length);
}
