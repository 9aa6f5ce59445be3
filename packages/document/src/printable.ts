/**
 * Text without terminal control: output of a program or a file must not clear the screen, set the window title, produce
 * input, or display other text than it contains. Lines and tabs are kept. ECMA-48: CSI (5.4), OSC and other strings
 * (5.6), two-byte escapes; Unicode's direction marks (UAX 9), as abused by CVE-2021-42574.
 */
export function printable(text: string): string {
  return text
    .replace(CONTROL_SEQUENCES, '')
    .replace(/(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '');
}

/** The same on one line. */
export function oneLine(text: string): string {
  return printable(text.replace(CONTROL_SEQUENCES, '').replace(/\s+/g, ' '));
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
const CONTROL_SEQUENCES = new RegExp(
  `(?:${ESC}\\[|${CSI})[0-?]{0,64}[ -/]{0,8}[@-~]|${ESC}[\\]PX^_][^${ESC}${BEL}]{0,4096}(?:${BEL}|${ESC}\\\\|$)|${ESC}[ -/]{0,8}[0-~]?`,
  'g',
);
