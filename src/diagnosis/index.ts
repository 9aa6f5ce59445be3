import type { Evidence, Failure, MachineadmError } from '../document/errors.ts';
import { REASONS, type Reason } from '../document/reasons.ts';
import { redactDeep } from '../document/secret.ts';
import type { QueryHost } from '../host/host.ts';
import { type Classification, classify, cleanLine, type Finding, type ObservedLine } from './classify.ts';
import { type CollectContext, collect, transcriptLines } from './collect.ts';

export type { CollectContext } from './collect.ts';

/** What is known of the run that failed. */
export type DiagnosisContext = CollectContext;

/** Reasons that say what was seen, not why: the catalogue may replace them by the cause. */
const REFINABLE: ReadonlySet<Reason> = new Set<Reason>([
  'BootstrapperFailed',
  'KubeletNotHealthy',
  'ControlPlaneComponentNotHealthy',
  'NodeNotRegistered',
  'NodeNotReady',
]);

/** Reasons that stay, as they decide how the run ended; the cause found is told as evidence and remedy. */
const EXPLAINED: ReadonlySet<Reason> = new Set<Reason>(['DeadlinePassed']);

const MOST_EVIDENCE = 12;
const MOST_SYMPTOMS = 4;
const LONGEST_EVIDENCE = 500;

/**
 * Finds out why a run failed: collects what the machine says, classifies it together with the output that the error
 * carries, and names the cause. An error that names its cause already is passed on as it is. Never throws; takes at
 * most the collectors' deadline. Everything in the result is redacted.
 */
export async function diagnose(host: QueryHost, error: MachineadmError, context: DiagnosisContext): Promise<Failure> {
  if (!REFINABLE.has(error.reason) && !EXPLAINED.has(error.reason)) return failureOf(error);
  const observed = [...transcriptLines(error.transcript), ...(await collect(host, context))];
  return explain(error, observed, context.endpoint);
}

/** The failure as an error tells it, without a look at the machine. Redacted. */
export function failureOf(error: MachineadmError): Failure {
  return redactDeep({
    reason: error.reason,
    summary: error.message,
    evidence: error.evidence.slice(0, MOST_EVIDENCE).map(shortened),
    remedy: error.remedy,
    retryable: error.retryable,
  });
}

/** The pure half of `diagnose`: names the cause in lines that were observed. Redacted. */
export function explain(error: MachineadmError, observed: readonly ObservedLine[], endpoint?: string): Failure {
  const found = classify(observed);
  const { best } = found;
  const base = failureOf(error);
  if (best === undefined) {
    return redactDeep({ ...base, evidence: limited([...error.evidence, ...lastWords(observed)]) });
  }
  const evidence = limited([
    ...proof(best, endpoint),
    ...error.evidence,
    ...(best.line.source === 'kubeadm' ? [] : lastWords(observed).slice(-2)),
    ...symptoms(found),
  ]);
  const { entry } = best;
  if (EXPLAINED.has(error.reason)) return redactDeep({ ...base, evidence, remedy: `${entry.remedy} (${base.remedy})` });
  if (entry.kind === 'symptom' && error.reason !== 'BootstrapperFailed') return redactDeep({ ...base, evidence });
  return redactDeep({
    reason: entry.reason,
    summary: `${REASONS[entry.reason].meaning} ${sentence(error.message)}`,
    evidence,
    remedy: entry.remedy,
    retryable: entry.retryable,
  });
}

function proof(best: Finding, endpoint: string | undefined): readonly Evidence[] {
  const line: Evidence = { source: best.line.origin, text: best.line.text };
  const aboutEndpoint = /^(API|CACertHash|BootstrapToken|ClusterInfo)/.test(best.entry.reason);
  return aboutEndpoint && endpoint !== undefined
    ? [line, { source: 'document', text: `the API endpoint is ${endpoint}` }]
    : [line];
}

/** What else was found, one line each: mostly what the cause led to. */
function symptoms(found: Classification): readonly Evidence[] {
  return found.others.slice(0, MOST_SYMPTOMS).map(({ line }) => ({ source: line.origin, text: line.text }));
}

/** kubeadm's own last error, without its standing hints; without an error line, what it said last. */
function lastWords(observed: readonly ObservedLine[]): readonly Evidence[] {
  const spoken = observed
    .filter((line) => line.source === 'kubeadm')
    .map((line) => ({ source: line.origin, text: cleanLine(line.text) }))
    .filter(
      ({ text }) => text !== '' && !/^(To see the stack trace|\[preflight\] If you know what you are doing)/.test(text),
    );
  const error = spoken.findLastIndex(({ text }) => /^(error execution phase |error: )/.test(text));
  if (error < 0) return spoken.slice(-6);
  // From kubeadm 1.34 on the checks come before the error line (k/k#132080), before that they follow it.
  const checks = spoken.slice(0, error).filter(({ text }) => text.startsWith('[ERROR '));
  return [...checks.slice(-7), ...spoken.slice(error)].slice(0, 8);
}

function limited(evidence: readonly Evidence[]): readonly Evidence[] {
  const unique = evidence.filter(
    (item, index) => evidence.findIndex((other) => other.text.trim() === item.text.trim()) === index,
  );
  return unique.slice(0, MOST_EVIDENCE).map(shortened);
}

function shortened(item: Evidence): Evidence {
  const text = item.text.trim();
  return { source: item.source, text: text.length > LONGEST_EVIDENCE ? `${text.slice(0, LONGEST_EVIDENCE)}…` : text };
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
