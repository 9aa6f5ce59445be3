import { ProtobufMessage } from '../host/cri/protobuf.ts';
import type { QueryHost } from '../host/seam/host.ts';

/** A member in the cluster's list. A member that never started has no name and no client URL. */
export interface EtcdMember {
  /** Decimal, 64 bits. */
  readonly id: string;
  readonly name: string;
  readonly peerUrls: readonly string[];
  readonly clientUrls: readonly string[];
  /** A learner: it follows the leader and has no vote yet (etcd 3.4 and later). */
  readonly isLearner: boolean;
}

/** What this machine's journal and disk prove about its own membership in a stacked etcd. */
export interface MembershipEvidence {
  /** This machine created the cluster (`kubeadm init`), so its first member was never announced. */
  readonly founded: boolean;
  /** kubeadm announced a member for this machine. */
  readonly announced: boolean;
  /** kubeadm may have announced one unnoticed: the run was killed, and kubeadm continued without it. */
  readonly mayHaveAnnounced: boolean;
  /** The join that announced it completed. */
  readonly joined: boolean;
  /** kubeadm refused the join because another machine already has this name. */
  readonly nameConflict: boolean;
  /** The peer URL it was announced with. */
  readonly peerUrl: string | undefined;
  /** The id that the cluster assigned to the announced member. */
  readonly memberId: string | undefined;
  /** Members that had this peer URL before the announcement; undefined where that was not observed. */
  readonly heldBefore: readonly string[] | undefined;
  /** The id of the member whose data is on this disk, where nothing else put the data there. */
  readonly dataId: string | undefined;
}

/** The start of a WAL file holds the records that are needed here. */
const WAL_HEAD_BYTES = 4096;
/** etcd server/storage/wal: the types of records. */
const WAL_METADATA = 1n;

/**
 * Whether a member of the cluster is this machine's. A name proves nothing, because another machine may have the same
 * one. A peer URL alone proves nothing either: addresses are duplicated and reused, and since 1.32 kubeadm adopts a
 * member that already has the peer URL (k/k#127491) and then reports that it announced it. Member ids are unique,
 * because etcd hashes the time of the announcement into them (etcd server/etcdserver/api/membership/member.go).
 *
 * @param ownPeerUrl the peer URL that this machine announces
 */
export function isOwnMember(one: EtcdMember, ownPeerUrl: string, evidence: MembershipEvidence): boolean {
  const { dataId, founded, heldBefore, joined, memberId, nameConflict } = evidence;
  if (nameConflict || heldBefore?.includes(one.id) === true) return false;
  if (!one.peerUrls.some((url) => isSameUrl(url, ownPeerUrl))) return false;
  if (one.id === memberId) return true;
  const wasSeenBefore = heldBefore !== undefined;
  const announced = evidence.announced || (evidence.mayHaveAnnounced && wasSeenBefore);
  // An etcd that starts with another member's address takes over its id, so data is proof only together with the other
  // facts.
  if (one.id === dataId) return founded || (announced && (joined || wasSeenBefore));
  const isKnownByNow = memberId !== undefined || dataId !== undefined;
  return announced && !isKnownByNow && one.name === '';
}

/** Whether two URLs have the same host and port, however an IPv6 address is spelled. */
export function isSameUrl(left: string, right: string): boolean {
  return canonicalUrl(left) === canonicalUrl(right);
}

function canonicalUrl(url: string): string {
  return URL.parse(url)?.origin ?? url;
}

/**
 * The id of the member that wrote an etcd data directory; undefined where there is none or it cannot be read. Each WAL
 * file begins with a record of it: a length of 8 bytes with the padding in its highest one, then walpb.Record{type=1,
 * crc=2, data=3}, whose data is etcdserverpb.Metadata{NodeID=1, ClusterID=2} (etcd server/storage/wal/encoder.go).
 *
 * @param directory the parent of `member`
 */
export async function memberIdOfData(
  host: Pick<QueryHost, 'list' | 'readRange'>,
  directory: string,
): Promise<string | undefined> {
  const wal = `${directory}/member/wal`;
  const newest = (await host.list(wal))?.findLast((name) => name.endsWith('.wal'));
  if (newest === undefined) return undefined;
  const head = await host.readRange(`${wal}/${newest}`, 0, WAL_HEAD_BYTES);
  try {
    return head === undefined ? undefined : nodeIdIn(Buffer.from(head));
  } catch (error) {
    // Truncated or damaged: it proves nothing.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function nodeIdIn(head: Buffer): string | undefined {
  for (let at = 0; at + 8 <= head.length; ) {
    const low = head.readUInt32LE(at);
    const high = head.readUInt32LE(at + 4);
    const length = low + (high & 0x00ffffff) * 2 ** 32;
    const padding = (high & 0x80000000) === 0 ? 0 : (high >>> 24) & 0x07;
    if (length === 0 || at + 8 + length > head.length) return undefined;
    const record = new ProtobufMessage(head.subarray(at + 8, at + 8 + length));
    if (record.integer(1) === WAL_METADATA) {
      const id = BigInt.asUintN(64, record.message(3)?.integer(1) ?? 0n);
      return id === 0n ? undefined : id.toString();
    }
    at += 8 + length + padding;
  }
  return undefined;
}
