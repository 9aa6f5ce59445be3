import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { KUBELET_KUBECONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { kubeadmDeadlineMs } from '@machineadm/kubeadm/deadline.ts';
import type { KubeadmNote } from '@machineadm/kubeadm/output.ts';
import { reportedIdentity } from '../../host/seam/facts.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { unitTrouble } from '../../host/services/unit-trouble.ts';
import { attemptOf } from '../../kubernetes/kubeadm/attempt.ts';
import { kubeadmConfigPath, renderRedacted } from '../../kubernetes/kubeadm/config.ts';
import { skippedPhases, withSkippedPhases } from '../../kubernetes/kubeadm/configured.ts';
import { requireJoinable } from '../../kubernetes/kubeadm/joinable.ts';
import { findLeftovers } from '../../kubernetes/kubeadm/leftovers.ts';
import { MembershipWitness } from '../../kubernetes/kubeadm/membership.ts';
import { decideRecovery, type Recovery } from '../../kubernetes/kubeadm/recovery.ts';
import { undoNote } from '../../kubernetes/kubeadm/reset-order.ts';
import { type KubeadmInvocation, runKubeadm } from '../../kubernetes/kubeadm/runner.ts';
import { requireStartableKubelet, staysDown } from '../../kubernetes/kubelet-unit.ts';
import { expectedNodeName } from '../../kubernetes/node-name.ts';
import { documentPaths } from '../../kubernetes/provided.ts';
import { located } from '../../kubernetes/runtime-socket.ts';
import { scriptEnvironment } from '../../shell/single-script.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution, StepRecord } from '../../step/index.ts';
import { inventoryFor, inventoryNow } from './inventory.ts';
import { type KubeadmNeeds, kubeadmRequirements } from './requirements.ts';

export interface KubeadmDesired extends KubeadmNeeds {
  readonly nodeName: string;
  readonly nodeNameGiven: boolean;
  readonly machineId: string;
  readonly systemUuid: string | undefined;
  readonly isInScript: boolean;
  /** False without a service manager that could start the kubelet at boot. */
  readonly managesServices: boolean;
}

export interface KubeadmActual {
  /** The remaining work for kubeadm itself; undefined = done. */
  readonly run: 'anew' | 'resume' | 'adopt' | undefined;
  readonly attempted: boolean;
  readonly kubeletEnabled: boolean;
  /** Why the kubelet of a bootstrapped machine does not run and will not start by itself; undefined: it runs. */
  readonly kubeletDown: string | undefined;
}

export type KubeadmPayload =
  | { readonly kind: 'enable-kubelet' | 'start-kubelet' }
  | { readonly kind: 'adopt' }
  | {
      readonly kind: 'run';
      readonly desired: KubeadmDesired;
      readonly resume: boolean;
      /** An earlier attempt began: this machine's credentials may have expired since. */
      readonly again: boolean;
    };

/**
 * Runs kubeadm, once, with the configuration that is on disk by then. `kubernetes/kubeadm/recovery.ts` decides what can
 * be repeated, together with the step kubeadm-reset.
 */
export const kubeadm: FeatureStep<KubeadmDesired, KubeadmActual, KubeadmPayload> = {
  id: 'kubeadm',
  section: 'kubernetes',
  isRequested: STAYS,
  leaves: () => [
    'the Node object in the cluster: kubectl delete node removes it',
    'the network of the pods (/etc/cni/net.d, interfaces, packet filter rules): it is of its plug-in and of kube-proxy',
  ],

  deadlineMs: ({ kubernetes }) => kubeadmDeadlineMs(kubernetes),

  desired(model, facts) {
    const { kubernetes, containerd } = model;
    if (kubernetes === undefined || kubernetes.exec !== undefined) return undefined;
    return {
      kubernetes: located(kubernetes, model, facts),
      cgroupDriver: containerd?.cgroupDriver,
      programs: { kubeadm: facts.kubeadm, kubelet: facts.kubelet, containerd: facts.containerd },
      command: kubernetes.role === 'InitControlPlane' ? 'init' : 'join',
      nodeName: expectedNodeName(kubernetes, model, facts),
      nodeNameGiven: kubernetes.node.name !== undefined,
      machineId: reportedIdentity(facts).machineId,
      systemUuid: reportedIdentity(facts).systemUuid,
      provided: documentPaths(kubernetes, model.host.files),
      mountPoints: model.host.storage.mounts.map(({ path }) => path),
      isInScript: model.host.hooks.beforeBootstrap?.onError === 'Script',
      managesServices: facts.serviceManager !== 'none',
      model,
      facts,
    };
  },

  preflight: kubeadmRequirements,

  async inspect(host, desired, record) {
    const run = await whatIsLeft(host, desired, record);
    const kubelet = await host.service('kubelet');
    const trouble = run === undefined || run === 'adopt' ? unitTrouble(kubelet) : undefined;
    return {
      run,
      attempted: record.bootstrap === 'attempted',
      kubeletEnabled: !desired.managesServices || kubelet.enabled,
      kubeletDown: desired.managesServices && staysDown(trouble) ? trouble.text : undefined,
    };
  },

  plan(desired, actual) {
    const changes: Change<KubeadmPayload>[] = [];
    // First: a problem that prevents its start may also prevent enabling it, and is named by the start.
    if (actual.kubeletDown !== undefined) {
      changes.push({
        id: 'kubeadm/start-kubelet',
        summary: `start the kubelet of this node (now: ${actual.kubeletDown})`,
        scope: 'node',
        ineffective: 'KubeletStopped',
        payload: { kind: 'start-kubelet' },
      });
    }
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
      const resume = actual.run === 'resume';
      const summary = {
        anew: `kubeadm ${desired.command} --config ${kubeadmConfigPath(desired.command)}`,
        resume: `kubeadm ${desired.command}, resuming where an earlier run ended: its cluster is in use`,
        adopt: `kubeadm ${desired.command} had finished when an earlier run was ended: only record it`,
      }[actual.run];
      const payload: KubeadmPayload =
        actual.run === 'adopt' ? { kind: 'adopt' } : { kind: 'run', desired, resume, again: actual.attempted };
      changes.push({ id: `kubeadm/${desired.command}`, summary, scope: 'node', repeatable: false, payload });
    }
    return changes;
  },

  bootstrapper: {
    async inventory(host, { kubernetes, nodeName }, record) {
      const places = undoNote(kubernetes, nodeName);
      const mayHaveWritten = record.bootstrap === 'attempted' && !attemptOf(record.attempts).wroteNothing;
      if (!mayHaveWritten) return await inventoryNow(host, places, record);
      return record.inventory === undefined ? await inventoryFor(host, places, record) : undefined;
    },
  },

  async apply(host, { payload }, execution) {
    switch (payload.kind) {
      case 'enable-kubelet':
        return await enableKubelet(host);
      case 'start-kubelet':
        return await startKubelet(host);
      case 'adopt':
        return;
      case 'run':
        return await bootstrap(host, payload, execution);
    }
  },
};

