import { type Evidence, MachineadmError } from '../../document/errors.ts';
import type { CommandResult, Host } from '../../host/host.ts';
import { judge, type KubeadmCommand, type KubeadmNote, KubeadmProgress, type OutputLine } from './output.ts';

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
}

/** kubeadm prints a few hundred lines, with --v=5 some thousand; what a diagnosis needs stands at the end. */
const TRANSCRIPT_LINES = 5_000;

/**
 * Runs `kubeadm init` or `kubeadm join` to its end and judges it by its exit status and by what it said.
 *
 * @throws MachineadmError `BootstrapperFailed` with the whole output as transcript; diagnosis names the cause from it
 */
export async function runKubeadm(host: Host, invocation: KubeadmInvocation, watch: KubeadmWatch): Promise<void> {
  const { command, flags, expectsSuccessText } = invocation;
  const progress = new KubeadmProgress(command);
  const result = await supervised(host, [command, ...flags], progress, watch);
  const verdict = judge(command, result.status, progress, expectsSuccessText);
  if (verdict.succeeded) return;
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
  args: readonly string[],
  progress: KubeadmProgress,
  watch: KubeadmWatch,
): Promise<CommandResult> {
  try {
    return await host.run({
      program: 'kubeadm',
      args,
      signal: watch.signal,
      supervised: true,
      onLine: (stream, text) => {
        // The note first: what a watcher does with a line must not come between the line and the journal.
        if (progress.observe({ stream, text })) watch.remember(progress.note);
        watch.line(text);
      },
    });
  } catch (error) {
    if (!(error instanceof MachineadmError) || error.transcript.length > 0) throw error;
    // Ended at a deadline: what kubeadm was stuck in is in its lines, and only in them.
    const { reason, message, remedy, evidence, retryable, exit, cause } = error;
    const details = { reason, summary: message, remedy, evidence, retryable, exit, cause };
    throw new MachineadmError({ ...details, transcript: transcriptOf(progress.lines) });
  }
}

/** kubeadm's output as the diagnosis room reads it. */
export function transcriptOf(lines: readonly OutputLine[]): readonly Evidence[] {
  return lines.slice(-TRANSCRIPT_LINES).map(({ text }) => ({ source: 'kubeadm', text }));
}
