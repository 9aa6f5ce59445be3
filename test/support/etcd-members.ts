import type { MembershipEvidence } from '../../src/kubernetes/etcd-ownership.ts';
import type { Node } from './lab.ts';

/** A member of etcd as another one lists it. */
export interface Member {
  /** Decimal. */
  readonly id: string;
  /** '' or absent: it never started. */
  readonly name?: string;
  readonly peerURLs: readonly string[];
  readonly clientURLs?: readonly string[];
}

/** What a machine knows of its member of etcd before it tried to join. */
export const NOTHING_KNOWN: MembershipEvidence = {
  founded: false,
  announced: false,
  mayHaveAnnounced: false,
  joined: false,
  nameConflict: false,
  peerUrl: undefined,
  memberId: undefined,
  heldBefore: undefined,
  dataId: undefined,
};

const PKI = '/etc/kubernetes/pki/etcd';

/** Shell: `etcd PATH JSON` asks the etcd of this machine through its JSON gateway. */
export const ETCD_CALL = `etcd() { curl --silent --show-error --fail --max-time 20 --cacert ${PKI}/ca.crt --cert ${PKI}/healthcheck-client.crt --key ${PKI}/healthcheck-client.key --data "$2" "https://127.0.0.1:2379/v3/$1"; }`;

/**
 * The members of the cluster as the etcd of a machine knows them, with a quorum or without: asked as its peers ask
 * (etcd server/etcdserver/api/etcdhttp/peer.go).
 */
export async function membersSeenBy({ machine }: Node): Promise<readonly Member[]> {
  const tls = `--http1.1 --cacert ${PKI}/ca.crt --cert ${PKI}/peer.crt --key ${PKI}/peer.key`;
  const url = `https://${machine.ip}:2380/members`;
  const answer = await machine.shell(`curl --silent --show-error --fail --max-time 20 ${tls} ${url}`);
  // 64 bits: more than a number of JavaScript holds.
  const members: readonly Member[] = JSON.parse(answer.replace(/"id":(\d+)/g, '"id":"$1"'));
  return members.toSorted((a, b) => a.id.localeCompare(b.id));
}