/** Starts the kubelet of a node; the verdict names what prevents it. */
async function startKubelet(host: Host): Promise<void> {
  try {
    await host.services.start('kubelet');
  } catch (error) {
    if (!(error instanceof MachineadmError) || error.reason !== 'ServiceFailed') throw error;
    throw new MachineadmError({
      reason: 'KubeletNotHealthy',
      exit: 'NotReady',
      summary: `The kubelet of this node is down and could not be started: ${error.message}.`,
      remedy: error.remedy,
      evidence: error.evidence,
      retryable: true,
      cause: error,
    });
  }
}

async function enableKubelet(host: Host): Promise<void> {
  const { exists, detail } = await host.service('kubelet');
  if (exists) return await host.services.enable('kubelet');
  throw new MachineadmError({
    reason: 'KubeletServiceMissing',
    summary: 'The kubelet has no service that could be enabled.',
    remedy:
      "Install the kubelet's unit with its kubeadm drop-in, run systemctl daemon-reload and machineadm provision.",
    evidence: [{ source: 'service manager', text: `kubelet: ${detail}` }],
  });
}

async function whatIsLeft(host: QueryHost, desired: KubeadmDesired, record: StepRecord): Promise<KubeadmActual['run']> {
  if (record.bootstrap === 'done') {
    if ((await host.stat(KUBELET_KUBECONFIG)) !== undefined) return undefined;
    throw new MachineadmError({
      reason: 'StepNotEffective',
      exit: 'BootstrapperFailed',
      summary: `This machine was bootstrapped, but ${KUBELET_KUBECONFIG} does not exist: it is no longer a node.`,
      remedy: 'Replace the machine. To bootstrap this one again, run machineadm reset and machineadm provision.',
      evidence: [{ source: KUBELET_KUBECONFIG, text: 'no such file' }],
    });
  }
  const { kubernetes, nodeName } = desired;
  const recovery: Recovery = await decideRecovery(host, {
    ...desired,
    role: kubernetes.role,
    bootstrap: record.bootstrap,
    foreignLeftovers: record.foreignLeftovers,
    leftovers: await findLeftovers(host, kubernetes, desired.provided),
    inventory: await inventoryFor(host, undoNote(kubernetes, nodeName), record),
    attempt: attemptOf(record.attempts),
  });
  if (recovery === 'resume') return 'resume';
  return recovery === 'finished' ? 'adopt' : 'anew';
}

