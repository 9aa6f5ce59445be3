import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  endingOf,
  evaluateRun,
  type KubeadmCommand,
  type KubeadmNote,
  KubeadmProgress,
  type OutputLine,
} from '@machineadm/kubeadm/output.ts';
import { describeKill, type Kill, killOf, remedyOfKill, signalOfStatus } from '../../host/commands/killed.ts';
import type { CommandResult, Host } from '../../host/seam/host.ts';
import { untilEtcdStaysDown } from '../control-plane-exits.ts';
import { untilKubeletStaysDown } from '../kubelet-unit.ts';
import { inShellEnvironment, type ShellEnvironment } from '../shell-environment.ts';

/** Callbacks and limits of a running kubeadm. */
export interface KubeadmWatch {
  readonly signal: AbortSignal;
  /** Each line, redacted, as it arrives. */
  readonly line: (text: string) => void;
  /** Called when something changed that the next run must know; durable before it returns. */
  readonly remember: (note: KubeadmNote) => void;
}

export interface KubeadmInvocation {
  readonly command: KubeadmCommand;
  /** Everything after the command: `--config`, …. Contains no secret: arguments are visible to every user. */
  readonly flags: readonly string[];
  /** False where the phase that prints success is skipped. */
  readonly expectsSuccessText: boolean;
  readonly criSocket: string;
  /** Those of the script that it is a part of (`host.hooks.singleScript`). */
  readonly shellEnvironment?: ShellEnvironment | undefined;
}

/** k/k cmd/kubeadm/app/cmd/phases/init/kubelet.go and join/kubelet.go: printed right before it starts the kubelet. */
const KUBELET_STARTED = /^\[kubelet-start\] Starting the kubelet|^\[(kubelet-check|wait-control-plane)\] /;

/** k/k cmd/kubeadm/app/phases/etcd/local.go: printed by a join right before it waits. */
const ETCD_AWAITED = /^\[etcd\] Waiting for the new etcd member to join the cluster/;

/** kubeadm prints a few hundred lines, with --v=5 some thousand; a diagnosis needs the last ones. */
const TRANSCRIPT_LINES = 5_000;

/**
 * Runs `kubeadm init` or `kubeadm join` to its end and evaluates its exit status and output.
 *
 * @throws MachineadmError `BootstrapperFailed` with the whole output as transcript, from which diagnosis finds the
 * cause; `BootstrapperKilled` when it was killed by a signal
 */
export async function runKubeadm(host: Host, invocation: KubeadmInvocation, watch: KubeadmWatch): Promise<void> {
  const { command, flags, expectsSuccessText } = invocation;
  const progress = new KubeadmProgress(command);
  const result = await supervised(host, invocation, [command, ...flags], progress, watch);
  // kubeadm itself never ends with such a status: a wrapper with this name reports how its program ended.
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
  { command, criSocket, shellEnvironment }: KubeadmInvocation,
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
      ...inShellEnvironment('kubeadm', args, shellEnvironment),
      signal: AbortSignal.any([watch.signal, down.signal]),
      supervised: true,
      changes: ['service:kubelet'],
      onLine: (stream, text) => {
        // kubeadm waits for minutes from here on, so a kubelet or etcd that cannot start is detected at once.
        if (KUBELET_STARTED.test(text)) {
          kubelet ??= untilKubeletStaysDown(host, ended.signal).then(giveUpOn('kubelet'));
        }
        if (ETCD_AWAITED.test(text)) {
          etcd ??= untilEtcdStaysDown(host, criSocket, ended.signal).then(giveUpOn('etcd'));
        }
        // The note is recorded first: a watcher must not delay it.
        if (progress.observe({ stream, text })) watch.remember(progress.note);
        watch.line(text);
      },
    });
  } catch (error) {
    const kill = killOf(error);
    if (kill !== undefined) throw killed(command, kill, progress);
    if (!(error instanceof MachineadmError) || error.transcript.length > 0) throw error;
    // Ended at a deadline: only its output shows what kubeadm was waiting for.
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

/**
 * kubeadm was ended because what it waits for cannot start. The verdict names the cause from the unit or the container.
 */
function staysDown(command: KubeadmCommand, awaited: Awaited, why: string): MachineadmError {
  const source = awaited === 'etcd' ? 'container runtime' : 'service manager';
  return new MachineadmError({
    reason: 'BootstrapperFailed',
    summary: `kubeadm ${command} was ended while it waited for ${awaited === 'etcd' ? 'etcd' : 'the kubelet'}, which does not come up: ${why}.`,
    remedy: `Correct what keeps ${awaited === 'etcd' ? 'etcd' : 'the kubelet'} from running, and run machineadm provision again.`,
    evidence: [{ source, text: why }],
  });
}

/** The last output of a killed kubeadm is not the cause: the signal is. */
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

/** kubeadm's output in the form that diagnosis reads. */
function transcriptOf(lines: readonly OutputLine[]): readonly Evidence[] {
  return lines.slice(-TRANSCRIPT_LINES).map(({ text }) => ({ source: 'kubeadm', text }));
}
