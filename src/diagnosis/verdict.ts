import { redactDeep } from '../document/secret.ts';
import type { Cleanup } from './catalogue.ts';
import { type Classification, classify, type Finding } from './classify.ts';
import type { KubeadmRun } from './kubeadm-run.ts';
import { cleanLine, type ObservedLine } from './observed-line.ts';

/** One line that the verdict rests on. */
export interface VerdictEvidence {
  /** Where it was read: `kubeadm`, `journal of kubelet`, `log of container etcd`; with the file where there are several. */
  readonly source: string;
  /** The number of the line in its file or stream, from 1; 0 where it has none. */
  readonly line: number;
  readonly text: string;
}

/** What `machineadm diagnose` tells, as JSON and in words. */
export interface Verdict {
  readonly outcome: 'success' | 'failure';
  /** '' on success; `Unknown` where no cause can be named: never a guess. */
  readonly reason: string;
  /** True where the same command may succeed later with the same input. */
  readonly retryable: boolean;
  /** What must precede another attempt on the same machine. */
  readonly cleanup: Cleanup;
  /** The phase of kubeadm that it ended in; '' where the log does not tell. */
  readonly phase: string;
  readonly evidence: readonly VerdictEvidence[];
  /** Reasons that were seen as well and are not the cause: what it led to, and what it is not. */
  readonly symptoms: readonly string[];
  readonly remedy: string;
  /** From 0 to 1: how far the evidence carries. */
  readonly confidence: number;
}

const MOST_EVIDENCE = 10;
const MOST_SYMPTOMS = 8;
const LONGEST_TEXT = 500;

/** Priorities from here on name a cause or its area; what lies below is a symptom (`catalogue/entry.ts`). */
const LOWEST_NAMING = 50;

/**
 * Judges what was observed of one machine. Pure. The result is redacted.
 * @param exitStatus of the bootstrapper, where it is known: 0 is success whatever was printed, all else is failure
 */
export function judge(lines: readonly ObservedLine[], exitStatus?: number): Verdict {
  const found = classify(lines);
  const succeeded = exitStatus === undefined ? found.run.ending === 'succeeded' : exitStatus === 0;
  if (succeeded) return redactDeep(success(found, lines, exitStatus));
  const nothingFailed = exitStatus === undefined && found.run.ending === 'absent' && registered(lines);
  return redactDeep(failure(nothingFailed ? withoutCause(found) : found, lines));
}

/** Without a word of kubeadm, a kubelet that registered its Node gives no reason to believe that anything failed. */
function registered(lines: readonly ObservedLine[]): boolean {
  return lines.some(({ source, text }) => source === 'kubelet' && /Successfully registered node/.test(text));
}

function withoutCause(found: Classification): Classification {
  return { ...found, best: undefined, others: found.best === undefined ? found.others : [found.best, ...found.others] };
}

function success({ others, best, run }: Classification, lines: readonly ObservedLine[], exitStatus?: number): Verdict {
  const said = lines.filter((line) =>
    /^(Your Kubernetes control-plane has|This node has joined)/.test(cleanLine(line.text)),
  );
  return {
    outcome: 'success',
    reason: '',
    retryable: false,
    cleanup: 'none',
    phase: run.phase,
    evidence: said.slice(-1).map(evidenceOf),
    symptoms: reasonsOf(best === undefined ? others : [best, ...others]),
    remedy: '',
    confidence: run.ending === 'succeeded' ? 1 : exitStatus === 0 ? 0.9 : 0.5,
  };
}

