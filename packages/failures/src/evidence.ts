import type { Finding } from './finding.ts';
import { cleanLine, type ObservedLine } from './observed-line.ts';

/** One line that a verdict rests on. */
export interface VerdictEvidence {
  /** Where it was read: `kubeadm`, `journal of kubelet`, `log of container etcd`; with the file where there are several. */
  readonly source: string;
  /** The number of the line in its file or stream, from 1; 0 where it has none. */
  readonly line: number;
  readonly text: string;
}

const MOST_LINES = 12;
const LONGEST_TEXT = 500;
/** kubeadm's last error: the failed checks, then the error itself. */
const MOST_CHECKS = 7;
const MOST_OF_ERROR = 8;
/** Without an error line, the last lines that kubeadm printed. */
const LAST_LINES = 6;
const MOST_OF_CONTAINER = 3;

export function evidenceOf(line: ObservedLine): VerdictEvidence {
  return { source: line.origin, line: line.line ?? 0, text: cleanLine(line.original ?? line.text) };
}

/** kubeadm's own last error, without its standing hints; without an error line, the last lines that it printed. */
export function kubeadmError(lines: readonly ObservedLine[]): readonly VerdictEvidence[] {
  const printed = lines
    .filter((line) => line.source === 'kubeadm')
    .map(evidenceOf)
    .filter(
      ({ text }) => text !== '' && !/^(To see the stack trace|\[preflight\] If you know what you are doing)/.test(text),
    );
  const error = printed.findLastIndex(({ text }) => /^(error: |error execution phase )/.test(text));
  if (error < 0) return printed.slice(-LAST_LINES);
  // From kubeadm 1.34 on the checks come before the error line (k/k#132080), before that they follow it.
  const checks = printed.slice(0, error).filter(({ text }) => text.startsWith('[ERROR '));
  return [...checks.slice(-MOST_CHECKS), ...printed.slice(error)].slice(0, MOST_OF_ERROR);
}

/** Each text once, at most twelve, each of at most 500 characters. */
export function limited(evidence: readonly VerdictEvidence[]): readonly VerdictEvidence[] {
  return evidence
    .filter((item, index) => evidence.findIndex((other) => other.text.trim() === item.text.trim()) === index)
    .slice(0, MOST_LINES)
    .map(shortened);
}

function shortened(item: VerdictEvidence): VerdictEvidence {
  const text = item.text.trim();
  return { ...item, text: text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text };
}

/** The line that proves a finding, and what it is about. */
export function proof(
  best: Finding,
  lines: readonly ObservedLine[],
  endpoint: string | undefined,
): readonly VerdictEvidence[] {
  const line = evidenceOf(best.line);
  if (best.entry.reason === 'StaticPodCrashLoop') return [line, ...lastLinesOf(best.line, lines)];
  const aboutEndpoint = /^(API|CACertHash|BootstrapToken|ClusterInfo)/.test(best.entry.reason);
  return aboutEndpoint && endpoint !== undefined
    ? [line, { source: 'document', line: 0, text: `the API endpoint is ${endpoint}` }]
    : [line];
}

/** The last lines of the component that a line is about. */
function lastLinesOf({ text }: ObservedLine, lines: readonly ObservedLine[]): readonly VerdictEvidence[] {
  const component = /\b(etcd|kube-(?:apiserver|controller-manager|scheduler))\b/.exec(text)?.[1];
  return lines
    .filter(({ origin }) => origin === `log of container ${component}`)
    .slice(-MOST_OF_CONTAINER)
    .map(evidenceOf);
}
