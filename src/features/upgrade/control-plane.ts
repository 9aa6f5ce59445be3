import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { whyFixedArgument } from '@machineadm/document/sections/kubernetes/fixed-pod-settings.ts';
import type { RequestedNames } from '@machineadm/kubeadm/components.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { driftObstacles, quorumOf } from '../../kubernetes/upgrade/check-machine.ts';
import { ClusterUnanswered, clusterConfiguration, ownCredential } from '../../kubernetes/upgrade/cluster.ts';
import { leaseHolder, upgradeLocked } from '../../kubernetes/upgrade/lease.ts';
import type { UpgradeObstacle } from '../../kubernetes/upgrade/obstacle.ts';
import { changePod, type PodWish, recordPods } from '../../kubernetes/upgrade/pod-change.ts';
import { forgetPods, keepPods, keptPods } from '../../kubernetes/upgrade/pod-kept.ts';
import { describePodChange, isPatched, type PodChange, podChanges } from '../../kubernetes/upgrade/pod-settings.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution, StepRecord, UnmetRequirement } from '../../step/index.ts';
import { CHANGEABLE_PODS, type ChangeablePod, changes, type PodNames, type Upgrade } from '../../step/upgrade-order.ts';
import { CONTROL_PLANE, RECORD_CHANGE } from './control-plane-back.ts';
import { nodeNameOf, type UpgradeDesired, upgradeDesired, wrongProgram } from './desired.ts';
import { takeTurn, untilAnswered } from './turn.ts';

const DEFAULT_TIMEOUT_MS = 4 * 60_000;
/** The turn, each static pod, and kubeadm. */
const MOST_WAITS = 8;
const FIELD = 'kubernetes.controlPlane';
/** The fields of the document. */
const FIELDS: Readonly<Record<ChangeablePod, string>> = {
  'kube-controller-manager': `${FIELD}.controllerManager`,
  'kube-scheduler': `${FIELD}.scheduler`,
  etcd: `${FIELD}.etcd.local`,
};

interface ControlPlaneActual {
  readonly upgrade: Upgrade | undefined;
  readonly done: ReadonlySet<string>;
  /** Changes that an earlier run began. */
  readonly unfinished: ReadonlySet<string>;
  readonly differences: ReadonlyMap<ChangeablePod, readonly PodChange[]>;
}

interface ControlPlanePayload {
  readonly desired: UpgradeDesired;
  /** undefined: the record in the cluster. */
  readonly pod: ChangeablePod | undefined;
  readonly before: PodNames;
  readonly isUnfinished: boolean;
  /** The first change of an upgrade keeps how the pods were. */
  readonly keeps: boolean;
}

const NONE: RequestedNames = { args: [], env: [], volumes: [] };
const changeOf = (pod: ChangeablePod): string => `${CONTROL_PLANE}/${pod}`;

/**
 * Changes arguments, variables and volumes of the static pods of a control plane, one pod after the other, and proves each.
 * Those of the API server have a step of their own. In an upgrade to another version it comes after kubeadm, which writes
 * the manifests of that version.
 */
