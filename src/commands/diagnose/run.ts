import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import type { Verdict } from '@machineadm/failures/verdict.ts';
import { formatCauses, nextCommand } from '@machineadm/status/progress.ts';
import { type OutputFormat, printData, printReport } from '../../cli/output.ts';
import { usageError } from '../../cli/usage-error.ts';

export interface DiagnoseOptions {
  readonly log?: readonly string[];
  readonly kubeadmExitCode?: string;
  readonly output: OutputFormat;
}

/**
 * `machineadm diagnose`: finds why a bootstrap failed, on this machine or in saved logs. The verdict is the result, so
 * the exit code only says whether there is one.
 */
export async function diagnose(options: DiagnoseOptions): Promise<number> {
  const exitStatus = parseExitStatus(options.kubeadmExitCode);
  const verdict =
    options.log === undefined
      ? await (await import('./machine.ts')).diagnoseMachine(exitStatus)
      : await (await import('../../diagnosis/diagnose-logs.ts')).diagnoseLogs(options.log, exitStatus);
  if (options.output !== 'text') await printData(options.output, 'Diagnosis', verdict);
  else printReport(formatVerdict(verdict));
  return exitCode('Success');
}

/** Lines of logs. Evidence without a line is that of the run itself, which `status` shows whole, too. */
const MOST_EVIDENCE = 3;

const CLEANUPS: Readonly<Record<Verdict['cleanup'], string | undefined>> = {
  none: undefined,
  reset:
    'make sure that this machine is no node that works: `systemctl is-active kubelet`, `curl -ks https://127.0.0.1:6443/livez`. Otherwise machineadm provision removes what its failed attempt left; after another kubeadm, run `kubeadm reset`, which asks first',
  'reset+member':
    'make sure that this machine is no node that works: `systemctl is-active kubelet`, `curl -ks https://127.0.0.1:6443/livez`. Otherwise machineadm provision removes what its failed attempt left, its etcd member too; after another kubeadm, look at `etcdctl member list` on a control plane that works, remove only the member of this machine, and run `kubeadm reset`, which asks first',
};

/** The verdict for people: the cause, the lines that prove it, the remedy, and the command to try next. */
export function formatVerdict(verdict: Verdict): string {
  if (verdict.outcome === 'success') {
    return ['success: the bootstrap completed', ...evidenceLines(verdict)].join('\n');
  }
  const { reason, summary, phase, symptoms, remedy, retryable } = verdict;
  const cleanup = CLEANUPS[verdict.cleanup];
  return [
    `${reason}: ${summary}`,
    ...evidenceLines(verdict),
    ...formatCauses(verdict),
    ...(phase === '' ? [] : [`kubeadm ended in phase ${phase}`]),
    ...(symptoms.length === 0 ? [] : [`also seen: ${symptoms.join(', ')}`]),
    `What to do: ${remedy}`,
    ...(cleanup === undefined ? [] : [`Before another attempt: ${cleanup}`]),
    `Try next: ${nextCommand({ reason, retryable })}`,
  ].join('\n');
}

function evidenceLines({ evidence }: Verdict): readonly string[] {
  return evidence
    .filter(({ line }, index) => line === 0 || index < MOST_EVIDENCE)
    .map(({ source, line, text }) => `  ${source}${line === 0 ? '' : `:${line}`}: ${text}`);
}

function parseExitStatus(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const status = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (status <= 255) return status;
  throw usageError(
    `--kubeadm-exit-code: "${text}" is not an exit status`,
    'Write the number that kubeadm ended with, from 0 to 255.',
  );
}
