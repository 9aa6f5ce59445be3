import type { KubeadmPod } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { candidates } from './candidates.ts';
import { CATALOGUE, type CatalogueEntry, NOISE } from './catalogue.ts';
import { bestOf, inOrder } from './chain.ts';
import { endings } from './endings.ts';
import type { Finding } from './finding.ts';
import { type KubeadmRun, readKubeadmRun } from './kubeadm-run.ts';
import { cleanLine, type ObservedLine } from './observed-line.ts';
import { isOfAnother } from './static-pods.ts';

export type { Finding } from './finding.ts';
export { cleanLine, type ObservedLine } from './observed-line.ts';

/** What the evidence says: the best finding, and the best finding of every other entry, best first. */
export interface Classification {
  readonly best: Finding | undefined;
  readonly others: readonly Finding[];
  readonly run: KubeadmRun;
  /** The last error of each component that ended, first in the chain first. */
  readonly endings: readonly ObservedLine[];
}

/** All that was found, the best one first. */
export function findingsOf({ best, others }: Classification): readonly Finding[] {
  return best === undefined ? others : [best, ...others];
}

/** What kubeadm, or a component, will try again by itself is a hint, and no more than that. */
const RETRYING = /Retrying due to error|will try again|retrying of unary invoker failed|\[WARNING [\w-]+\]/;
const HIGHEST_HINT = 40;
/** What kubeadm said in an earlier attempt explains little about the last one. */
const HIGHEST_OF_EARLIER_ATTEMPT = 10;

/**
 * Names the cause in what was observed, whatever its order: every entry is tried on every line, and the earliest place of
 * the chain with a cause or an ending wins (`chain.ts`). Where a line names a cause, an entry that only names its area adds
 * nothing and is left out. A symptom wins only where no cause was found; warnings and noise never do. What only hints
 * (a retry, an earlier attempt, a process that was started again and works) is among the others and never the best.
 * @param unhealthy the component of the control plane that the run found not healthy: the ends of those that are healthy
 * again explain nothing
 * @returns `best` is undefined when nothing in the catalogue matches: the caller must not guess a name.
 */
export function classify(lines: readonly ObservedLine[], unhealthy?: KubeadmPod): Classification {
  const observed = lines.map((line) => ({ ...line, text: cleanLine(line.text) }));
  const run = readKubeadmRun(observed);
  const ended = endings(observed).filter(({ text }) => !isOfAnother(text, unhealthy));
  const cleaned = [...observed, ...ended];
  const overcome = overcomeLines(cleaned);
  const conditions = conditionsIn(cleaned);
  const findings = cleaned.flatMap((line, index) => {
    if (line.text === '' || isOfAnother(line.text, unhealthy) || NOISE.some((noise) => noise.pattern.test(line.text)))
      return [];
    const possible = candidates(line.text);
    if (possible?.size === 0) return [];
    const weakness =
      weaknessOf(line, run, run.attempts[index] ?? 0) ?? (overcome.has(index) ? ('overcome' as const) : undefined);
    const proven = conditions.entries.filter((entry) => possible?.has(entry) !== false && proves(entry, line));
    const isExplained = proven.some(({ kind }) => kind === 'cause');
    return proven
      .filter(({ kind }) => kind !== 'generic' || !isExplained)
      .filter(({ onlyWithoutKubeadm }) => onlyWithoutKubeadm !== true || run.phase === '')
      .map((entry): Finding => {
        const weak = weakness ?? (conditions.isOvercome(entry, line, index) ? 'overcome' : undefined);
        return { entry, line, score: scoreOf(entry, weak), ...(weak === undefined ? {} : { weakness: weak }) };
      });
  });
  const best = bestOf(findings, run);
  const told = new Set(best === undefined ? [] : [best.entry.id]);
  const others = inOrder(findings).filter(({ entry }) => !told.has(entry.id) && told.add(entry.id));
  return { best, others, run, endings: ended };
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

function proves(entry: CatalogueEntry, line: ObservedLine): boolean {
  return (entry.only !== true || line.source === entry.source) && entry.pattern.test(line.text);
}

/** What entries ask of the rest of the log, found out once: a log may have a million lines. */
interface Conditions {
  /** The entries that may be named: no warnings, and confirmed where they need it. */
  readonly entries: readonly CatalogueEntry[];
  /** Whether a later line of the same log shows that what failed went well in the end. */
  isOvercome(entry: CatalogueEntry, line: ObservedLine, index: number): boolean;
}

function conditionsIn(all: readonly ObservedLine[]): Conditions {
  const confirmed = ({ confirmedBy }: CatalogueEntry): boolean =>
    confirmedBy === undefined ||
    confirmedBy.some(({ source, pattern }) => all.some((line) => line.source === source && pattern.test(line.text)));
  const entries = CATALOGUE.filter((entry) => entry.kind !== 'warning' && confirmed(entry));
  const last = new Map<RegExp, ReadonlyMap<string, number>>();
  for (const { overcomeBy } of entries) {
    if (overcomeBy === undefined || last.has(overcomeBy)) continue;
    const found = new Map<string, number>();
    for (const [index, { origin, text }] of all.entries()) if (overcomeBy.test(text)) found.set(origin, index);
    last.set(overcomeBy, found);
  }
  return {
    entries,
    // The order of lines of several files says nothing.
    isOvercome: ({ overcomeBy }, { origin }, index) =>
      overcomeBy !== undefined && index < (last.get(overcomeBy)?.get(origin) ?? -1),
  };
}

/** A kubelet that is stopped, or crash-loops for want of a configuration, explains nothing before kubeadm came to it. */
function runsUnderKubelet({ source, text }: ObservedLine): boolean {
  if (source === 'unit') return text.startsWith('kubelet');
  if (source === 'end') return !text.startsWith('containerd');
  return source === 'kubelet' || source === 'container';
}

/** How a process of a service begins, and how it shows that it works: k/k pkg/kubelet/kubelet.go, containerd cmd/containerd. */
const SERVICES = [
  { source: 'kubelet', starts: /"Kubelet version"/, works: /kubelet\.go:\d+\] "?Starting kubelet main sync loop/ },
  { source: 'containerd', starts: /msg="starting containerd/, works: /containerd successfully booted/ },
] as const;

/** The last that a kubelet says (klog's F, from 1.24 on component-base cli/run.go). */
const FATAL = /^F\d{4} |"command failed"/;

/**
 * The numbers of the lines that explain nothing, as a later process of the same service works: all that containerd said
 * before it was started again, and the errors with which earlier kubelets ended.
 */
function overcomeLines(lines: readonly ObservedLine[]): ReadonlySet<number> {
  const overcome = new Set<number>();
  for (const { source, starts, works } of SERVICES) {
    let begun = 0;
    let end = 0;
    for (const [index, line] of lines.entries()) {
      if (line.source !== source) continue;
      if (starts.test(line.text)) begun = index;
      if (works.test(line.text)) end = source === 'kubelet' ? index : begun;
    }
    for (const [index, line] of lines.slice(0, end).entries()) {
      if (line.source === source && (source !== 'kubelet' || FATAL.test(line.text))) overcome.add(index);
    }
  }
  return overcome;
}