function failure(found: Classification, lines: readonly ObservedLine[]): Verdict {
  const { best, others, run } = found;
  const phase = run.phase;
  const named = best !== undefined && best.score >= LOWEST_NAMING;
  const retriedOnly = best !== undefined && best.weakness === 'retried' && best.entry.kind === 'cause';
  if (best === undefined || !(named || retriedOnly)) {
    const hints = best === undefined ? others : [best, ...others];
    return {
      outcome: 'failure',
      reason: 'Unknown',
      retryable: false,
      cleanup: cleanupAfter(run, 'none'),
      phase,
      evidence: unique([...lastWords(lines), ...hints.slice(0, 4).map((hint) => evidenceOf(hint.line))]),
      symptoms: reasonsOf(hints),
      remedy:
        'No entry of the catalogue describes this failure. Read the evidence, then the journals of kubelet and containerd; `machineadm bundle` gathers what a bug report needs.',
      confidence: 0,
    };
  }
  return {
    outcome: 'failure',
    reason: best.entry.reason,
    retryable: best.entry.retryable,
    cleanup: cleanupAfter(run, best.entry.cleanup),
    phase,
    evidence: unique([
      evidenceOf(best.line),
      ...lastWords(lines),
      ...others.slice(0, 3).map((other) => evidenceOf(other.line)),
    ]),
    symptoms: reasonsOf(others, best.entry.reason),
    remedy: best.entry.remedy,
    confidence: confidenceIn(best, others, run),
  };
}

/** A cleanup that the entry asks for, or a stronger one where kubeadm had already left more behind. */
function cleanupAfter(run: KubeadmRun, asked: Cleanup): Cleanup {
  const left: Cleanup = run.traces === 'member' ? 'reset+member' : run.traces === 'node' ? 'reset' : 'none';
  const order: readonly Cleanup[] = ['none', 'reset', 'reset+member'];
  return order.indexOf(left) > order.indexOf(asked) ? left : asked;
}

function confidenceIn(best: Finding, others: readonly Finding[], run: KubeadmRun): number {
  let confidence = best.entry.kind === 'cause' ? 0.95 : 0.7;
  if (best.entry.composed === true) confidence -= 0.15;
  if (best.weakness !== undefined) confidence -= 0.3;
  if (run.ending !== 'failed') confidence -= 0.1;
  const rival = others.find((other) => other.weakness === undefined && other.entry.reason !== best.entry.reason);
  if (rival !== undefined && rival.entry.kind === 'cause' && best.score - rival.score < 10) confidence -= 0.2;
  return Math.round(Math.max(0.1, confidence) * 100) / 100;
}

function reasonsOf(findings: readonly Finding[], but?: string): readonly string[] {
  return [...new Set(findings.map(({ entry }) => entry.reason))]
    .filter((reason) => reason !== but)
    .slice(0, MOST_SYMPTOMS);
}

/** kubeadm's own last error; where it has none, what it said last. */
function lastWords(lines: readonly ObservedLine[]): readonly VerdictEvidence[] {
  const spoken = lines
    .filter((line) => line.source === 'kubeadm')
    .map((line) => ({ ...line, text: cleanLine(line.text) }))
    .filter(
      ({ text }) => text !== '' && !/^(To see the stack trace|\[preflight\] If you know what you are doing)/.test(text),
    );
  const error = spoken.findLastIndex(({ text }) => /^(error: |error execution phase )/.test(text));
  if (error < 0) return spoken.slice(-3).map(evidenceOf);
  // From kubeadm 1.34 on the checks come before the error line (k/k#132080), before that they follow it.
  const checks = spoken.slice(0, error).filter(({ text }) => text.startsWith('[ERROR '));
  return [...checks.slice(-4), ...spoken.slice(error, error + 4)].map(evidenceOf);
}

function evidenceOf(line: ObservedLine): VerdictEvidence {
  const text = cleanLine(line.text);
  return {
    source: line.origin,
    line: line.line ?? 0,
    text: text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text,
  };
}

function unique(evidence: readonly VerdictEvidence[]): readonly VerdictEvidence[] {
  return evidence
    .filter((item, index) => evidence.findIndex((other) => other.text === item.text) === index)
    .slice(0, MOST_EVIDENCE);
}