export const upgradeControlPlane: FeatureStep<UpgradeDesired, ControlPlaneActual, ControlPlanePayload> = {
  id: 'upgrade-control-plane',
  section: FIELD,
  isRequested: STAYS,

  desired(model, facts) {
    const desired = upgradeDesired(model, facts);
    return desired?.isControlPlane === true ? desired : undefined;
  },

  idle: (_desired, { upgrade }) => !changes(upgrade, 'controlPlane'),

  deadlineMs: ({ kubernetes }) => MOST_WAITS * (kubernetes.timeouts.controlPlaneMs ?? DEFAULT_TIMEOUT_MS),

  async preflight(host, desired, record) {
    const upgrade = record?.upgrade;
    if (record === undefined || upgrade === undefined || !changes(upgrade, 'controlPlane')) return [];
    if (record.done.has(RECORD_CHANGE)) return [];
    const differences = await differencesOf(host, desired, record);
    const refused = [...differences].flatMap(([pod, all]) => all.flatMap((one) => fixed(desired, pod, one)));
    // What it began must come to an end.
    const isBegun = record.interrupted.size + record.done.size > 0;
    // In an upgrade to another version the step of kubeadm checks the same.
    const isChecked = isBegun || changes(upgrade, 'version');
    const found = isChecked
      ? []
      : await obstaclesOf(host, desired, upgrade, (differences.get('etcd') ?? []).length > 0);
    return [
      ...refused,
      ...found.map((one): UnmetRequirement => ({ ...one, change: RECORD_CHANGE, scope: 'node', certain: true })),
    ];
  },

  async inspect(host, desired, record) {
    const { upgrade, done, interrupted } = record;
    return { upgrade, done, unfinished: interrupted, differences: await differencesOf(host, desired, record) };
  },

  plan(desired, { upgrade, done, unfinished, differences }) {
    if (!changes(upgrade, 'controlPlane') || done.has(RECORD_CHANGE)) return [];
    const isFirst = done.size + unfinished.size === 0;
    const change = (
      id: string,
      summary: string,
      payload: Pick<ControlPlanePayload, 'pod' | 'keeps'>,
    ): Change<ControlPlanePayload> => ({
      ...{ id, summary, action: 'change', scope: 'node', repeatable: false },
      ineffective: 'ControlPlaneNotReconfigured',
      payload: { desired, before: upgrade?.before ?? {}, isUnfinished: unfinished.has(id), ...payload },
    });
    const pods = CHANGEABLE_PODS.filter((pod) => {
      const isLeft = (differences.get(pod) ?? []).length > 0 || unfinished.has(changeOf(pod));
      return isLeft && !done.has(changeOf(pod));
    });
    return [
      ...pods.map((pod, index) => {
        const named = (differences.get(pod) ?? []).map(describePodChange);
        const what = named.length === 0 ? 'as an earlier run began it' : named.join('; ');
        return change(changeOf(pod), `change ${pod}: ${what}, and restart it`, { pod, keeps: isFirst && index === 0 });
      }),
      change(RECORD_CHANGE, 'record the settings of the control plane in the cluster (ConfigMap kubeadm-config)', {
        ...{ pod: undefined, keeps: false },
      }),
    ];
  },

  async apply(host, { payload: { desired, pod, before, isUnfinished, keeps } }, execution) {
    const { signal } = execution;
    const waitingFor = (what: string | undefined): void => execution.waitingFor(what);
    if (isUnfinished) {
      const why = await untilAnswered(host, desired, execution);
      if (why !== undefined) throw unanswered(why);
    }
    const turn = pod === 'etcd' ? desired : { ...desired, hasLocalEtcd: false };
    const notBegun = `This run did not ${pod === undefined ? 'record the settings of the control plane' : `change ${pod}`}`;
    await takeTurn(host, turn, execution, notBegun);
    const wish = await wishOf(host, desired, before, execution);
    if (pod === undefined) {
      waitingFor('kubeadm to record the settings in the cluster');
      await recordPods(host, wish, signal);
      waitingFor(undefined);
      await forgetPods(host);
      return;
    }
    const known = keeps ? undefined : await keptPods(host);
    const kept = known ?? (await keepPods(host, CHANGEABLE_PODS));
    const timeoutMs = desired.kubernetes.timeouts.controlPlaneMs ?? DEFAULT_TIMEOUT_MS;
    await changePod(host, wish, pod, kept, { timeoutMs, signal, waitingFor });
  },
};

async function wishOf(host: Host, desired: UpgradeDesired, before: PodNames, { signal }: Execution): Promise<PodWish> {
  const { kubernetes, socket, programs } = desired;
  const { kubeadm } = programs;
  if (kubeadm === undefined) throw unanswered('kubeadm is not installed');
  return {
    ...{ kubernetes, socket, kubeadm },
    cluster: await clusterConfiguration(await ownCredential(host, true), signal),
    nodeName: await nodeNameOf(host, desired),
    pods: CHANGEABLE_PODS.filter((pod) => pod !== 'etcd' || desired.hasLocalEtcd).map((pod) => ({
      pod,
      before: before[pod] ?? NONE,
    })),
  };
}

