import type { Failure } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { sentence } from '@machineadm/document/text/sentence.ts';
import type { Cleanup } from './catalogue.ts';
import { placeOf } from './chain.ts';
import { type Classification, classify, type Finding, findingsOf } from './classify.ts';
import { severeLines } from './endings.ts';
import { evidenceOf, kubeadmError, limited, proof, type VerdictEvidence } from './evidence.ts';
import { causeOf, EXPLAINED, isExplainable, REFINABLE } from './explainable.ts';
import { cleanupFor, remedyOf, remedyOfUnknown, summaryOf, UNCHANGED } from './explanation.ts';
import type { KubeadmRun } from './kubeadm-run.ts';
import { lastWords } from './last-words.ts';
import { cleanLine, type ObservedLine } from './observed-line.ts';
import { unhealthyComponent } from './static-pods.ts';

export type { VerdictEvidence } from './evidence.ts';

/** Why a bootstrap failed: what the run, `status`, `diagnose`, `doctor`, every event and the bundle report. */
export interface Verdict {
  readonly outcome: 'success' | 'failure';
  /** '' on success; `Unknown` where logs alone are judged and no cause can be named: never a guess. */
  readonly reason: Reason | 'Unknown' | '';
  /** What failed, in one or two sentences; '' on success. */
  readonly summary: string;
  /** True where the same command may succeed later with the same input. */
  readonly retryable: boolean;
  /** What must precede another attempt on the same machine. */
  readonly cleanup: Cleanup;
  /** The phase of kubeadm that it ended in; '' where the log does not tell. */
  readonly phase: string;
  /** The proof first. */
  readonly evidence: readonly VerdictEvidence[];
  /** From the cause to what the run saw fail: `KubeletMasked`, `KubeletNotHealthy`, `BootstrapperFailed`. */
  readonly causes: readonly string[];
  /** Other reasons that were seen: what the cause led to, and hints. */
  readonly symptoms: readonly string[];
  readonly remedy: string;
  /** From 0 to 1: how far the evidence carries. */
  readonly confidence: number;
}

/** Facts about the run itself, in addition to the observed lines. */
export type RunFacts =
  /** It met this error. A reason that only says what was seen is replaced by its cause, where the lines prove one. */
  | { readonly state: 'ended'; readonly failure: Failure }
  /** This is the verdict that was published when the run ended: it stands. */
  | { readonly state: 'concluded'; readonly failure: Failure }
  /** It proved that the node works. */
  | { readonly state: 'succeeded' };

export interface VerdictFacts {
  /** kubeadm's output, the journals, the logs of containers, unit states, and what the checks found wrong. */
  readonly lines: readonly ObservedLine[];
  /** undefined: no run of machineadm is known, as with saved logs. */
  readonly run?: RunFacts;
  /** Of the bootstrapper, where it is known: 0 is success whatever was printed, all else is failure. */
  readonly exitStatus?: number | undefined;
  /** host:port of the API server, where the document names one. */
  readonly endpoint?: string | undefined;
  /** Whether this machine is a node that works now: its kubelet is active, and its Node is Ready. */
  readonly isNode?: boolean | undefined;
}

const MOST_SYMPTOMS = 8;
/** Of the lines that kubeadm printed last, where another line is the proof. */
const MOST_BESIDE_PROOF = 2;
const MOST_OTHERS = 4;

/**
 * The only place that names a failure. Pure; the result is redacted, short enough to publish, and the same for whoever
 * asks: the run that failed, a command that reads its status later, and a command that is given saved logs.
 */
export function verdict(facts: VerdictFacts): Verdict {
  const found = judged(facts);
  return facts.isNode === true && found.outcome === 'failure' ? onNode(found) : found;
}

/** What failed on a node that works is not removed from it; and where kubeadm changed nothing, nothing is left to do. */
function onNode(found: Verdict): Verdict {
  if (!UNCHANGED.has(found.phase)) return { ...found, cleanup: 'none' };
  const remedy =
    'This machine is a node already: its kubelet is active, and its Node is Ready. Run nothing. Find out what started the bootstrap again.';
  return { ...found, remedy, cleanup: 'none', retryable: false };
}