async function bootstrap(
  host: Host,
  { desired, resume, again }: Extract<KubeadmPayload, { readonly kind: 'run' }>,
  execution: Execution,
): Promise<void> {
  const { kubernetes, command, cgroupDriver, programs } = desired;
  if (programs.kubeadm === undefined) {
    throw new MachineadmError({
      reason: 'KubeadmNotInstalled',
      summary: 'kubeadm is not installed.',
      remedy: `Install kubeadm with the minor version of ${kubernetes.version}.`,
    });
  }
  const path = kubeadmConfigPath(command);
  const configuration = await host.readText(path);
  await requireJoinable(host, desired, { configuration, again }, execution.signal);
  if (configuration === undefined) {
    throw new MachineadmError({
      reason: 'KubeadmConfigFileMissing',
      summary: `${path} does not exist, although it was written before: a hook may have removed it.`,
      remedy: 'Correct the beforeBootstrap hooks of the document, and run machineadm provision again.',
    });
  }
  const { flags } = renderRedacted({ kubernetes, kubeadm: programs.kubeadm, cgroupDriver });
  const skipped = await skippedPhases(flags, configuration);
  execution.waitingFor(`kubeadm ${command}`);
  await runWitnessed(
    host,
    desired,
    {
      command,
      // Only preflight refuses an earlier run's results; every later phase accepts them (kubernetes/kubeadm#2095).
      flags: [`--config=${path}`, ...(resume ? withSkippedPhases(flags, ['preflight', ...skipped]) : flags)],
      expectsSuccessText: !skipped.includes('show-join-command'),
      criSocket: kubernetes.node.criSocket,
      shellEnvironment: desired.isInScript ? await scriptEnvironment(host) : undefined,
    },
    execution,
  );
  execution.waitingFor(undefined);
}

/** Runs kubeadm and records in the journal how far it came, and its effects on the cluster's etcd. */
async function runWitnessed(
  host: Host,
  { kubernetes, nodeName }: KubeadmDesired,
  invocation: KubeadmInvocation,
  execution: Execution,
): Promise<void> {
  const { cluster, controlPlane, role } = kubernetes;
  await requireStartableKubelet(host);
  // `machineadm reset` has no document: this note contains what to undo.
  const undo = undoNote(kubernetes, nodeName);
  let note: KubeadmNote | undefined;
  const remember = (): void => execution.remember({ ...note, ...witness?.facts, undo });
  const { certificatesDirectory } = cluster;
  const { advertiseAddress } = controlPlane.apiEndpoint;
  const joinsEtcd = role === 'JoinControlPlane' && controlPlane.etcd.kind === 'local';
  const witness = joinsEtcd
    ? new MembershipWitness(host, { certificatesDirectory, advertiseAddress }, execution.signal, remember)
    : undefined;
  remember();
  try {
    await runKubeadm(host, invocation, {
      signal: execution.signal,
      line: (text) => execution.output('kubeadm', text),
      remember: (now) => {
        note = now;
        remember();
        witness?.observe(now);
      },
    });
  } finally {
    await witness?.close();
  }
}
