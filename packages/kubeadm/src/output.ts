import type { Evidence } from '@machineadm/document/outcomes/errors.ts';

export type KubeadmCommand = 'init' | 'join';

/** A line of kubeadm's output: phases are on stdout, klog lines and errors on stderr. */
export interface OutputLine {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

/** What the next run must know about this one; kept in the journal. */
export interface KubeadmNote {
  /** The last phase in brackets that kubeadm announced: `certs`, `kubelet-start`. */
  readonly lastPhase: string | undefined;
  /** This machine became a member of a stacked etcd cluster, so that a reset must remove it again. */
  readonly etcdMemberAnnounced: boolean;
  /** kubeadm reported success. */
  readonly succeeded: boolean;
  /** kubeadm refused to join because a Ready Node of another machine has the same name. */
  readonly nodeNameConflict?: true;
  /** Set once a failed kubeadm has ended. */
  readonly ended?: Ending;
}

/** How a failed kubeadm ended. */
export interface Ending {
  /** By a signal: it may have progressed further than its output shows. */
  readonly killed: boolean;
  /** The phase in its last error; `configuration` where it failed before the first one. */
  readonly phase: string | undefined;
}

/** k/k cmd/kubeadm/app/cmd/{init,join}.go and phases/init/showjoincommand.go; the same text since 1.20. */
const SUCCESS: Readonly<Record<KubeadmCommand, string>> = {
  init: 'Your Kubernetes control-plane has initialized successfully!',
  join: 'This node has joined the cluster',
};

/** k/k cmd/kubeadm/app/cmd/phases/join/kubelet.go */
const NAME_CONFLICT = /a Node with name "[^"]*" and status "?[^ ]*"? already exists in the cluster/;

/** Follows kubeadm through its lines. */
export class KubeadmProgress {
  readonly #command: KubeadmCommand;
  readonly #lines: OutputLine[] = [];
  #note: KubeadmNote = { lastPhase: undefined, etcdMemberAnnounced: false, succeeded: false };

  constructor(command: KubeadmCommand) {
    this.#command = command;
  }

  get note(): KubeadmNote {
    return this.#note;
  }

  get lines(): readonly OutputLine[] {
    return this.#lines;
  }

  /** Processes the next line. True when the note changed. */
  observe(line: OutputLine): boolean {
    this.#lines.push(line);
    const before = this.#note;
    if (line.stream !== 'stdout') {
      if (before.nodeNameConflict === true || !NAME_CONFLICT.test(line.text)) return false;
      this.#note = { ...before, nodeNameConflict: true };
      return true;
    }
    // `[WARNING X]` and `[ERROR X]` are checks, not phases: phases are lower case.
    const phase = /^\[([a-z][a-z0-9-]*)\] /.exec(line.text)?.[1] ?? before.lastPhase;
    this.#note = {
      ...before,
      lastPhase: phase,
      etcdMemberAnnounced: before.etcdMemberAnnounced || /^\[etcd\] Announced new etcd member/.test(line.text),
      succeeded: before.succeeded || line.text.startsWith(SUCCESS[this.#command]),
    };
    return (
      before.lastPhase !== this.#note.lastPhase ||
      before.etcdMemberAnnounced !== this.#note.etcdMemberAnnounced ||
      before.succeeded !== this.#note.succeeded
    );
  }
}

/** How an unsuccessful kubeadm ended. Signals are 128 and more, as in a shell. */
export function endingOf(status: number, { lines, note }: KubeadmProgress): Ending {
  const failure = finalError(lines);
  const isBeforePhases = failure !== undefined && (note.lastPhase === undefined || note.lastPhase === 'init');
  return { killed: status >= 128, phase: failure?.phase ?? (isBeforePhases ? 'configuration' : undefined) };
}

export type Verdict =
  | { readonly succeeded: true }
  | {
      readonly succeeded: false;
      /** One sentence. */
      readonly summary: string;
      readonly evidence: readonly Evidence[];
    };

/**
 * Evaluates a finished kubeadm. Its exit status is 1 for every failure (k/k#132080), so it only distinguishes success,
 * and a wrapper named kubeadm may exit 0 without having done anything: kubeadm must also have printed its success
 * message.
 *
 * @param expectsSuccessText false where the phase that prints it (init's show-join-command) was skipped
 */
export function evaluateRun(
  command: KubeadmCommand,
  status: number,
  progress: KubeadmProgress,
  expectsSuccessText = true,
): Verdict {
  const { lines, note } = progress;
  if (status === 0 && (note.succeeded || !expectsSuccessText)) return { succeeded: true };
  const evidence = (text: string): Evidence => ({ source: 'kubeadm', text });
  if (status === 0) {
    return {
      succeeded: false,
      summary: `kubeadm ${command} exited with status 0 but did not report success.`,
      evidence: lines.slice(-5).map(({ text }) => evidence(text)),
    };
  }
  const failure = finalError(lines);
  const phase = failure === undefined ? note.lastPhase : failure.phase;
  const where = phase === undefined ? '' : ` in its phase ${phase}`;
  return {
    succeeded: false,
    summary: `kubeadm ${command} failed${where} (exit status ${status}).`,
    evidence: proofOf(lines),
  };
}

/** The same of `kubeadm upgrade`, which prints nothing that all releases print at the end: the caller checks what it did. */
export function evaluateUpgrade(command: string, status: number, lines: readonly OutputLine[]): Verdict {
  if (status === 0) return { succeeded: true };
  const failure = finalError(lines);
  const where = failure?.phase === undefined ? '' : ` in its phase ${failure.phase}`;
  return {
    succeeded: false,
    summary: `kubeadm ${command} failed${where} (exit status ${status}).`,
    evidence: proofOf(lines),
  };
}

/** The checks that failed and the final error; without them the last lines. */
function proofOf(lines: readonly OutputLine[]): readonly Evidence[] {
  const failure = finalError(lines);
  const checks = lines.filter(({ text }) => /^\s*\[ERROR [^\]]+\]: /.test(text)).map(({ text }) => text.trim());
  const proof = [...checks, ...(failure === undefined ? [] : [failure.line])];
  return (proof.length > 0 ? proof : lines.slice(-5).map(({ text }) => text)).map((text) => ({
    source: 'kubeadm',
    text,
  }));
}

/**
 * kubeadm's final error line: `error execution phase preflight: …` up to 1.33, with `error: ` before it since 1.34
 * (k/k#132080); without a phase for an invalid flag or configuration.
 */
function finalError(
  lines: readonly OutputLine[],
): { readonly line: string; readonly phase: string | undefined } | undefined {
  const found = lines.findLast(({ text }) => /^(error: )?error execution phase \S+: |^error: /.test(text));
  if (found !== undefined) {
    return { line: found.text, phase: /^(?:error: )?error execution phase ([^\s:]+):/.exec(found.text)?.[1] };
  }
  // Up to 1.33 an error without a phase has no prefix; it precedes the hint about --v.
  const hint = lines.findLastIndex(({ text }) => text.startsWith('To see the stack trace of this error'));
  const before = hint > 0 ? lines[hint - 1] : undefined;
  return before === undefined ? undefined : { line: before.text, phase: undefined };
}
