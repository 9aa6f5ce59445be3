import type { LineSource } from './catalogue.ts';

/** One line that was observed on the machine, as it was read. */
export interface ObservedLine {
  readonly source: LineSource;
  /** For people: `journal of kubelet`, `log of container etcd`. */
  readonly origin: string;
  readonly text: string;
  /** The line as evidence shows it, where `text` was derived from it. */
  readonly original?: string;
  /** Its number in the file or stream it was read from, counted from 1. */
  readonly line?: number;
}

/** The prefix of `journalctl -o short`, `-o short-precise`, `-o short-iso` and of syslog files. */
export const JOURNAL_PREFIX =
  /^(?:[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}(?:\.\d+)?|\d{4}-\d{2}-\d{2}T[\d:.,]+(?:Z|[+-]\d{2}:?\d{2})?) \S+ ([^\s[:]+)(?:\[\d+\])?: /;

/** The prefix of a container's log (k/k pkg/kubelet/kuberuntime/logs): `<RFC 3339> stdout|stderr F|P `. */
export const CRI_PREFIX = /^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2}) (?:stdout|stderr) [FP] ?/;

/** What the kernel's console, and cloud-init on it, put before a line: `[   12.345678] cloud-init[812]: `. */
export const CONSOLE_PREFIX = /^\[ *\d+\.\d+\] (?:([^\s[:]+)\[\d+\]: )?/;

/** A time of day that some wrapper put before each line: `2026-11-20 10:00:00,123 - `, `[2026-11-20T10:00:00Z] `. */
const TIME_PREFIX =
  /^(?:\[\d{4}-\d{2}-\d{2}[T ][\d:.,]+(?:Z|[+-]\d{2}:?\d{2})?\] |\d{4}-\d{2}-\d{2}[T ][\d:.,]+(?:Z|[+-]\d{2}:?\d{2})?(?: - | (?=[[A-Z])))/;

/** Longer lines are cut, so that a hostile log cannot cost the classifier its time. */
export const LONGEST_LINE = 16_384;

/** Carriers that wrap carriers: a console that shows a journal that holds a container's line. */
const MOST_CARRIERS = 3;

/**
 * A line without what its carriers put around it: colours, carriage returns, the prefix of a journal, a console, a
 * container's log or a wrapper's clock, indentation.
 */
export function cleanLine(text: string): string {
  let line = withoutControls(text).trim();
  for (let carrier = 0; carrier < MOST_CARRIERS; carrier += 1) {
    const bare = line
      .replace(CONSOLE_PREFIX, '')
      .replace(CRI_PREFIX, '')
      .replace(JOURNAL_PREFIX, '')
      .replace(TIME_PREFIX, '')
      .trim();
    if (bare === line) break;
    line = bare;
  }
  return line;
}

/** A line without colours, cursor movements and carriage returns, cut at 16 KiB. */
export function withoutControls(text: string): string {
  return text.slice(0, LONGEST_LINE).replace(ESCAPES, '').replaceAll('\r', '').replaceAll('\0', '');
}

/** ESC, built from its number: a control character must not stand in a source file. ECMA-48 5.4 (CSI), and OSC titles. */
const ESCAPE = String.fromCharCode(27);
const ESCAPES = new RegExp(
  `${ESCAPE}(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^${String.fromCharCode(7)}]{0,200}\\x07|[()][A-Z0-9])`,
  'g',
);
