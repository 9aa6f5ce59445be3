import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import type { Host } from '../../host/seam/host.ts';
import { nodeNamed, ownCredential } from '../../kubernetes/upgrade/cluster.ts';
import { podsNotBack } from '../../kubernetes/upgrade/pods-back.ts';
import { controlPlaneVersions } from '../../kubernetes/upgrade/running-version.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution } from '../../step/index.ts';
import { changes, type Upgrade } from '../../step/upgrade-order.ts';
import { hasCordoned, release } from './cordon.ts';
import { hasVersion, nodeNameOf, plain, type UpgradeDesired, upgradeDesired } from './desired.ts';
import { type IdentityBefore, identityBefore, identityNow, podsBefore } from './identity.ts';

const CHECK = 'upgrade-proof/check';
const RELEASE = 'upgrade-proof/release';
const MINUTE_MS = 60_000;
/** Static pods are started again when the kubelet is, and an image of kube-proxy may have to be pulled. */
const PODS_TIMEOUT_MS = 5 * MINUTE_MS;
const PODS_ABSENT_MS = 10_000;

interface ProofActual {
  readonly upgrade: Upgrade | undefined;
  readonly isProven: boolean;
  readonly isReleased: boolean;
  readonly before: IdentityBefore;
  readonly pods: readonly string[];
  readonly cordoned: boolean;
}

interface ProofPayload {
  readonly kind: 'check' | 'release';
  readonly desired: UpgradeDesired;
  readonly upgrade: Upgrade;
  readonly before: IdentityBefore;
  readonly pods: readonly string[];
  readonly cordoned: boolean;
}

/**
 * After readiness, which proves that the node works: that it is still the same Node, has the versions that were asked for,
 * is the same member of etcd, and that the pods that stayed on it are Ready again. Then others may come back, and other
 * control planes may be upgraded.
 */
export const upgradeProof: FeatureStep<UpgradeDesired, ProofActual, ProofPayload> = {
  id: 'upgrade-proof',
  section: 'kubernetes.version',
  isRequested: STAYS,

  desired: upgradeDesired,

  idle: (_desired, { upgrade }) => upgrade === undefined,

  deadlineMs: () => PODS_TIMEOUT_MS + 2 * MINUTE_MS,

  async inspect(_host, _desired, record) {
    const { upgrade, done } = record;
    return {
      upgrade,
      isProven: done.has(CHECK),
      isReleased: done.has(RELEASE),
      before: identityBefore(record),
      pods: podsBefore(record),
      cordoned: hasCordoned(record),
    };
  },

  plan(desired, { upgrade, isProven, isReleased, before, pods, cordoned }) {
    if (upgrade === undefined) return [];
    const change = (id: string, kind: ProofPayload['kind'], summary: string): Change<ProofPayload> => ({
      id,
      summary,
      action: 'run',
      scope: 'node',
      repeatable: false,
      payload: { kind, desired, upgrade, before, pods, cordoned },
    });
    const member = desired.hasLocalEtcd ? ' and the same member of etcd' : '';
    return [
      ...(isProven || !changes(upgrade, 'version')
        ? []
        : [
            change(
              CHECK,
              'check',
              `prove that it is the same Node${member}, with Kubernetes ${plain(upgrade.to)}, and that its pods are Ready again`,
            ),
          ]),
      ...(isReleased || !hasTurn(desired, upgrade)
        ? []
        : [change(RELEASE, 'release', releaseSummary(desired, upgrade))]),
    ];
  },

  async apply(host, { payload }, execution) {
    if (payload.kind === 'check') await prove(host, payload, execution);
    else await release(host, payload, execution);
  },
};

/** Whether it has the turn of the control planes, or keeps pods away. */
function hasTurn({ isControlPlane }: UpgradeDesired, upgrade: Upgrade): boolean {
  return (
    changes(upgrade, 'version') ||
    (isControlPlane && (changes(upgrade, 'certificates') || changes(upgrade, 'controlPlane')))
  );
}

function releaseSummary({ isControlPlane }: UpgradeDesired, upgrade: Upgrade): string {
  const { drain } = upgrade;
  if (!changes(upgrade, 'version')) return 'allow the upgrade of the next control plane';
  const pods =
    drain.by === 'machineadm' ? 'allow pods on this node again' : 'leave it to the caller to uncordon this node';
  return isControlPlane ? `${pods}, and the upgrade of the next control plane` : pods;
}

async function prove(
  host: Host,
  { desired, upgrade, before, pods }: ProofPayload,
  execution: Execution,
): Promise<void> {
  const { signal } = execution;
  const wrong: Evidence[] = [];
  const { to } = upgrade;
  const wanted = parseVersion(to);
  const name = await nodeNameOf(host, desired);
  const node = await nodeNamed(await ownCredential(host, false), name, signal);
  if (node === undefined) wrong.push({ source: `Node ${name}`, text: 'does not exist' });
  else {
    const { uid, kubeletVersion } = node;
    if (before.nodeUid !== undefined && uid !== before.nodeUid)
      wrong.push({
        source: `Node ${name}`,
        text: `has the UID ${uid}, and before the upgrade it had ${before.nodeUid}`,
      });
    if (!hasVersion('kubelet', parseVersion(kubeletVersion), wanted))
      wrong.push({ source: `Node ${name}`, text: `its kubelet is ${kubeletVersion}, not ${to}` });
  }
  for (const [component, version] of desired.isControlPlane ? await controlPlaneVersions(host) : []) {
    if (version !== to) wrong.push({ source: component, text: `is ${version ?? 'missing'}, not ${to}` });
  }
  const { etcdMemberId } = await identityNow(host, desired, signal);
  if (before.etcdMemberId !== undefined && etcdMemberId !== before.etcdMemberId)
    wrong.push({
      source: 'etcd',
      text: `this machine is the member ${etcdMemberId ?? '(none)'}, and before the upgrade it was ${before.etcdMemberId}`,
    });
  if (wrong.length === 0) {
    const credential = await ownCredential(host, desired.isControlPlane);
    const left = await podsNotBack(credential, name, pods, {
      timeoutMs: PODS_TIMEOUT_MS,
      absentMs: PODS_ABSENT_MS,
      signal,
      waitingFor: (what) => execution.waitingFor(what),
    });
    wrong.push(...left.map((source) => ({ source, text: 'is not Ready on this node, and was before the upgrade' })));
  }
  if (wrong.length === 0) return;
  throw new MachineadmError({
    reason: 'UpgradeNotProven',
    summary: `The upgrade is not proven: ${wrong.map(({ source, text }) => `${source} ${text}`).join('; ')}.`,
    remedy: 'Correct the cause, then run machineadm upgrade again: it continues with the proof.',
    evidence: wrong,
  });
}
