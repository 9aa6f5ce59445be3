import { CATALOGUE, type CatalogueEntry, type LineSource, NOISE } from './catalogue.ts';

/** One line that was observed on the machine, as it was read. */
export interface ObservedLine {
  readonly source: LineSource;
  /** For people: `journal of kubelet`, `log of container etcd`. */
  readonly origin: string;
  readonly text: string;
}

/** An entry of the catalogue that a line proves. */
export interface Finding {
  readonly entry: CatalogueEntry;
  readonly line: ObservedLine;
  readonly score: number;
}

/** What the evidence says: the best finding, and the best finding of every other entry, best first. */
export interface Classification {
  readonly best: Finding | undefined;
  readonly others: readonly Finding[];
}

/** What kubeadm, or a component, will try again by itself is a hint, and no more than that. */
const RETRYING = /Retrying due to error|will try again|retrying of unary invoker failed|\[WARNING [\w-]+\]/;
const HIGHEST_HINT = 40;
/** What kubeadm said in an earlier attempt explains little about the last one. */
const HIGHEST_OF_EARLIER_ATTEMPT = 10;

/** Longer lines are cut, so that a hostile log cannot cost the classifier its time. */
const LONGEST_LINE = 16_384;

/**
 * Names the cause in what was observed, whatever its order: every entry is tried on every line, priority decides, the
 * earlier line on a tie. A symptom wins only where no cause was found; warnings and noise never do.
 * @returns `best` is undefined when nothing in the catalogue matches: the caller must not guess a name.
 */
export function classify(lines: readonly ObservedLine[]): Classification {
  const cleaned = lines.map((line) => ({ ...line, text: cleanLine(line.text) }));
  const attempts = attemptsOf(cleaned);
  const kubeletHadNoPart = endedBeforeKubelet(cleaned);
  const findings: { finding: Finding; attempt: number }[] = [];
  cleaned.forEach((line, index) => {
    if (NOISE.some((noise) => noise.pattern.test(line.text))) return;
    for (const entry of CATALOGUE) {
      if (entry.kind === 'warning' || !proves(entry, line, cleaned)) continue;
      const hint = RETRYING.test(line.text) || (kubeletHadNoPart && runsUnderKubelet(line));
      const score = hint ? Math.min(entry.priority, HIGHEST_HINT) : entry.priority;
      findings.push({ finding: { entry, line, score }, attempt: attempts[index] ?? 0 });
    }
  });
  const last = Math.max(0, ...findings.filter((found) => found.finding.line.source === 'kubeadm').map(attemptOf));
  const ranked = findings
    .map(({ finding, attempt }) =>
      finding.line.source === 'kubeadm' && attempt < last
        ? { ...finding, score: Math.min(finding.score, HIGHEST_OF_EARLIER_ATTEMPT) }
        : finding,
    )
    .sort((a, b) => b.score - a.score);
  const [best, ...rest] = ranked;
  const others = rest.filter(
    (finding, index) =>
      finding.entry.id !== best?.entry.id && rest.findIndex((other) => other.entry.id === finding.entry.id) === index,
  );
  return { best, others };
}

/**
 * A line without what its carrier put around it: colours, carriage returns, the journal's or the CRI's prefix
 * (k8s.io/kubernetes pkg/kubelet/kuberuntime/logs: `<RFC 3339> stdout|stderr F|P `), indentation.
 */
export function cleanLine(text: string): string {
  return text
    .slice(0, LONGEST_LINE)
    .replace(COLOUR, '')
    .replaceAll('\r', '')
    .replace(
      /^(?:[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}|\d{4}-\d{2}-\d{2}T[\d:.,+Z-]+) \S+ [^\s[:]+(?:\[\d+\])?: /,
      '',
    )
    .replace(/^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2}) (?:stdout|stderr) [FP] ?/, '')
    .trim();
}

/** ESC, built from its number: a control character must not stand in a source file. */
const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, 'g');

function proves(entry: CatalogueEntry, line: ObservedLine, all: readonly ObservedLine[]): boolean {
  if (entry.only === true && line.source !== entry.source) return false;
  if (!entry.pattern.test(line.text)) return false;
  const { confirmedBy } = entry;
  return (
    confirmedBy === undefined ||
    all.some((other) => other.source === confirmedBy.source && confirmedBy.pattern.test(other.text))
  );
}

/**
 * The attempt each line belongs to. kubeadm ends a failed attempt with a hint about --v=5
 * (k/k cmd/kubeadm/app/util/error.go), and starts one with its pre-flight checks.
 */
function attemptsOf(lines: readonly ObservedLine[]): readonly number[] {
  let attempt = 0;
  let begun = false;
  return lines.map((line) => {
    if (line.source !== 'kubeadm') return attempt;
    if (line.text === '[preflight] Running pre-flight checks') {
      if (begun) attempt += 1;
      begun = true;
    }
    const current = attempt;
    if (line.text.startsWith('To see the stack trace of this error')) {
      attempt += 1;
      begun = false;
    }
    return current;
  });
}

/**
 * Whether kubeadm failed before it came to the kubelet (pre-flight checks, discovery, configuration). What a kubelet
 * and its containers say then is about another time: a kubelet that waits for kubeadm restarts for ever.
 */
function endedBeforeKubelet(lines: readonly ObservedLine[]): boolean {
  const spoken = lines.filter((line) => line.source === 'kubeadm' && line.text !== '');
  return (
    spoken.length > 0 && !spoken.some((line) => /^\[(kubelet-start|kubelet-check|wait-control-plane)\]/.test(line.text))
  );
}

function runsUnderKubelet(line: ObservedLine): boolean {
  return line.source === 'kubelet' || line.source === 'container';
}

function attemptOf(found: { readonly attempt: number }): number {
  return found.attempt;
}
