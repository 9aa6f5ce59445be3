import { MachineadmError } from '../document/errors.ts';
import type { KubernetesModel } from '../document/model.ts';
import { type Facts, reportedIdentity } from '../host/facts.ts';
import type { Host, QueryHost } from '../host/host.ts';
import { requireLivingCredentials, tokenDiscoveryOf } from '../kubernetes/join-credentials.ts';
import { kubeadmConfigPath, renderRedacted } from '../kubernetes/kubeadm/config.ts';
import { kubeadmDeadlineMs } from '../kubernetes/kubeadm/deadline.ts';
import { findLeftovers } from '../kubernetes/kubeadm/leftovers.ts';
import type { KubeadmCommand } from '../kubernetes/kubeadm/output.ts';
import { kubeadmObstacles } from '../kubernetes/kubeadm/preflight.ts';
import { decideRecovery, type Recovery } from '../kubernetes/kubeadm/recovery.ts';
import { resetOrder } from '../kubernetes/kubeadm/reset.ts';
import { runKubeadm } from '../kubernetes/kubeadm/runner.ts';
import { skippedPhases, withSkippedPhases } from '../kubernetes/kubeadm/skip-phases.ts';
import { expectedNodeName } from '../kubernetes/node-name.ts';
import { KUBELET_KUBECONFIG } from '../kubernetes/paths.ts';
import { documentPaths } from '../kubernetes/provided.ts';
import type { Change, Execution, Missing, Step, StepRecord } from './step.ts';

export interface KubeadmDesired {
  readonly kubernetes: KubernetesModel;
  readonly cgroupDriver: 'systemd' | 'cgroupfs' | undefined;
  readonly programs: Pick<Facts, 'kubeadm' | 'kubelet'>;
  readonly command: KubeadmCommand;
  readonly nodeName: string;
  readonly machineId: string;
  readonly systemUuid: string | undefined;
  readonly provided: ReadonlySet<string>;
  /** False where no service manager runs that could start the kubelet at boot. */
  readonly managesServices: boolean;
}

export interface KubeadmActual {
  /** What is left to do about kubeadm itself; undefined = it is done. */
  readonly run: 'anew' | 'resume' | 'adopt' | undefined;
  readonly attempted: boolean;
  readonly kubeletEnabled: boolean;
}

export type KubeadmPayload =
  | { readonly kind: 'enable-kubelet' }
  | { readonly kind: 'adopt' }
  | {
      readonly kind: 'run';
      readonly desired: KubeadmDesired;
      readonly resume: boolean;
      /** An earlier attempt began: what proved this machine then may have expired since. */
      readonly again: boolean;
    };

/**
 * Runs kubeadm, once, on the configuration that is on the disk by now. What it can be repeated from is decided in
 * `kubernetes/kubeadm/recovery.ts`, together with the step kubeadm-reset.
 */
export const kubeadm: Step<KubeadmDesired, KubeadmActual, KubeadmPayload> = {
  id: 'kubeadm',
  title: 'kubeadm',
  bootstraps: true,

  deadlineMs: ({ kubernetes }) => kubeadmDeadlineMs(kubernetes),

  desired(model, facts) {
    const { kubernetes, containerd } = model;
    if (kubernetes === undefined || kubernetes.exec !== undefined) return undefined;
    return {
      kubernetes,
      cgroupDriver: containerd?.cgroupDriver,
      programs: { kubeadm: facts.kubeadm, kubelet: facts.kubelet },
      command: kubernetes.role === 'InitControlPlane' ? 'init' : 'join',
      nodeName: expectedNodeName(kubernetes, model, facts),
      machineId: reportedIdentity(facts).machineId,
      systemUuid: reportedIdentity(facts).systemUuid,
      provided: documentPaths(kubernetes, model.host.files),
      managesServices: facts.serviceManager !== 'none',
    };
  },

  async preflight(host, desired) {
    // A machine that has joined may have been upgraded past the document since; then nothing of this is needed.
    if ((await host.stat(KUBELET_KUBECONFIG)) !== undefined) return [];
    const missing: Missing[] = [...kubeadmObstacles(desired.kubernetes, desired.cgroupDriver, desired.programs)];
    const { masked } = await host.service('kubelet');
    if (masked) {
      missing.push({
        reason: 'KubeletServiceMissing',
        what: 'the kubelet service is masked',
        remedy: 'Unmask it (systemctl unmask kubelet).',
      });
    }
    return missing;
  },

  async inspect(host, desired, record) {
    return {
      run: await whatIsLeft(host, desired, record),
      attempted: record.bootstrap === 'attempted',
      kubeletEnabled: !desired.managesServices || (await host.service('kubelet')).enabled,
    };
  },

  plan(desired, actual) {
    const changes: Change<KubeadmPayload>[] = [];
    if (!actual.kubeletEnabled) {
      changes.push({
        id: 'kubeadm/enable-kubelet',
        summary: 'start the kubelet at every boot (kubeadm only warns about it)',
        scope: 'node',
        ineffective: 'KubeletServiceNotEnabled',
        payload: { kind: 'enable-kubelet' },
      });
    }
    if (actual.run !== undefined) {
      const { command } = desired;
      const resume = actual.run === 'resume';
      const summary = {
        anew: `kubeadm ${command} --config ${kubeadmConfigPath(command)}`,
        resume: `kubeadm ${command}, going on where an earlier run was ended: its cluster is in use`,
        adopt: `kubeadm ${command} had finished when an earlier run was ended: only record it`,
      }[actual.run];
      const payload: KubeadmPayload =
        actual.run === 'adopt' ? { kind: 'adopt' } : { kind: 'run', desired, resume, again: actual.attempted };
      changes.push({ id: `kubeadm/${command}`, summary, scope: 'node', repeatable: false, payload });
    }
    return changes;
  },

  async apply(host, { payload }, execution) {
    switch (payload.kind) {
      case 'enable-kubelet':
        return await host.services.enable('kubelet');
      case 'adopt':
        return;
      case 'run':
        if (payload.again) await requireCredentials(host, payload.desired.kubernetes, execution.signal);
        return await bootstrap(host, payload.desired, payload.resume, execution);
    }
  },
};

