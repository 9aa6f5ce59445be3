import { type Evidence, errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { HOOKS_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { leaveDomain } from '../../features/active-directory/leave.ts';
import { removeKubeadmConfig } from '../../features/kubeadm/wipe.ts';
import type { Host } from '../../host/seam/host.ts';
import { resetProgram } from '../../kubernetes/exec/runner.ts';
import { removeRest, unmountAll } from '../../kubernetes/kubeadm/cleanup.ts';
import { resetNode } from '../../kubernetes/kubeadm/reset.ts';
import type { ResetAction } from '../../step/reset-action.ts';
import type { ResetPlan } from './plan.ts';

export interface ResetWatch {
  readonly signal: AbortSignal;
  /** What is being done, one line each, redacted. */
  line(text: string): void;
}

/** Carries out a plan. Every part may meet that it was done before. */
export async function performReset(host: Host, plan: ResetPlan, { signal, line }: ResetWatch): Promise<void> {
  const say = (text: string): void => line(redact(text));
  if (plan.sentinel !== undefined) await host.removeFile(plan.sentinel);
  await unmountVolumes(host, plan, say, signal);
  if (plan.kubeadm !== undefined) {
    const watch = { signal, line: say, warn: (text: string) => say(`warning: ${text}`), waitingFor: () => {} };
    await resetNode(host, { ...plan.kubeadm, offline: false, automatic: false }, watch);
  }
  for (const path of plan.upgradeRemains) {
    say(`remove ${path}`);
    await removeRest(host, path, signal);
  }
  if (plan.exec !== undefined) await resetProgram(host, { reset: plan.exec }, { signal, line: say });
  // Its keys go with the files.
  if (plan.domain !== undefined) await leaveDomain(host, plan.domain, { line: say, signal });
  if (plan.isWhole || plan.kubeadm !== undefined) await removeKubeadmConfig(host, say);
  if (plan.isWhole && (await host.stat(HOOKS_DIRECTORY)) !== undefined) {
    await host.run({ program: 'rm', args: ['-r', '-f', '--one-file-system', '--', HOOKS_DIRECTORY], signal });
  }
  await restore(host, plan.restore, say, signal);
}

/** The kubelet would mount them again, so it is stopped first. */
async function unmountVolumes(
  host: Host,
  { mounts, kubeadm }: ResetPlan,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  if (kubeadm !== undefined && (await host.service('kubelet')).exists) await host.services.stop('kubelet');
  await unmountAll(host, mounts.kubelet, { signal, line: say });
}

/** Everything that can be restored is, before the first failure is thrown: what is left is done by the next reset. */
async function restore(
  host: Host,
  actions: readonly ResetAction[],
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const failures: Evidence[] = [];
  for (const { summary, perform } of actions) {
    signal.throwIfAborted();
    if (summary !== undefined) say(summary);
    try {
      await perform?.(host, signal);
    } catch (error) {
      signal.throwIfAborted();
      failures.push({ source: summary ?? 'reset', text: errorMessage(error) });
    }
  }
  if (actions.length > 0) await host.sync('/');
  if (failures.length === 0) return;
  throw new MachineadmError({
    reason: 'ResetFailed',
    summary: `The reset could not ${failures.map(({ source }) => source).join('; ')}.`,
    remedy: 'Correct the causes below, and run machineadm reset again: it continues where it stopped.',
    evidence: failures,
    retryable: true,
  });
}
