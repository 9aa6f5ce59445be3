import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { DEFAULT_ETCD_DATA_DIRECTORY } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Host } from '../../host/seam/host.ts';
import { type EtcdPeers, findEtcdPeers, removeOwnMember } from '../etcd-members.ts';
import { type MembershipEvidence, memberIdOfData } from '../etcd-ownership.ts';
import { keeperOf } from './inventory.ts';
import type { ResetOrder, ResetWatch } from './reset-order.ts';

/**
 * Removes this machine's member from a stacked etcd, and no other. kubeadm itself would do so only if its etcd manifest
 * already existed (k/k cmd/kubeadm/app/cmd/phases/reset/removeetcdmember.go), which is written after the announcement.
 *
 * @throws MachineadmError `EtcdMemberAlreadyExists` where it must be removed and cannot be
 */
export async function leaveEtcd(host: Host, order: ResetOrder, watch: ResetWatch): Promise<void> {
  const { certificatesDirectory, advertiseAddress } = order;
  const peers = await findEtcdPeers(host, certificatesDirectory, advertiseAddress, watch.signal);
  // Without other members there is nothing to leave, or no way to reach them.
  if (peers === undefined || peers.endpoints.length === 0) return;
  const evidence = await evidenceOf(host, order);
  watch.waitingFor("the etcd cluster to remove this machine's member");
  const membership = await removeOwnMember(peers, evidence, {
    signal: watch.signal,
    unproven: (members) => {
      for (const { id, peerUrls } of members) watch.warn(staysAsUnproven(id, peerUrls));
    },
  });
  watch.waitingFor(undefined);
  const own = evidence.peerUrl ?? peers.ownPeerUrl;
  if (membership === 'removed') watch.line(`machineadm removed the member ${own} from the etcd cluster`);
  if (membership === 'elsewhere') {
    watch.warn(`The etcd member ${own} answers on another machine, of which this disk is a copy: it was not removed.`);
  }
  if (membership !== 'unknown' || !(evidence.announced || evidence.founded)) return;
  if (order.automatic) throw unreachable(peers);
  watch.warn(
    `No other etcd member answered. If the cluster still exists, remove the member ${own} there with etcdctl member remove.`,
  );
}

async function evidenceOf(
  host: Host,
  { attempt, founded, inventory, etcdDataDirectory = DEFAULT_ETCD_DATA_DIRECTORY }: ResetOrder,
): Promise<MembershipEvidence> {
  // Data from before the first attempt proves nothing about this machine: it may be a restored snapshot.
  const isForeign = keeperOf(inventory).keepsAnyOf(`${etcdDataDirectory}/member`);
  return {
    founded,
    announced: attempt.etcdMemberAnnounced,
    mayHaveAnnounced: attempt.interrupted,
    joined: attempt.succeeded,
    nameConflict: attempt.nodeNameConflict,
    peerUrl: attempt.etcdPeerUrl,
    memberId: attempt.etcdMemberId,
    heldBefore: attempt.etcdHeldBefore,
    dataId: isForeign ? undefined : await memberIdOfData(host, etcdDataDirectory),
  };
}

function staysAsUnproven(id: string, peerUrls: readonly string[]): string {
  const hex = BigInt(id).toString(16);
  return `The etcd member ${hex} has this machine's peer URL (${peerUrls.join(', ')}), but nothing proves that it is this machine's, so it was not removed. If no other machine runs it, run etcdctl member remove ${hex} on another control plane.`;
}

function unreachable({ endpoints, ownPeerUrl }: EtcdPeers): MachineadmError {
  return new MachineadmError({
    reason: 'EtcdMemberAlreadyExists',
    summary: `An earlier attempt announced this machine (${ownPeerUrl}) to the etcd cluster, and no member of it answers to remove the machine again.`,
    remedy:
      'Restore the connection to the other control planes, or the quorum of etcd, and run machineadm provision again. To remove the cluster, run machineadm reset.',
    evidence: endpoints.map((endpoint) => ({ source: 'etcd', text: `${endpoint} did not answer` })),
    retryable: true,
  });
}