async function whatIsLeft(host: QueryHost, desired: KubeadmDesired, record: StepRecord): Promise<KubeadmActual['run']> {
  if (record.bootstrap === 'done') {
    if ((await host.stat(KUBELET_KUBECONFIG)) !== undefined) return undefined;
    throw new MachineadmError({
      reason: 'StepNotEffective',
      exit: 'BootstrapperFailed',
      summary: `This machine was bootstrapped, but ${KUBELET_KUBECONFIG} does not exist: it is no node any more.`,
      remedy: 'Replace the machine. To bootstrap this one again, run machineadm reset and machineadm provision.',
      evidence: [{ source: KUBELET_KUBECONFIG, text: 'no such file' }],
    });
  }
  const leftovers = await findLeftovers(host, desired.kubernetes, desired.provided);
  const { role } = desired.kubernetes;
  const { nodeName, machineId, systemUuid } = desired;
  const { bootstrap, foreignLeftovers } = record;
  const recovery: Recovery = await decideRecovery(host, {
    role,
    bootstrap,
    foreignLeftovers,
    leftovers,
    nodeName,
    machineId,
    systemUuid,
  });
  if (recovery === 'resume') return 'resume';
  return recovery === 'finished' ? 'adopt' : 'anew';
}

async function requireCredentials(host: Host, kubernetes: KubernetesModel, signal: AbortSignal): Promise<void> {
  const discovery = tokenDiscoveryOf(kubernetes);
  if (discovery === undefined) return;
  const { certificateKey } = kubernetes.controlPlane;
  const fetchesCertificates = kubernetes.role === 'JoinControlPlane' && certificateKey !== undefined;
  await requireLivingCredentials(discovery, { token: await host.secret(discovery.token), fetchesCertificates }, signal);
}

async function bootstrap(host: Host, desired: KubeadmDesired, resume: boolean, execution: Execution): Promise<void> {
  const { kubernetes, command, cgroupDriver, programs } = desired;
  if (programs.kubeadm === undefined) {
    throw new MachineadmError({
      reason: 'KubeadmNotInstalled',
      summary: 'kubeadm is not installed.',
      remedy: `Install kubeadm of the minor version of ${kubernetes.version}.`,
    });
  }
  const path = kubeadmConfigPath(command);
  const configuration = await host.readText(path);
  if (configuration === undefined) {
    throw new MachineadmError({
      reason: 'KubeadmConfigFileMissing',
      summary: `${path} does not exist, although it was written before: a hook may have removed it.`,
      remedy: 'Correct the beforeBootstrap hooks of the document, and run machineadm provision again.',
    });
  }
  const { flags } = renderRedacted({ kubernetes, kubeadm: programs.kubeadm, cgroupDriver });
  const skipped = await skippedPhases(flags, configuration);
  // `machineadm reset` has no document: this note is how it knows what to undo.
  const undo = resetOrder(kubernetes, desired.nodeName);
  execution.remember({ undo });
  execution.waitingFor(`kubeadm ${command}`);
  await runKubeadm(
    host,
    {
      command,
      // Only preflight refuses what an earlier run made; every later phase accepts it (kubernetes/kubeadm#2095).
      flags: [`--config=${path}`, ...(resume ? withSkippedPhases(flags, ['preflight', ...skipped]) : flags)],
      expectsSuccessText: !skipped.includes('show-join-command'),
    },
    {
      signal: execution.signal,
      line: (text) => execution.output('kubeadm', text),
      remember: (note) => execution.remember({ ...note, undo }),
    },
  );
  execution.waitingFor(undefined);
}
