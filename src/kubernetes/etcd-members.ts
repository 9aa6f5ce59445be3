import { setTimeout as pause } from 'node:timers/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { ADMIN_KUBECONFIG, STATIC_PODS_DIRECTORY } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { getObject } from '../host/cluster/api-server.ts';
import { KubeconfigUnusable, readKubeconfig } from '../host/cluster/kubeconfig.ts';
import { requestOnce } from '../host/http/request-once.ts';
import { isOwnAddress } from '../host/network/own-addresses.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { type EtcdMember, isOwnMember, isSameUrl, type MembershipEvidence } from './etcd-ownership.ts';

/** How to reach the other members of a stacked etcd, and this machine's own member; read before a reset deletes it. */
export interface EtcdPeers {
  /** `https://10.0.0.1:2379`, without this machine's. */
  readonly endpoints: readonly string[];
  /** `https://10.0.0.2:2380`: the peer URL that this machine announced. */
  readonly ownPeerUrl: string;
  readonly certificateAuthority: string;
  readonly certificate: string;
  readonly key: Secret;
}

/**
 * The result of leaving the cluster. `elsewhere`: the member that seemed to be this machine's answers on another
 * machine.
 */
export type MemberRemoval = 'none' | 'removed' | 'unknown' | 'elsewhere';

/** Time limit of one request, in milliseconds; a change waits for the cluster's agreement, 7 s at most. */
const REQUEST_TIMEOUT_MS = 10_000;
/** A container of etcd starts within seconds, on a slow disk within a minute. */
const PATIENCE_MS = 120_000;
const PAUSE_MS = 3_000;
const CLIENT_PORT = 2379;
const PEER_PORT = 2380;
/** k/k cmd/kubeadm/app/constants: the annotations that kubeadm itself finds endpoints by. */
const CLIENT_URLS_ANNOTATION = 'kubeadm.kubernetes.io/etcd.advertise-client-urls';
const ETCD_PODS = '/api/v1/namespaces/kube-system/pods?labelSelector=component%3Detcd%2Ctier%3Dcontrol-plane';

/**
 * Finds the other members of the cluster that joining may have added this machine to. undefined where that is
 * impossible: without an etcd client certificate or an address, nothing was announced.
 *
 * @param advertiseAddress the document's, if it has one
 */
export async function findEtcdPeers(
  host: QueryHost,
  certificatesDirectory: string,
  advertiseAddress: string | undefined,
  signal?: AbortSignal,
): Promise<EtcdPeers | undefined> {
  const directory = `${certificatesDirectory}/etcd`;
  const certificateAuthority = await host.readText(`${directory}/ca.crt`);
  const certificate = await host.readText(`${directory}/healthcheck-client.crt`);
  const key = await host.readText(`${directory}/healthcheck-client.key`);
  const manifest = await host.readText(`${STATIC_PODS_DIRECTORY}/etcd.yaml`);
  const ownPeerUrl = peerUrlIn(manifest) ?? (await peerUrlOf(host, advertiseAddress));
  if (certificateAuthority === undefined || certificate === undefined || key === undefined) return undefined;
  if (ownPeerUrl === undefined) return undefined;
  const own = new URL(ownPeerUrl).hostname;
  const known = [...(await endpointsOfPods(host, signal)), ...initialClusterIn(manifest)];
  const endpoints = [...new Set(known)].filter((endpoint) => URL.parse(endpoint)?.hostname !== own);
  return { endpoints, ownPeerUrl, certificateAuthority, certificate, key: new Secret(key) };
}

/**
 * Ensures that this machine is no longer a member, and touches no member that is not proven to be its own
 * (`etcd-ownership.ts`). Without learners (before 1.29, k/k#113318), announcing a second member costs a single member
 * its quorum until the new member has started: while its manifest exists the kubelet starts it, and then the cluster
 * can agree to the removal.
 *
 * @param options.patienceMs how long the removal is retried
 * @param options.isOwn whether an address is one of this machine's
 * @param options.unproven called with the members that have this machine's peer URL and are kept anyway
 * @returns the result; `unknown` where no endpoint answered
 * @throws MachineadmError `EtcdMemberAlreadyExists` where it is still a member
 */
export async function removeOwnMember(
  peers: EtcdPeers,
  evidence: MembershipEvidence,
  options: {
    readonly signal?: AbortSignal;
    readonly patienceMs?: number;
    readonly isOwn?: (address: string) => boolean;
    readonly unproven?: (members: readonly EtcdMember[]) => void;
  } = {},
): Promise<MemberRemoval> {
  const { signal, patienceMs = PATIENCE_MS, isOwn = isOwnAddress, unproven } = options;
  const peerUrl = evidence.peerUrl ?? peers.ownPeerUrl;
  const isOurs = (one: EtcdMember): boolean => isOwnMember(one, peerUrl, evidence);
  const all = await listMembers(peers, signal);
  if (all === undefined) return 'unknown';
  const others = all.filter((one) => !isOurs(one) && one.peerUrls.some((url) => isSameUrl(url, peerUrl)));
  if (others.length > 0) unproven?.(others);
  const own = all.filter(isOurs);
  if (own.length === 0) return 'none';
  for (const one of own) if (await runsElsewhere(peers, one, isOwn, signal)) return 'elsewhere';
  const end = performance.now() + patienceMs;
  for (;;) {
    for (const { id } of own) await askEtcd(peers, '/v3/cluster/member/remove', { ID: id }, signal);
    // By their ids: a member that starts meanwhile no longer looks like one that never did.
    const left = await listMembers(peers, signal);
    if (left?.every(({ id }) => own.every((one) => one.id !== id)) === true) return 'removed';
    if (performance.now() + PAUSE_MS > end) break;
    await pause(PAUSE_MS, undefined, { signal });
  }
  const ids = own.map(({ id }) => BigInt(id).toString(16)).join(', ');
  throw new MachineadmError({
    reason: 'EtcdMemberAlreadyExists',
    summary: `An earlier attempt left this machine's member (${ids}) in the etcd cluster, and the cluster does not remove it.`,
    remedy: `On another control plane run: etcdctl member remove ${ids}. If etcd has lost its quorum to it, restore the quorum first. Then run machineadm provision again.`,
    evidence: own.map(({ id, peerUrls }) => ({ source: 'etcd', text: `member ${id} of ${peerUrls.join(', ')}` })),
    retryable: true,
  });
}