function judged(facts: VerdictFacts): Verdict {
  const { lines, run, exitStatus } = facts;
  const failure = run?.state === 'ended' ? run.failure : undefined;
  const found = classify(lines, failure === undefined ? undefined : unhealthyComponent(failure.summary));
  if (exitStatus === 0 || run?.state === 'succeeded') return redactDeep(success(found, facts));
  if (run !== undefined) return redactDeep(failureOfRun(found, facts, run));
  if (exitStatus === undefined && found.run.ending === 'succeeded') return redactDeep(success(found, facts));
  const nothingFailed =
    exitStatus === undefined && found.run.ending === 'absent' && found.endings.length === 0 && registered(lines);
  return redactDeep(failureInLogs(nothingFailed ? withoutCause(found) : found, lines));
}

/** A failing verdict as the run reports it. */
export function failureOf({ reason, summary, evidence, remedy, retryable, causes }: Verdict): Failure {
  return {
    reason: reason === '' || reason === 'Unknown' ? 'BootstrapperFailed' : reason,
    summary,
    evidence: evidence.map(({ source, text }) => ({ source, text })),
    remedy,
    retryable,
    ...(causes.length < 2 ? {} : { causes }),
  };
}

/** Without a line of kubeadm, a kubelet that registered its Node gives no reason to believe that anything failed. */
function registered(lines: readonly ObservedLine[]): boolean {
  return lines.some(({ source, text }) => source === 'kubelet' && /Successfully registered node/.test(text));
}

function withoutCause(found: Classification): Classification {
  return { ...found, best: undefined, others: found.best === undefined ? found.others : [found.best, ...found.others] };
}

function success({ others, best, run }: Classification, { lines, exitStatus, run: known }: VerdictFacts): Verdict {
  const announced = lines.filter((line) =>
    /^(Your Kubernetes control-plane has|This node has joined)/.test(cleanLine(line.text)),
  );
  return {
    outcome: 'success',
    reason: '',
    summary: '',
    retryable: false,
    cleanup: 'none',
    phase: run.phase,
    evidence: limited(announced.slice(-1).map(evidenceOf)),
    causes: [],
    symptoms: reasonsOf(best === undefined ? others : [best, ...others]),
    remedy: '',
    confidence: run.ending === 'succeeded' || known?.state === 'succeeded' ? 1 : exitStatus === 0 ? 0.9 : 0.5,
  };
}

/** The verdict on a run of machineadm: its own error, replaced or explained by its cause. */
function failureOfRun(
  found: Classification,
  { lines, endpoint }: VerdictFacts,
  { state, failure }: Exclude<RunFacts, { readonly state: 'succeeded' }>,
): Verdict {
  const { run } = found;
  const own = failure.evidence.map((item) => ({ ...item, line: 0 }));
  const best = state === 'ended' ? causeOf(failure, found) : undefined;
  const others = findingsOf(found).filter((finding) => finding !== best);
  const cause = best ?? findingsOf(found).find(({ entry }) => entry.reason === failure.reason);
  const verdict: Verdict = {
    outcome: 'failure',
    reason: failure.reason,
    summary: failure.summary,
    retryable: failure.retryable,
    cleanup: cleanupFor(run, cause?.entry.cleanup ?? 'none'),
    phase: run.phase,
    evidence: limited(state === 'concluded' || !isExplainable(failure) ? own : [...own, ...kubeadmError(lines)]),
    causes: failure.causes ?? [failure.reason],
    symptoms: reasonsOf(others, failure.reason),
    remedy: failure.remedy,
    confidence: REFINABLE.has(failure.reason) ? 0.5 : 0.95,
  };
  if (best === undefined) return verdict;
  const { entry } = best;
  const explained: Verdict = {
    ...verdict,
    evidence: limited([
      ...proof(best, lines, endpoint),
      ...own,
      ...found.endings.map(evidenceOf),
      ...(best.line.source === 'kubeadm' ? [] : kubeadmError(lines).slice(-MOST_BESIDE_PROOF)),
      ...others.slice(0, MOST_OTHERS).map((other) => evidenceOf(other.line)),
    ]),
    causes: chain(found, failure.reason),
    symptoms: reasonsOf(others, entry.reason),
    confidence: confidenceIn(best, others, run),
  };
  const remedy = remedyOf(best, lines);
  if (EXPLAINED.has(failure.reason)) return { ...explained, remedy: `${remedy} (${failure.remedy})` };
  if (entry.kind === 'symptom' && failure.reason !== 'BootstrapperFailed') {
    return { ...explained, causes: [failure.reason], symptoms: reasonsOf([best, ...others], failure.reason) };
  }
  return {
    ...explained,
    reason: entry.reason,
    summary: [...summaryOf(best), ...(failure.summary === '' ? [] : [sentence(failure.summary)])].join(' '),
    remedy,
    retryable: entry.retryable,
  };
}

