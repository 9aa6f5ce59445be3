import { type Evidence, MachineadmError } from '@machineadm/document/errors.ts';
import { describeKill, type Kill, killOf, remedyOfKill, signalOfStatus } from '../../host/processes/killed.ts';
import type { CommandResult, Host } from '../../host/seam/host.ts';
import { untilEtcdStaysDown } from '../control-plane-exits.ts';
import { untilKubeletStaysDown } from '../kubelet-unit.ts';
import {
  endingOf,
  evaluateRun,
  type KubeadmCommand,
  type KubeadmNote,
  KubeadmProgress,
  type OutputLine,
} from './output.ts';

/** What a running kubeadm reports to, and what ends it. */
export interface KubeadmWatch {
  readonly signal: AbortSignal;
  /** Each line, redacted, as it comes. */
  readonly line: (text: string) => void;
  /** Called when something that a next run must know has changed; durable before it returns. */
  readonly remember: (note: KubeadmNote) => void;
}

export interface KubeadmInvocation {
  readonly command: KubeadmCommand;
  /** Everything after the command: `--config`, …. No secret: arguments are visible to every user. */
  readonly flags: readonly string[];
  /** False where the phase that announces success is skipped. */
  readonly expectsSuccessText: boolean;
  readonly criSocket: string;
}

/** k/k cmd/kubeadm/app/cmd/phases/init/kubelet.go and join/kubelet.go: said right before it starts the kubelet. */
const KUBELET_STARTED = /^\[kubelet-start\] Starting the kubelet|^\[(kubelet-check|wait-control-plane)\] /;

/** k/k cmd/kubeadm/app/phases/etcd/local.go: said by a join right before it waits. */
const ETCD_AWAITED = /^\[etcd\] Waiting for the new etcd member to join the cluster/;

/** kubeadm prints a few hundred lines, with --v=5 some thousand; what a diagnosis needs stands at the end. */
const TRANSCRIPT_LINES = 5_000;

/**
 * Runs `kubeadm init` or `kubeadm join` to its end and judges it by its exit status and by what it said.
 *
 * @throws MachineadmError `BootstrapperFailed` with the whole output as transcript; diagnosis names the cause from it.
 *   `BootstrapperKilled` for one that a signal killed
 */
export async function runKubeadm(host: Host, invocation: KubeadmInvocation, watch: KubeadmWatch): Promise<void> {
  const { command, flags, expectsSuccessText } = invocation;
  const progress = new KubeadmProgress(command);
  const result = await supervised(host, invocation, [command, ...flags], progress, watch);
  // kubeadm itself never ends with such a status: a wrapper of this name reports how the program ended that it called.
  const signal = signalOfStatus(result.status);
  if (signal !== undefined) throw killed(command, { signal, outOfMemory: result.outOfMemory }, progress);
  const verdict = evaluateRun(command, result.status, progress, expectsSuccessText);
  if (verdict.succeeded) return;
  watch.remember({ ...progress.note, ended: endingOf(result.status, progress) });
  throw new MachineadmError({
    reason: 'BootstrapperFailed',
    summary: verdict.summary,
    remedy:
      'Read the lines of kubeadm in the evidence, correct the document or the machine, and run machineadm provision again; it cleans up after this attempt first.',
    evidence: verdict.evidence,
    transcript: transcriptOf(progress.lines),
  });
}

async function supervised(
  host: Host,
  { command, criSocket }: KubeadmInvocation,
  args: readonly string[],
  progress: KubeadmProgress,
  watch: KubeadmWatch,
): Promise<CommandResult> {
  const down = new AbortController();
  const ended = new AbortController();
  let kubelet: Promise<void> | undefined;
  let etcd: Promise<void> | undefined;
  const giveUpOn = (awaited: Awaited): ((why: string | undefined) => void) => {
    return (why) => {
      if (why !== undefined) down.abort(staysDown(command, awaited, why));
    };
  };
  try {
    return await host.run({
      program: 'kubeadm',
      args,
      signal: AbortSignal.any([watch.signal, down.signal]),
      supervised: true,
      onLine: (stream, text) => {
        // From here on it waits for minutes: what cannot come up is noticed at once.
        if (KUBELET_STARTED.test(text)) {
          kubelet ??= untilKubeletStaysDown(host, ended.signal).then(giveUpOn('kubelet'));
        }
        if (ETCD_AWAITED.test(text)) {
          etcd ??= untilEtcdStaysDown(host, criSocket, ended.signal).then(giveUpOn('etcd'));
        }
        // The note first: what a watcher does with a line must not come between the line and the journal.
        if (progress.observe({ stream, text })) watch.remember(progress.note);
        watch.line(text);
      },
    });
  } catch (error) {
    const kill = killOf(error);
    if (kill !== undefined) throw killed(command, kill, progress);
    if (!(error instanceof MachineadmError) || error.transcript.length > 0) throw error;
    // Ended at a deadline: what kubeadm was stuck in is in its lines, and only in them.
    const { reason, message, remedy, evidence, retryable, exit, cause } = error;
    const details = { reason, summary: message, remedy, evidence, retryable, exit, cause };
    throw new MachineadmError({ ...details, transcript: transcriptOf(progress.lines) });
  } finally {
    ended.abort();
    await kubelet;
    await etcd;
  }
}

type Awaited = 'kubelet' | 'etcd';

/** kubeadm was ended: what it waited for does not come. The verdict names the cause by the unit, or by the container. */
function staysDown(command: KubeadmCommand, awaited: Awaited, why: string): MachineadmError {
  const source = awaited === 'etcd' ? 'container runtime' : 'service manager';
  return new MachineadmError({
    reason: 'BootstrapperFailed',
    summary: `kubeadm ${command} was ended while it waited for ${awaited === 'etcd' ? 'etcd' : 'the kubelet'}, which does not come up: ${why}.`,
    remedy: `Correct what keeps ${awaited === 'etcd' ? 'etcd' : 'the kubelet'} from running, and run machineadm provision again.`,
    evidence: [{ source, text: why }],
  });
}

/** What a killed kubeadm printed last names no cause: the signal is the cause. */
function killed(command: KubeadmCommand, kill: Kill, { note, lines }: KubeadmProgress): MachineadmError {
  const where = note.lastPhase === undefined ? '' : ` in its phase ${note.lastPhase}`;
  return new MachineadmError({
    reason: 'BootstrapperKilled',
    summary: `kubeadm ${command} ${describeKill(kill)}${where}.`,
    remedy: `${remedyOfKill(kill, 'kubeadm')} The next run cleans up after this attempt first.`,
    evidence: [...(kill.outOfMemory === undefined ? [] : [kill.outOfMemory]), ...transcriptOf(lines).slice(-5)],
    transcript: transcriptOf(lines),
    retryable: true,
  });
}

/** kubeadm's output as the diagnosis room reads it. */
function transcriptOf(lines: readonly OutputLine[]): readonly Evidence[] {
  return lines.slice(-TRANSCRIPT_LINES).map(({ text }) => ({ source: 'kubeadm', text }));
}
