import type { ObservedLine } from './observed-line.ts';

/** How a kubeadm run ended, as far as its own words tell. */
export interface KubeadmRun {
  /**
   * `succeeded` and `failed` by kubeadm's last words; `unfinished` where they are missing: it was killed, or the log is
   * cut; `absent` where kubeadm says nothing at all.
   */
  readonly ending: 'succeeded' | 'failed' | 'unfinished' | 'absent';
  /** The phase it ended in, as kubeadm names it (`preflight`, `wait-control-plane`); '' where nothing tells. */
  readonly phase: string;
  /** Whether it ever started the kubelet, so that what kubelet and containers say can explain its end. */
  readonly reachedKubelet: boolean;
  /** What it left on the disk: nothing that hinders, files and a kubelet, or also a member of etcd. */
  readonly traces: 'none' | 'node' | 'member';
  /** The attempt that each of the lines given belongs to, from 0. */
  readonly attempts: readonly number[];
  readonly lastAttempt: number;
}

/** k/k cmd/kubeadm/app/cmd/init.go initDoneTempl, join.go joinWorkerNodeDoneMsg and joinControPlaneDoneTemp. */
const SUCCESS =
  /^(Your Kubernetes control-plane has initialized successfully!|This node has joined the cluster(:| and a new control plane instance was created:))/;
/** k/k cmd/kubeadm/app/util/error.go checkErr, and the words of each phase's runner (cmd/phases/workflow/runner.go). */
const FAILURE = /^(error: )?error execution phase ([\w/-]+)|^To see the stack trace of this error|^error: /;
/** An attempt begins with the checks; init says its version first (k/k cmd/kubeadm/app/cmd/init.go). */
const BEGINNING = /^\[preflight\] Running pre-flight checks$|^\[init\] Using Kubernetes version: /;
const LAST_WORDS = /^To see the stack trace of this error/;

/** Tags that stand for a phase; `[kubelet-check]` and `[apiclient]` are waits within one. */
const PHASE_TAG =
  /^\[(preflight|certs|kubeconfig|kubelet-start|control-plane|etcd|wait-control-plane|upload-config|upload-certs|mark-control-plane|bootstrap-token|kubelet-finalize|addons|discovery|download-certs|check-etcd|kubelet-wait-bootstrap)\] /;

const REACHED_KUBELET = /^\[(kubelet-start|kubelet-check|wait-control-plane|kubelet-wait-bootstrap)\]/;
/**
 * The phase begins with the Node of that name, stops the kubelet, writes its files, and then starts it (k/k
 * cmd/kubeadm/app/cmd/phases/join/kubelet.go, 1.20 to 1.36).
 */
const KUBELET_STARTED = /^\[kubelet-start\] Starting the kubelet/;
/** Phases that fail if a component that the kubelet starts fails. */
const KUBELET_PHASES =
  /^(kubelet-start|wait-control-plane|kubelet-wait-bootstrap|control-plane-join|etcd-join|upload-config|upload-certs|mark-control-plane|bootstrap-token|kubelet-finalize|addon)/;
const LEFT_TRACES = /^\[(control-plane|etcd)\] Creating static Pod manifest|^\[kubelet-start\] (Writing|Starting)/;
const LEFT_MEMBER = /^\[etcd\] Announced new etcd member/;

const PHASES = PHASE_TAG.source.slice(PHASE_TAG.source.indexOf('(') + 1, PHASE_TAG.source.indexOf(')')).split('|');
/** Texts of which each line holds one that says how a run went. */
export const RUN_TEXTS: readonly string[] = [
  ...PHASES.map((phase) => `[${phase}] `),
  ...['[kubelet-check]', '[init] Using Kubernetes version: ', '[ERROR ', 'error: ', 'error execution phase '],
  ...['To see the stack trace of this error', 'Your Kubernetes control-plane has', 'This node has joined'],
];

/** Reads kubeadm's lines among those observed; `lines` are cleaned. */
export function readKubeadmRun(lines: readonly ObservedLine[]): KubeadmRun {
  const attempts = attemptsOf(lines);
  const spoken = lines.flatMap((line, index) =>
    line.source === 'kubeadm' && line.text !== '' ? [{ text: line.text, attempt: attempts[index] ?? 0 }] : [],
  );
  const lastAttempt = spoken.at(-1)?.attempt ?? 0;
  const texts = spoken.filter(({ attempt }) => attempt === lastAttempt).map(({ text }) => text);
  const phase = phaseOf(texts);
  const ending = endingOf(texts);
  return {
    ending,
    phase: phase === '' && ending === 'failed' ? 'configuration' : phase,
    reachedKubelet: ending === 'absent' || reachedKubelet(texts, phase),
    traces: texts.some((text) => LEFT_MEMBER.test(text))
      ? 'member'
      : texts.some((text) => LEFT_TRACES.test(text)) || KUBELET_PHASES.test(phase)
        ? 'node'
        : 'none',
    attempts,
    lastAttempt,
  };
}

function reachedKubelet(texts: readonly string[], phase: string): boolean {
  const isBeforeStart =
    phase === 'kubelet-start' &&
    // Its output is there, and not only its last error.
    texts.some((text) => PHASE_TAG.test(text)) &&
    !texts.some((text) => KUBELET_STARTED.test(text));
  return !isBeforeStart && (texts.some((text) => REACHED_KUBELET.test(text)) || KUBELET_PHASES.test(phase));
}

function endingOf(texts: readonly string[]): KubeadmRun['ending'] {
  const success = texts.findLastIndex((text) => SUCCESS.test(text));
  // After its success kubeadm fails no more: an error below it is of what ran next.
  if (success >= 0) return 'succeeded';
  if (texts.some((text) => FAILURE.test(text))) return 'failed';
  return texts.length === 0 ? 'absent' : 'unfinished';
}

function phaseOf(texts: readonly string[]): string {
  const named = texts.findLast((text) => /error execution phase [\w/-]+/.test(text));
  const fromError = /error execution phase ([\w/-]+)/.exec(named ?? '')?.[1];
  if (fromError !== undefined) return fromError;
  const tagged = texts.findLast((text) => PHASE_TAG.test(text));
  return PHASE_TAG.exec(tagged ?? '')?.[1] ?? '';
}

/**
 * The attempt each line belongs to. kubeadm ends a failed attempt with a hint about --v=5, and starts one with its
 * version or its checks. A refused configuration has no beginning: it is an attempt of its own by its end. What is said
 * after the last end, and leads to no other, belongs to the attempt before.
 */
function attemptsOf(lines: readonly ObservedLine[]): readonly number[] {
  const isOf = (line: ObservedLine, pattern: RegExp): boolean => line.source === 'kubeadm' && pattern.test(line.text);
  const lastSign = lines.findLastIndex(
    (line) => isOf(line, BEGINNING) || isOf(line, FAILURE) || isOf(line, LAST_WORDS) || isOf(line, SUCCESS),
  );
  let attempt = 0;
  let begun: 'no' | 'version' | 'checks' = 'no';
  let ended = false;
  return lines.map((line, index) => {
    if (line.source !== 'kubeadm' || line.text === '') return attempt;
    const begins = BEGINNING.test(line.text);
    const checks = begins && line.text.startsWith('[preflight]');
    const again = begins && (begun === 'checks' || (begun === 'version' && !checks));
    if (again || (ended && index <= lastSign)) {
      attempt += 1;
      begun = 'no';
      ended = false;
    }
    if (begins) begun = checks ? 'checks' : 'version';
    if (LAST_WORDS.test(line.text)) ended = true;
    return attempt;
  });
}
