import { member, text } from '@machineadm/document/values/untyped.ts';
import { readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import type { Host } from '../../host/seam/host.ts';
import { listMembers } from '../../kubernetes/etcd-members.ts';
import { type LocalEtcd, localEtcd, ownMember } from '../../kubernetes/local-etcd.ts';
import { nodeNamed, ownCredential } from '../../kubernetes/upgrade/cluster.ts';
import { manifestPath } from '../../kubernetes/upgrade/kept-state.ts';
import { readyPods } from '../../kubernetes/upgrade/pods-back.ts';
import type { StepRecord } from '../../step/index.ts';
import { nodeNameOf, type UpgradeDesired } from './desired.ts';

/** The change that keeps the previous state; its note has the identity of the node. */
export const KEPT_CHANGE = 'upgrade-state/files';

/** The identity of the node before the upgrade, which the proof compares. */
export interface IdentityBefore {
  readonly nodeUid: string | undefined;
  readonly etcdMemberId: string | undefined;
}

/** What the journal has of the node before the upgrade. */
export function identityBefore(record: StepRecord): IdentityBefore {
  const note = record.memory().note('upgrade-state', KEPT_CHANGE);
  return { nodeUid: text(member(note, 'nodeUid')), etcdMemberId: text(member(note, 'etcdMemberId')) };
}

/** The pods that stayed on the node and were Ready before the upgrade, as `readyPods` names them. */
export function podsBefore(record: StepRecord): readonly string[] {
  const names = member(record.memory().note('upgrade-state', KEPT_CHANGE), 'readyPods');
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
}

/** The pods that stay on the node and are Ready now. */
export async function podsNow(host: Host, desired: UpgradeDesired, signal: AbortSignal): Promise<readonly string[]> {
  const credential = await ownCredential(host, desired.isControlPlane);
  return await readyPods(credential, await nodeNameOf(host, desired), signal);
}

/** The identity of the node now; undefined where it cannot be known. */
export async function identityNow(host: Host, desired: UpgradeDesired, signal: AbortSignal): Promise<IdentityBefore> {
  const node = await nodeNamed(await ownCredential(host, false), await nodeNameOf(host, desired), signal);
  const etcd = desired.hasLocalEtcd ? await etcdOf(host) : undefined;
  const members = etcd === undefined ? undefined : await listMembers(etcd, signal);
  return {
    nodeUid: node?.uid,
    etcdMemberId: etcd === undefined || members === undefined ? undefined : ownMember(members, etcd)?.id,
  };
}

/** How to ask the etcd of this machine; undefined: its certificates are not those of kubeadm. */
export async function etcdOf(host: Host): Promise<LocalEtcd | undefined> {
  const manifest = await readManifest((await host.readText(manifestPath('etcd'))) ?? '');
  return manifest === undefined ? undefined : await localEtcd(host, manifest);
}
