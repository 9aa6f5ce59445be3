/**
 * Text without terminal control: output of a program or a file must not clear the screen, set the window title, produce
 * input, or display other text than it contains. Lines and tabs are kept. ECMA-48: CSI (5.4), OSC and other strings
 * (5.6), two-byte escapes; Unicode's direction marks (UAX 9), as abused by CVE-2021-42574.
 */
export function printable(text: string): string {
  return text.replace(CONTROL_SEQUENCES, '').replace(HIDDEN, '');
}

/** The same on one line. */
export function oneLine(text: string): string {
  return printable(text.replace(CONTROL_SEQUENCES, '').replace(/\s+/g, ' '));
}

/** Every text of a value on one line, for a function that formats many fields of it. */
export function oneLineDeep<Value>(value: Value): Value {
  return mapTexts(value, oneLine) as Value;
}

/** JSON without a character that controls a terminal or changes the direction of its text. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(
    HIDDEN,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Text with our own colours: all other control characters are removed. */
export function printablePainted(text: string): string {
  return text
    .split(OUR_COLORS)
    .map((part, index) => (index % 2 === 0 ? printable(part) : part))
    .join('');
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map));
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapTexts(item, map)]));
}

/** The lines of a program's output that are not blank. */
export function textLines(...outputs: readonly string[]): readonly string[] {
  return outputs.flatMap((output) => output.split(/\r?\n/)).filter((line) => line.trim() !== '');
}

/** The last line of a program's output, which usually says why it failed. */
export function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}

const ESC = String.fromCharCode(0x1b);
const BEL = String.fromCharCode(0x07);
const CSI = String.fromCharCode(0x9b);
const HIDDEN = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/** Those that `paint` of the status and of the command line set and end (ECMA-48 8.3.117). */
const OUR_COLORS = new RegExp(`(${ESC}\\[(?:0|1|2|4|22|24|3[0-79])m)`);
const CONTROL_SEQUENCES = new RegExp(
  `(?:${ESC}\\[|${CSI})[0-?]{0,64}[ -/]{0,8}[@-~]|${ESC}[\\]PX^_][^${ESC}${BEL}]{0,4096}(?:${BEL}|${ESC}\\\\|$)|${ESC}[ -/]{0,8}[0-~]?`,
  'g',
);
