import { setTimeout as pause } from 'node:timers/promises';
import type { ExecModel } from '@machineadm/document/model/index.ts';
import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { passesSuccessTest } from '../../kubernetes/exec/runner.ts';
import { type KubeletHealth, kubeletHealth } from '../../kubernetes/kubelet-health.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Execution } from '../../step/index.ts';

export interface ExecReadinessDesired {
  readonly exec: ExecModel;
  readonly timeoutMs: number;
  readonly bootId: string;
}

export type ExecReadinessActual = { readonly proved: true } | { readonly proved: false; readonly why: string };

const PAUSE_MS = 2_000;

/**
 * The proof of a working node that a program of the document has bootstrapped: its success test, or the kubelet's
 * health. A command may have side effects, so `plan` cannot run it: a passed test counts until the next boot. The
 * kubelet is checked in every run.
 */
export const execReadiness: FeatureStep<ExecReadinessDesired, ExecReadinessActual, ExecReadinessDesired> = {
  id: 'exec-readiness',
  section: 'kubernetes.ready',
  isRequested: STAYS,

  desired({ kubernetes }, facts) {
    if (kubernetes?.exec === undefined) return undefined;
    return { exec: kubernetes.exec, timeoutMs: kubernetes.ready.timeoutMs, bootId: facts.bootId };
  },

  async inspect(host, desired, record) {
    const passed = member(record.notes.get(changeId(desired.exec)), 'bootId') === desired.bootId;
    if (desired.exec.proof === 'Command') {
      return passed ? { proved: true } : { proved: false, why: 'the success test has not passed since the boot' };
    }
    const health = await healthOf(host);
    if (!health.healthy) return { proved: false, why: health.why };
    return passed ? { proved: true } : { proved: false, why: 'it is' };
  },

  plan(desired, actual) {
    if (actual.proved) return [];
    const what = desired.exec.proof === 'Command' ? 'the success test passes' : 'the kubelet is healthy';
    return [
      {
        id: changeId(desired.exec),
        summary: `wait until ${what} (now: ${actual.why})`,
        action: 'run',
        scope: 'node',
        knownAfter: 'exec-bootstrapper',
        ineffective: desired.exec.proof === 'Command' ? 'SuccessTestFailed' : 'KubeletNotHealthy',
        payload: desired,
      },
    ];
  },

  async apply(host, { payload }, execution) {
    const { exec, timeoutMs, bootId } = payload;
    const end = performance.now() + timeoutMs;
    for (;;) {
      const found = await probe(host, exec, execution);
      if (found.ready) break;
      if (performance.now() + PAUSE_MS > end) throw notReady(exec, found);
      execution.waitingFor(exec.proof === 'Command' ? 'the success test to pass' : `the kubelet: ${found.why}`);
      await pause(PAUSE_MS, undefined, { signal: execution.signal });
    }
    execution.waitingFor(undefined);
    execution.remember({ bootId });
  },
};

type Probe =
  | { readonly ready: true }
  | { readonly ready: false; readonly why: string; readonly words: readonly string[] };

async function probe(host: Host, exec: ExecModel, execution: Execution): Promise<Probe> {
  if (exec.proof === 'KubeletHealthy') {
    const health = await healthOf(host, execution.signal);
    return health.healthy ? { ready: true } : { ready: false, why: health.why, words: [health.why] };
  }
  const { passed, words } = await passesSuccessTest(host, exec, execution.signal);
  return passed === true ? { ready: true } : { ready: false, why: 'the success test does not pass', words };
}

/** The program decides where the kubelet's configuration is: so the kubelet's default endpoint is checked. */
async function healthOf(host: QueryHost, signal?: AbortSignal): Promise<KubeletHealth> {
  return await kubeletHealth(host, signal, { withoutConfiguration: 'ask-default' });
}

function notReady(exec: ExecModel, found: Extract<Probe, { ready: false }>): MachineadmError {
  const byCommand = exec.proof === 'Command';
  return new MachineadmError({
    reason: byCommand ? 'SuccessTestFailed' : 'KubeletNotHealthy',
    exit: 'NotReady',
    summary: byCommand
      ? `${exec.command} succeeded, but the success test (${exec.successTest?.[0] ?? ''}) does not pass.`
      : `${exec.command} ended well, but ${found.why}.`,
    remedy: 'Check what the bootstrapper started on this machine. kubernetes.ready.timeout sets how long to wait.',
    evidence: evidenceFrom(byCommand ? 'success test' : 'kubelet', found.words),
    retryable: true,
  });
}

function changeId(exec: ExecModel): string {
  return `exec-readiness/${exec.proof}`;
}
