import { UPGRADE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { snapshotFailed, takeSnapshot } from '../../kubernetes/upgrade/etcd-snapshot.ts';
import { keepState } from '../../kubernetes/upgrade/kept-state.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change } from '../../step/index.ts';
import { type Upgrade, versionUpgrade } from '../../step/upgrade-order.ts';
import { plain, type UpgradeDesired, upgradeDesired } from './desired.ts';
import { etcdOf, KEPT_CHANGE as FILES, identityNow, podsNow } from './identity.ts';

const SNAPSHOT = 'upgrade-state/etcd-snapshot';

interface StateActual {
  readonly upgrade: Upgrade | undefined;
  readonly isKept: boolean;
  readonly hasSnapshot: boolean;
}

interface StatePayload {
  readonly kind: 'files' | 'snapshot';
  readonly desired: UpgradeDesired;
  readonly from: string;
}

/** Where the snapshot of etcd before an upgrade is kept; the one of the upgrade before is replaced. */
export const SNAPSHOT_PATH = `${UPGRADE_DIRECTORY}/etcd-snapshot.db`;

/**
 * Before anything else of an upgrade: keeps what kubeadm and this run will change, for the way back, and a snapshot of
 * etcd, which only an operator restores.
 */
export const upgradeState: FeatureStep<UpgradeDesired, StateActual, StatePayload> = {
  id: 'upgrade-state',
  section: 'kubernetes.version',
  isRequested: STAYS,

  desired: upgradeDesired,

  idle: (_desired, record) => versionUpgrade(record) === undefined,

  async inspect(_host, { hasLocalEtcd }, record) {
    const { done } = record;
    return {
      upgrade: versionUpgrade(record),
      isKept: done.has(FILES),
      hasSnapshot: !hasLocalEtcd || done.has(SNAPSHOT),
    };
  },

  plan(desired, { upgrade, isKept, hasSnapshot }) {
    if (upgrade === undefined) return [];
    const { from } = upgrade;
    const change = (id: string, summary: string, kind: StatePayload['kind']): Change<StatePayload> => ({
      id,
      summary,
      action: 'run',
      scope: 'node',
      repeatable: false,
      payload: { kind, desired, from },
    });
    const what = desired.isControlPlane
      ? "the manifests of the static pods, the kubelet's configuration"
      : "the kubelet's configuration";
    return [
      ...(isKept
        ? []
        : [change(FILES, `keep ${what} and the programs of Kubernetes ${plain(from)}, for the way back`, 'files')]),
      ...(hasSnapshot ? [] : [change(SNAPSHOT, `keep a verified snapshot of etcd in ${SNAPSHOT_PATH}`, 'snapshot')]),
    ];
  },

  async apply(host, { payload: { kind, desired } }, execution) {
    const { signal } = execution;
    if (kind === 'files') {
      const identity = await identityNow(host, desired, signal);
      execution.remember({ ...identity, readyPods: await podsNow(host, desired, signal) });
      await keepState(host);
      return;
    }
    const etcd = await etcdOf(host);
    if (etcd === undefined)
      throw snapshotFailed('etcd', 'it has no manifest, or other certificates than those of kubeadm');
    execution.waitingFor('the snapshot of etcd');
    execution.remember(await takeSnapshot(host, etcd, SNAPSHOT_PATH, signal));
    execution.waitingFor(undefined);
  },
};
