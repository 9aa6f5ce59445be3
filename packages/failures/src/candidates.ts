import { Automaton } from '@machineadm/document/redaction/automaton.ts';
import { CATALOGUE, type CatalogueEntry } from './catalogue.ts';
import { RUN_TEXTS } from './kubeadm-run.ts';
import { requiredLiterals } from './required-literals.ts';

/** Normal log lines of a live kubelet: a temporary failure, a Node without kubeadm's output. */
const KUBELET_LIVES: readonly string[] = ['Starting kubelet main sync loop', 'Successfully registered node'];

/** All texts that make a line relevant, and the entries that it may prove. */
interface Index {
  readonly automaton: Automaton;
  readonly entries: ReadonlyMap<string, readonly CatalogueEntry[]>;
  /** Entries without a required text. */
  readonly always: readonly CatalogueEntry[];
  /** Texts that end with another one: only the longest that ends at a position is found. */
  readonly endings: ReadonlyMap<string, readonly string[]>;
}

let built: Index | undefined;

function index(): Index {
  built ??= build();
  return built;
}

function build(): Index {
  const entries = new Map<string, CatalogueEntry[]>();
  const always: CatalogueEntry[] = [];
  const texts = new Set<string>([...RUN_TEXTS, ...KUBELET_LIVES]);
  for (const entry of CATALOGUE) {
    const literals = requiredLiterals(entry.pattern);
    if (literals === undefined) always.push(entry);
    for (const text of literals ?? []) entries.set(text, [...(entries.get(text) ?? []), entry]);
    const others = [entry.overcomeBy, ...(entry.confirmedBy ?? []).map(({ pattern }) => pattern)];
    for (const pattern of others) for (const text of (pattern && requiredLiterals(pattern)) ?? []) texts.add(text);
  }
  for (const text of entries.keys()) texts.add(text);
  const all = [...texts];
  const endings = new Map(all.map((text) => [text, all.filter((other) => text.endsWith(other))]));
  return { automaton: new Automaton(all.map((text) => Buffer.from(text, 'latin1'))), entries, always, endings };
}

/** The set of texts in a line, as a key. '' without any. */
export function tellingKey(line: Uint8Array): string {
  let key = '';
  let last = 0;
  let count = 0;
  const { automaton } = index();
  let node = 0;
  for (let at = 0; at < line.length; at++) {
    node = automaton.next(node, line[at] ?? 0);
    if (node === 0 || automaton.lengthAt(node) === 0 || node === last || count >= MOST_TEXTS) continue;
    last = node;
    count++;
    key = key === '' ? `${node}` : `${key} ${node}`;
  }
  return key;
}

export function tellingTexts(line: Uint8Array): ReadonlySet<string> {
  const { automaton, endings } = index();
  const found = new Set<string>();
  automaton.scan(line, (start, end) => {
    if (found.size >= MOST_TEXTS) return;
    for (const text of endings.get(Buffer.from(line.subarray(start, end)).toString('latin1')) ?? []) found.add(text);
  });
  return found;
}

/** Longer lines are not log lines: all entries are tried. */
const MOST_TEXTS = 64;

/** The entries that a line may prove; undefined for all of them. */
export function candidates(line: string): ReadonlySet<CatalogueEntry> | undefined {
  const { entries, always } = index();
  const texts = tellingTexts(Buffer.from(line, 'latin1'));
  if (texts.size >= MOST_TEXTS) return undefined;
  return new Set([...always, ...[...texts].flatMap((text) => entries.get(text) ?? [])]);
}