/** The verdict on logs alone: without a run that says what it saw fail, a symptom is no reason. */
function failureInLogs(found: Classification, lines: readonly ObservedLine[]): Verdict {
  const { best, others, run } = found;
  const named = best !== undefined && best.entry.kind !== 'symptom' && best.weakness === undefined;
  const retriedOnly = best !== undefined && best.weakness === 'retried' && best.entry.kind === 'cause';
  if (best === undefined || !(named || retriedOnly)) {
    const hints = findingsOf(found);
    const lastErrors = [
      ...found.endings,
      ...severeLines(lines.map((line) => ({ ...line, text: cleanLine(line.text) }))),
    ].map(evidenceOf);
    return {
      outcome: 'failure',
      reason: 'Unknown',
      summary: [
        'The logs name no cause.',
        ...lastErrors.slice(0, 1).map(({ text }) => sentence(summarised(text))),
      ].join(' '),
      retryable: false,
      cleanup: cleanupFor(run, 'none'),
      phase: run.phase,
      evidence: limited([
        ...lastErrors,
        ...kubeadmError(lines),
        ...hints.slice(0, MOST_OTHERS).map((hint) => evidenceOf(hint.line)),
      ]),
      causes: [],
      symptoms: reasonsOf(hints),
      remedy: remedyOfUnknown(lines),
      confidence: 0,
    };
  }
  const { entry } = best;
  return {
    outcome: 'failure',
    reason: entry.reason,
    summary: summaryOf(best).join(' '),
    retryable: entry.retryable,
    cleanup: cleanupFor(run, entry.cleanup),
    phase: run.phase,
    evidence: limited([
      evidenceOf(best.line),
      ...found.endings.map(evidenceOf),
      ...kubeadmError(lines),
      ...others.slice(0, MOST_OTHERS).map((other) => evidenceOf(other.line)),
    ]),
    causes: chain(found),
    symptoms: reasonsOf(others, entry.reason),
    remedy: remedyOf(best, lines),
    confidence: confidenceIn(best, others, run),
  };
}

/** The cause, the symptoms that were seen of it (the nearest first: priorities fall with the distance), and the run's word. */
function chain({ best, others }: Classification, seen?: Reason): readonly string[] {
  const symptoms = others.filter(({ entry, weakness }) => entry.kind === 'symptom' && weakness === undefined);
  const reasons = [best, ...symptoms].flatMap((finding) => (finding === undefined ? [] : [finding.entry.reason]));
  return [...new Set(seen === undefined ? reasons : [...reasons.filter((reason) => reason !== seen), seen])];
}

function confidenceIn(best: Finding, others: readonly Finding[], run: KubeadmRun): number {
  let confidence = best.entry.kind === 'cause' ? 0.95 : 0.7;
  if (best.entry.composed === true) confidence -= 0.15;
  if (best.weakness !== undefined) confidence -= 0.3;
  if (run.ending !== 'failed') confidence -= 0.1;
  const rival = others.find((other) => other.weakness === undefined && other.entry.reason !== best.entry.reason);
  if (
    rival !== undefined &&
    rival.entry.kind === 'cause' &&
    placeOf(rival) === placeOf(best) &&
    best.score - rival.score < 10
  )
    confidence -= 0.2;
  return Math.round(Math.max(0.1, confidence) * 100) / 100;
}

function reasonsOf(findings: readonly Finding[], but?: string): readonly string[] {
  return [...new Set(findings.map(({ entry }) => entry.reason))]
    .filter((reason) => reason !== but)
    .slice(0, MOST_SYMPTOMS);
}

const LONGEST_SUMMARY = 300;

/** The error that an unknown failure is shown by. */
function summarised(text: string): string {
  const message = lastWords(text);
  return message.length > LONGEST_SUMMARY ? `${message.slice(0, LONGEST_SUMMARY)}…` : message;
}
