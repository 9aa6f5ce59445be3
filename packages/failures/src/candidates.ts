import { CATALOGUE, type CatalogueEntry } from './catalogue.ts';
import { ENDING_TEXTS } from './endings.ts';
import { RUN_TEXTS } from './kubeadm-run.ts';
import { Needles } from './needles.ts';
import { requiredLiterals } from './required-literals.ts';

/** All texts that make a line relevant, and the entries that it may prove. */
interface Index {
  readonly texts: readonly string[];
  readonly needles: Needles;
  /** The longest part of each text that JSON does not escape. */
  readonly plainNeedles: Needles;
  /** The entries that a line with a text may prove, by the number of the text. */
  readonly entries: readonly (readonly CatalogueEntry[])[];
  /** Entries without a required text. */
  readonly always: readonly CatalogueEntry[];
}

let built: Index | undefined;

function index(): Index {
  built ??= build();
  return built;
}

function build(): Index {
  const entries = new Map<string, CatalogueEntry[]>();
  const always: CatalogueEntry[] = [];
  const others = new Set<string>([...RUN_TEXTS, ...ENDING_TEXTS]);
  for (const entry of CATALOGUE) {
    const literals = requiredLiterals(entry.pattern);
    if (literals === undefined) always.push(entry);
    for (const text of literals ?? []) entries.set(text, [...(entries.get(text) ?? []), entry]);
    const conditions = [entry.overcomeBy, ...(entry.confirmedBy ?? []).map(({ pattern }) => pattern)];
    for (const pattern of conditions) for (const text of (pattern && requiredLiterals(pattern)) ?? []) others.add(text);
  }
  const texts = [...new Set([...entries.keys(), ...others])];
  return {
    texts,
    needles: needlesOf(texts),
    plainNeedles: needlesOf(texts.map(longestPlainPart)),
    entries: texts.map((text) => entries.get(text) ?? []),
    always,
  };
}

function needlesOf(texts: readonly string[]): Needles {
  return new Needles(texts.map((text) => Buffer.from(text, 'latin1')));
}

/** Encoders of JSON escape quotes, backslashes and controls, and Go's also `<`, `>` and `&`. */
function longestPlainPart(text: string): string {
  const parts = text.split(/[^ !#-%'-;=?-[\]-~]/);
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest), '');
}

/** Longer lines are not log lines: all entries are tried. */
const MOST_TEXTS = 64;

/** The set of texts in a line, as a key. '' without any. */
export function tellingKey(line: Uint8Array): string {
  let key = '';
  let count = 0;
  index().needles.scan(line, (id) => {
    if (count < MOST_TEXTS) key = key === '' ? `${id}` : `${key} ${id}`;
    count++;
  });
  return key;
}

/** Whether a line of JSON may hold a text, or holds its message in a form that does not show it. */
export function mayTell(line: Uint8Array): boolean {
  let found = false;
  index().plainNeedles.scan(line, () => {
    found = true;
  });
  return found || Buffer.from(line.buffer, line.byteOffset, line.byteLength).includes('"MESSAGE":[');
}

export function tellingTexts(line: Uint8Array): ReadonlySet<string> {
  const { needles, texts } = index();
  const found = new Set<string>();
  needles.scan(line, (id) => {
    if (found.size < MOST_TEXTS) found.add(texts[id] ?? '');
  });
  return found;
}

/** The entries that a line may prove; undefined for all of them. */
export function candidates(line: string): ReadonlySet<CatalogueEntry> | undefined {
  const { needles, entries, always } = index();
  const found = new Set<number>();
  needles.scan(Buffer.from(line, 'latin1'), (id) => found.add(id));
  if (found.size >= MOST_TEXTS) return undefined;
  return new Set([...always, ...[...found].flatMap((id) => entries[id] ?? [])]);
}