/** What differs; of a pod that was changed already, only what this document asks for. */
async function differencesOf(
  host: QueryHost,
  { kubernetes }: UpgradeDesired,
  { upgrade, done }: Pick<StepRecord, 'done'> & { readonly upgrade?: Upgrade | undefined },
): Promise<ReadonlyMap<ChangeablePod, readonly PodChange[]>> {
  const found = new Map<ChangeablePod, readonly PodChange[]>();
  if (!changes(upgrade, 'controlPlane')) return found;
  const cluster = CHANGEABLE_PODS.some((pod) => isPatched(kubernetes, pod)) ? await clusterOrNothing(host) : undefined;
  for (const pod of CHANGEABLE_PODS) {
    if (done.has(changeOf(pod))) continue;
    found.set(pod, await podChanges(host, kubernetes, pod, upgrade?.before?.[pod], cluster));
  }
  return found;
}

async function clusterOrNothing(host: QueryHost): Promise<unknown> {
  try {
    return await clusterConfiguration(await ownCredential(host, true));
  } catch (error) {
    if (error instanceof ClusterUnanswered) return undefined;
    throw error;
  }
}

function fixed({ kubernetes }: UpgradeDesired, pod: ChangeablePod, change: PodChange): readonly UnmetRequirement[] {
  const why = change.kind === 'argument' ? whyFixedArgument(pod, change.name) : undefined;
  if (why === undefined) return [];
  const { controllerManager, scheduler, etcd } = kubernetes.controlPlane;
  const local = etcd.kind === 'local' ? etcd.args : [];
  const args = { 'kube-controller-manager': controllerManager.args, 'kube-scheduler': scheduler.args, etcd: local }[
    pod
  ];
  const index = args.findIndex(({ name }) => name === change.name);
  const { from = 'the default of kubeadm', to = 'the default of kubeadm' } = change;
  return [
    {
      reason: 'DocumentChanged',
      what: `--${change.name} of ${pod} cannot change on a running node (${from} -> ${to}): ${why}`,
      remedy:
        change.from === undefined ? 'Remove it, or replace the machine.' : `Write ${from}, or replace the machine.`,
      ...{ field: `${FIELDS[pod]}.args${index === -1 ? '' : `[${index}]`}`, scope: 'node', certain: true },
    },
  ];
}

/** What is in the way, before any change. */
async function obstaclesOf(
  host: QueryHost,
  desired: UpgradeDesired,
  upgrade: Upgrade,
  restartsEtcd: boolean,
): Promise<readonly (UpgradeObstacle | UnmetRequirement)[]> {
  const program = wrongProgram('kubeadm', desired, upgrade);
  const found: (UpgradeObstacle | UnmetRequirement)[] = program === undefined ? [] : [program];
  const { kubernetes, socket, programs } = desired;
  try {
    const credential = await ownCredential(host, true);
    const holder = await leaseHolder(credential);
    const nodeName = await nodeNameOf(host, desired);
    if (holder !== undefined && holder !== nodeName) {
      const { reason, message, remedy } = upgradeLocked(holder);
      found.push({ reason, what: message, remedy });
    }
    const cluster = await clusterConfiguration(credential);
    if (upgrade.overwritesManifests !== true)
      found.push(...(await driftObstacles(host, upgrade, programs.kubeadm, { kubernetes, socket, cluster, nodeName })));
  } catch (error) {
    if (!(error instanceof ClusterUnanswered)) throw error;
    const remedy = 'Make sure that the API server answers, then run machineadm upgrade again.';
    return [...found, { reason: 'PreflightFailed', what: `the cluster cannot be asked: ${error.why}`, remedy }];
  }
  if (!restartsEtcd) return found;
  const { obstacle, outlook } = await quorumOf(host);
  if (obstacle !== undefined) return [...found, obstacle];
  const warning: UpgradeObstacle = {
    reason: 'EtcdQuorumAtRisk',
    what: 'etcd has fewer than three members: the API pauses while the member of this machine restarts',
    remedy: 'With three control planes it does not.',
    severity: 'warning',
  };
  return (outlook?.members ?? 0) <= 2 ? [...found, warning] : found;
}

function unanswered(why: string): MachineadmError {
  return new MachineadmError({
    reason: 'ControlPlaneNotReconfigured',
    summary: `This run did not change the control plane: ${why}.`,
    remedy: 'Make sure that the API server answers, then run machineadm upgrade again.',
    evidence: [{ source: 'API server', text: why }],
    retryable: true,
  });
}
