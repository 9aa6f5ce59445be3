import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import {
  certificateObstacles,
  driftObstacles,
  etcdObstacles,
  spaceAt,
} from '../../kubernetes/upgrade/check-machine.ts';
import { settingObstacles } from '../../kubernetes/upgrade/check-settings.ts';
import { clusterObstacles, stepObstacle } from '../../kubernetes/upgrade/check-versions.ts';
import { ClusterUnanswered, clusterConfiguration, ownCredential } from '../../kubernetes/upgrade/cluster.ts';
import { beginCopies, endCopies } from '../../kubernetes/upgrade/kubeadm-copies.ts';
import {
  removePatches,
  runUpgrade,
  type UpgradeCommand,
  upgradeCommandLine,
} from '../../kubernetes/upgrade/kubeadm-upgrade.ts';
import { leaseHolder, upgradeLocked } from '../../kubernetes/upgrade/lease.ts';
import type { UpgradeObstacle } from '../../kubernetes/upgrade/obstacle.ts';
import { recordObstacles } from '../../kubernetes/upgrade/pod-settings.ts';
import { controlPlaneVersions } from '../../kubernetes/upgrade/running-version.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { UnmetRequirement } from '../../step/index.ts';
import { changes, type Upgrade, versionUpgrade } from '../../step/upgrade-order.ts';
import {
  hasVersion,
  nodeNameOf,
  orderOf,
  plain,
  type UpgradeDesired,
  upgradeDesired,
  wrongProgram,
} from './desired.ts';
import { imageObstacles } from './image-checks.ts';
import { bringImages } from './images.ts';
import { continueAfterKill, takeTurn, unanswered } from './turn.ts';

const RUN = 'upgrade-kubeadm/run';
const MINUTE_MS = 60_000;
/** kubeadm waits 5 minutes for each static pod (timeouts.upgradeManifests), and pulls images before. */
const CONTROL_PLANE_MS = 60 * MINUTE_MS;
const WORKER_MS = 10 * MINUTE_MS;
/** Of the file system of images. */
const SPACE_FOR_LOGS = 64 * 2 ** 20;

interface KubeadmActual {
  readonly upgrade: Upgrade | undefined;
  readonly isDone: boolean;
  /** An earlier run was killed, or failed, while kubeadm ran. */
  readonly isUnfinished: boolean;
  readonly command: UpgradeCommand | undefined;
}

interface KubeadmPayload {
  readonly desired: UpgradeDesired;
  readonly upgrade: Upgrade;
  readonly isUnfinished: boolean;
  readonly command: UpgradeCommand | undefined;
}

/** Runs `kubeadm upgrade apply` on the first control plane of a cluster, and `kubeadm upgrade node` on all other machines. */
export const upgradeKubeadm: FeatureStep<UpgradeDesired, KubeadmActual, KubeadmPayload> = {
  id: 'upgrade-kubeadm',
  section: 'kubernetes.version',
  isRequested: STAYS,

  desired: upgradeDesired,

  idle: (_desired, record) => versionUpgrade(record) === undefined,

  deadlineMs: ({ isControlPlane }) => (isControlPlane ? CONTROL_PLANE_MS : WORKER_MS),

  async preflight(host, desired, record) {
    const upgrade = versionUpgrade(record);
    if (record === undefined || upgrade === undefined || record.done.has(RUN)) return [];
    const program = wrongProgram('kubeadm', desired, upgrade);
    const programs = program === undefined ? [] : [program];
    // What it began must come to an end: while it is half done, the cluster may be unable to answer.
    if (record.interrupted.has(RUN)) return programs;
    const found = await obstaclesOf(host, desired, upgrade);
    return [
      ...programs,
      ...found.map((one): UnmetRequirement => ({ ...one, change: RUN, scope: 'node', certain: true })),
    ];
  },

  async inspect(host, desired, record) {
    const { done, interrupted, notes } = record;
    const upgrade = versionUpgrade(record);
    const isDone = done.has(RUN);
    const noted = text(member(notes.get(RUN), 'command'));
    const isKnown = noted === 'apply' || noted === 'node';
    const command = isKnown ? noted : isDone ? undefined : await commandFor(host, desired, upgrade);
    return { upgrade, isDone, isUnfinished: interrupted.has(RUN), command };
  },

  plan(desired, { upgrade, isDone, isUnfinished, command }) {
    if (upgrade === undefined || isDone) return [];
    const { from, to, drain } = upgrade;
    const how = `kubeadm upgrade ${command ?? (desired.isControlPlane ? 'apply or node' : 'node')}`;
    const drained = drain.by === 'caller' ? 'no, the caller did (--drained)' : 'yes';
    const resumes = isUnfinished ? ', continuing where an earlier run ended' : '';
    return [
      {
        id: RUN,
        summary: `kubernetes ${plain(from)} -> ${plain(to)}: ${how}${resumes}, restart of the kubelet; pods of this node are drained: ${drained}`,
        action: 'change',
        scope: 'node',
        repeatable: false,
        ineffective: 'KubeadmUpgradeFailed',
        payload: { desired, upgrade, isUnfinished, command },
      },
    ];
  },

  async apply(host, { payload }, execution) {
    const { desired, upgrade, isUnfinished } = payload;
    await requireProgram(host, desired, upgrade);
    if (isUnfinished) await continueAfterKill(host, desired, execution);
    // Before its turn: others need not wait for a slow registry.
    await bringImages(host, desired, upgrade, execution);
    if (desired.isControlPlane) await takeTurn(host, desired, execution);
    const command = payload.command ?? (await commandFor(host, desired, upgrade));
    if (command === undefined) throw unanswered('the version of the cluster is not known');
    execution.remember({ command });
    const { kubernetes, programs } = desired;
    const kubeadm = (await versionNow(host)) ?? programs.kubeadm;
    if (kubeadm === undefined) throw unanswered('kubeadm is not installed');
    const args = await upgradeCommandLine(host, command, {
      kubernetes,
      kubeadm,
      to: upgrade.to,
      ignored: upgrade.ignorePreflightErrors ?? [],
    });
    execution.waitingFor(`kubeadm ${args.slice(0, 3).join(' ')}`);
    await beginCopies(host);
    try {
      await runUpgrade(host, args, {
        signal: execution.signal,
        line: (line) => execution.output('kubeadm', line),
      });
    } finally {
      try {
        await removePatches(host);
      } finally {
        await endCopies(host);
      }
    }
    execution.waitingFor(undefined);
    await requireReplaced(host, desired, upgrade);
  },
};

