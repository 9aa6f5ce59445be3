import { allMatches } from './all-matches.ts';
import { detect } from './detectors.ts';

const WORD = /[A-Za-z0-9_+=~!@#%^*-]{10,}/g;
/** `ubuntu2204` changes once between letters and digits, `node-1a` twice. */
const LEAST_CHANGES = 3;
/** Addresses, versions and names of machines, which a log needs. */
const NAME = /^(?:v?[0-9]+(?:[-_][0-9a-z]+)*|ip(?:-[0-9]+)+|[a-z]+(?:-[a-z0-9]{1,5})+)$/;

/**
 * The probable secrets of a text in which users write secrets: the results of the detectors, and words that mix letters
 * and digits.
 */
export function secretWords(text: string): readonly string[] {
  const found = detect(text).map(({ start, end }) => text.slice(start, end));
  for (const { 0: word, index } of allMatches(text, WORD)) {
    if (isMixed(word) && !isNamed(text, word, index)) found.push(word);
  }
  return found;
}

/** An option, or a part of a path, that consists of ordinary words: its place says what it is. */
function isNamed(text: string, word: string, index: number): boolean {
  const isOption = word.startsWith('--');
  const isInPath = text[index - 1] === '/' && text.startsWith('/');
  return (isOption || isInPath) && /^-{0,2}[a-z]{1,20}(?:[-_][a-z]{1,20}){0,20}$/.test(word);
}

function isMixed(word: string): boolean {
  if (NAME.test(word)) return false;
  const kinds = word
    .replace(/[A-Za-z]+/g, 'a')
    .replace(/[0-9]+/g, '0')
    .replace(/[^a0]+/g, '');
  return kinds.length > LEAST_CHANGES;
}