/**
 * Whether a member answers at an address that is not one of this machine's: then this disk is a copy of another
 * machine's, with its journal and identity, and the member is in use.
 */
async function runsElsewhere(
  peers: EtcdPeers,
  { id, clientUrls }: EtcdMember,
  isOwn: (address: string) => boolean,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const endpoints = clientUrls.filter((url) => !isOwn(URL.parse(url)?.hostname ?? ''));
  const answer = await askEtcd({ ...peers, endpoints }, '/v3/maintenance/status', {}, signal);
  return text(member(member(answer, 'header'), 'member_id')) === id;
}

/** The members according to the first endpoint that answers; undefined when none does. */
export async function listMembers(peers: EtcdPeers, signal?: AbortSignal): Promise<readonly EtcdMember[] | undefined> {
  const answer = await askEtcd(peers, '/v3/cluster/member/list', {}, signal);
  const members = member(answer, 'members');
  if (!Array.isArray(members)) return undefined;
  return members.map((one) => {
    const id = text(member(one, 'ID')) ?? '';
    return {
      id: /^\d{1,20}$/.test(id) ? id : '0',
      name: text(member(one, 'name')) ?? '',
      peerUrls: textsOf(member(one, 'peerURLs')),
      clientUrls: textsOf(member(one, 'clientURLs')),
      isLearner: member(one, 'isLearner') === true,
    };
  });
}

function textsOf(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
}

/** kubeadm writes `--initial-advertise-peer-urls=https://IP:2380` (k/k cmd/kubeadm/app/phases/etcd/local.go). */
function peerUrlIn(manifest: string | undefined): string | undefined {
  return /--initial-advertise-peer-urls=(https:\/\/[^\s,"']+)/.exec(manifest ?? '')?.[1];
}

/** The announcement precedes etcd's manifest; the address is that of the API server, whose manifest exists. */
async function peerUrlOf(host: QueryHost, advertiseAddress: string | undefined): Promise<string | undefined> {
  const manifest = await host.readText(`${STATIC_PODS_DIRECTORY}/kube-apiserver.yaml`);
  const address = /--advertise-address=([0-9A-Fa-f.:]+)/.exec(manifest ?? '')?.[1] ?? advertiseAddress;
  return address === undefined ? undefined : url(address, PEER_PORT);
}

/** `--initial-cluster=a=https://10.0.0.1:2380,b=…`: the members at the time of the join, by their peer URLs. */
function initialClusterIn(manifest: string | undefined): readonly string[] {
  const list = /--initial-cluster=(\S+)/.exec(manifest ?? '')?.[1] ?? '';
  return list.split(',').flatMap((entry) => {
    const peer = URL.parse(entry.slice(entry.indexOf('=') + 1));
    return peer === null || peer.hostname === '' ? [] : [url(peer.hostname, CLIENT_PORT)];
  });
}

async function endpointsOfPods(host: QueryHost, signal: AbortSignal | undefined): Promise<readonly string[]> {
  try {
    const credential = await readKubeconfig(host, ADMIN_KUBECONFIG);
    if (credential === undefined) return [];
    const answer = await getObject(credential, ETCD_PODS, signal);
    const items = answer.kind === 'found' ? member(answer.object, 'items') : undefined;
    if (!Array.isArray(items)) return [];
    return items.flatMap((pod) => {
      const annotations = member(member(pod, 'metadata'), 'annotations');
      return (text(member(annotations, CLIENT_URLS_ANNOTATION)) ?? '').split(',').filter((one) => one !== '');
    });
  } catch (error) {
    if (error instanceof KubeconfigUnusable) return [];
    throw error;
  }
}

function url(address: string, port: number): string {
  const host = address.includes(':') && !address.startsWith('[') ? `[${address}]` : address;
  return `https://${host}:${port}`;
}

/**
 * Queries each endpoint in turn through etcd's JSON gateway (enabled by default since 3.3); undefined when none answers
 * with 200.
 */
export async function askEtcd(
  peers: EtcdPeers,
  path: string,
  body: object,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  for (const endpoint of peers.endpoints) {
    signal?.throwIfAborted();
    try {
      return await post(peers, new URL(path, endpoint), JSON.stringify(body), signal);
    } catch {
      signal?.throwIfAborted();
    }
  }
  return undefined;
}

async function post(peers: EtcdPeers, target: URL, body: string, signal: AbortSignal | undefined): Promise<unknown> {
  const deadline = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const answer = await requestOnce(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) },
    body,
    ca: peers.certificateAuthority,
    cert: peers.certificate,
    key: peers.key.reveal(),
    signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
  });
  if (answer.status !== 200) throw new Error(`etcd answered ${answer.status}`);
  const parsed: unknown = JSON.parse(answer.body);
  return parsed;
}
