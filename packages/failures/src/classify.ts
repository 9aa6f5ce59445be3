import { candidates } from './candidates.ts';
import { CATALOGUE, type CatalogueEntry, NOISE } from './catalogue.ts';
import { type KubeadmRun, readKubeadmRun } from './kubeadm-run.ts';
import { cleanLine, type ObservedLine } from './observed-line.ts';

export { cleanLine, type ObservedLine } from './observed-line.ts';

/** An entry of the catalogue that a line proves. */
export interface Finding {
  readonly entry: CatalogueEntry;
  readonly line: ObservedLine;
  readonly score: number;
  /** Why it proves less than it says; undefined = it stands as it is. */
  readonly weakness?: 'retried' | 'earlier attempt' | 'before the kubelet had a part' | 'overcome';
}

/** What the evidence says: the best finding, and the best finding of every other entry, best first. */
export interface Classification {
  readonly best: Finding | undefined;
  readonly others: readonly Finding[];
  readonly run: KubeadmRun;
}

/** What kubeadm, or a component, will try again by itself is a hint, and no more than that. */
const RETRYING = /Retrying due to error|will try again|retrying of unary invoker failed|\[WARNING [\w-]+\]/;
const HIGHEST_HINT = 40;
/** The last that a kubelet says (klog's F, from 1.24 on component-base cli/run.go); one that comes up later got over it. */
const FATAL = /^F\d{4} |"command failed"/;
const CAME_UP = /kubelet\.go:\d+\] "?Starting kubelet main sync loop/;
/** What kubeadm said in an earlier attempt explains little about the last one. */
const HIGHEST_OF_EARLIER_ATTEMPT = 10;

/**
 * Names the cause in what was observed, whatever its order: every entry is tried on every line, priority decides, the
 * earlier line on a tie. Where a line names a cause, an entry that only names its area adds nothing and is left out. A symptom wins only where no cause was found; warnings and noise never do. What only hints
 * (a retry, an earlier attempt, a kubelet that had no part) is among the others and never the best.
 * @returns `best` is undefined when nothing in the catalogue matches: the caller must not guess a name.
 */
export function classify(lines: readonly ObservedLine[]): Classification {
  const cleaned = lines.map((line) => ({ ...line, text: cleanLine(line.text) }));
  const run = readKubeadmRun(cleaned);
  const cameUp = cleaned.findLastIndex(({ source, text }) => source === 'kubelet' && CAME_UP.test(text));
  const conditions = conditionsIn(cleaned);
  const findings = cleaned.flatMap((line, index) => {
    if (line.text === '' || NOISE.some((noise) => noise.pattern.test(line.text))) return [];
    const possible = candidates(line.text);
    if (possible?.size === 0) return [];
    const weakness =
      weaknessOf(line, run, run.attempts[index] ?? 0) ??
      (index < cameUp && line.source === 'kubelet' && FATAL.test(line.text) ? 'overcome' : undefined);
    const proven = conditions.entries.filter((entry) => possible?.has(entry) !== false && proves(entry, line));
    const isExplained = proven.some(({ kind }) => kind === 'cause');
    return proven
      .filter(({ kind }) => kind !== 'generic' || !isExplained)
      .map((entry): Finding => {
        const weak = weakness ?? (index < (conditions.overcomeUntil.get(entry) ?? -1) ? 'overcome' : undefined);
        return { entry, line, score: scoreOf(entry, weak), ...(weak === undefined ? {} : { weakness: weak }) };
      });
  });
  const ranked = findings.sort((a, b) => b.score - a.score);
  const best = ranked.find((finding) => names(finding, run));
  const told = new Set(best === undefined ? [] : [best.entry.id]);
  const others = ranked.filter(({ entry }) => !told.has(entry.id) && told.add(entry.id));
  return { best, others, run };
}

function weaknessOf(line: ObservedLine, run: KubeadmRun, attempt: number): Finding['weakness'] {
  if (line.source === 'kubeadm' && attempt < run.lastAttempt) return 'earlier attempt';
  if (!run.reachedKubelet && runsUnderKubelet(line)) return 'before the kubelet had a part';
  return RETRYING.test(line.text) ? 'retried' : undefined;
}

function scoreOf(entry: CatalogueEntry, weakness: Finding['weakness']): number {
  if (weakness === undefined) return entry.priority;
  return Math.min(entry.priority, weakness === 'earlier attempt' ? HIGHEST_OF_EARLIER_ATTEMPT : HIGHEST_HINT);
}

/** A retry names the cause only where kubeadm was ended while it still tried: there are no last words then. */
function names({ weakness }: Finding, run: KubeadmRun): boolean {
  return weakness === undefined || (weakness === 'retried' && run.ending !== 'failed');
}

function proves(entry: CatalogueEntry, line: ObservedLine): boolean {
  return (entry.only !== true || line.source === entry.source) && entry.pattern.test(line.text);
}

/** What entries ask of the rest of the log, found out once: a log may have a million lines. */
interface Conditions {
  /** The entries that may be named: no warnings, and confirmed where they need it. */
  readonly entries: readonly CatalogueEntry[];
  /** Up to which line an entry was overcome: tried again, and went well. */
  readonly overcomeUntil: ReadonlyMap<CatalogueEntry, number>;
}

function conditionsIn(all: readonly ObservedLine[]): Conditions {
  const confirmed = ({ confirmedBy }: CatalogueEntry): boolean =>
    confirmedBy === undefined ||
    confirmedBy.some(({ source, pattern }) => all.some((line) => line.source === source && pattern.test(line.text)));
  const entries = CATALOGUE.filter((entry) => entry.kind !== 'warning' && confirmed(entry));
  const overcomeUntil = new Map<CatalogueEntry, number>();
  for (const entry of entries) {
    const { overcomeBy } = entry;
    if (overcomeBy !== undefined)
      overcomeUntil.set(
        entry,
        all.findLastIndex((line) => overcomeBy.test(line.text)),
      );
  }
  return { entries, overcomeUntil };
}

/** A kubelet that is stopped, or crash-loops for want of a configuration, explains nothing before kubeadm came to it. */
function runsUnderKubelet({ source, text }: ObservedLine): boolean {
  return source === 'kubelet' || source === 'container' || (source === 'unit' && text.startsWith('kubelet'));
}