/** Everything that can be known before: nothing of the cluster or of this machine was changed yet. */
async function obstaclesOf(
  host: QueryHost,
  desired: UpgradeDesired,
  upgrade: Upgrade,
): Promise<readonly UpgradeObstacle[]> {
  const step = stepObstacle(upgrade);
  if (step !== undefined) return [step];
  const { isControlPlane, hasLocalEtcd, kubernetes, programs } = desired;
  try {
    const credential = await ownCredential(host, isControlPlane);
    const configuration = await clusterConfiguration(credential);
    const nodeName = await nodeNameOf(host, desired);
    const minor = parseVersion(upgrade.to)?.minor ?? 0;
    const order = orderOf(upgrade, nodeName, desired);
    const pods = { kubernetes, socket: desired.socket, cluster: configuration, nodeName };
    const edited = isControlPlane && upgrade.overwritesManifests !== true;
    const holder = isControlPlane ? await leaseHolder(credential) : undefined;
    const locked = holder === undefined || holder === nodeName ? undefined : upgradeLocked(holder);
    return [
      ...(locked === undefined ? [] : [{ reason: locked.reason, what: locked.message, remedy: locked.remedy }]),
      ...(await clusterObstacles(credential, configuration, order)),
      ...(await settingObstacles(host, minor, configuration)),
      ...(await certificateObstacles(host, kubernetes.cluster.certificatesDirectory, Date.now())),
      ...(hasLocalEtcd ? await etcdObstacles(host) : await spaceAt(host, '/etc/kubernetes', SPACE_FOR_LOGS)),
      ...(await imageObstacles(host, desired, upgrade, configuration)),
      ...(edited && !changes(upgrade, 'controlPlane') ? recordObstacles(kubernetes, configuration) : []),
      ...(edited ? await driftObstacles(host, upgrade, programs.kubeadm, pods) : []),
    ];
  } catch (error) {
    if (!(error instanceof ClusterUnanswered)) throw error;
    return [
      {
        reason: 'PreflightFailed',
        what: `the cluster cannot be asked: ${error.why}`,
        remedy: 'Make sure that the API server answers, then run machineadm upgrade again.',
      },
    ];
  }
}

/** The first control plane brings the cluster to the version; undefined where the cluster does not answer. */
async function commandFor(
  host: QueryHost,
  { isControlPlane }: UpgradeDesired,
  upgrade: Upgrade | undefined,
): Promise<UpgradeCommand | undefined> {
  if (!isControlPlane) return 'node';
  try {
    const configuration = await clusterConfiguration(await ownCredential(host, true));
    const version = text(member(configuration, 'kubernetesVersion'));
    return version === upgrade?.to ? 'node' : 'apply';
  } catch (error) {
    if (error instanceof ClusterUnanswered) return undefined;
    throw error;
  }
}

async function versionNow(host: QueryHost) {
  const { status, stdout } = await host.query({ program: 'kubeadm', args: ['version', '-o', 'short'] });
  return status === 0 ? parseVersion(stdout) : undefined;
}

/** Files, archives or hooks of this run should have brought it. */
async function requireProgram(host: QueryHost, desired: UpgradeDesired, upgrade: Upgrade): Promise<void> {
  const kubeadm = await versionNow(host);
  if (hasVersion('kubeadm', kubeadm, parseVersion(upgrade.to))) return;
  const wrong = wrongProgram('kubeadm', { ...desired, programs: { ...desired.programs, kubeadm } }, upgrade);
  throw new MachineadmError({
    reason: 'UpgradeProgramMissing',
    exit: 'HostStepFailed',
    summary: `${wrong?.what ?? 'kubeadm has another version'}.`,
    remedy: wrong?.remedy ?? '',
  });
}

/** A wrapper with kubeadm's name may exit 0 without having done anything. */
async function requireReplaced(host: QueryHost, { isControlPlane }: UpgradeDesired, { to }: Upgrade): Promise<void> {
  const versions = isControlPlane ? [...(await controlPlaneVersions(host))] : [];
  const wrong = versions.filter(([, version]) => version !== to);
  if (wrong.length === 0) return;
  throw new MachineadmError({
    reason: 'KubeadmUpgradeFailed',
    summary: `kubeadm upgrade exited with status 0, but ${wrong.map(([name, version]) => `${name} is ${version ?? 'missing'}`).join(', ')} instead of ${to}.`,
    remedy: 'Check which program kubeadm is (type -a kubeadm), then run machineadm upgrade again.',
    evidence: wrong.map(([name, version]) => ({ source: name, text: version ?? 'no manifest' })),
  });
}
