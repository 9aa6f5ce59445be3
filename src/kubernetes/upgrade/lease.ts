import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { ApiCredential } from '../../host/cluster/api-server.ts';
import { askSettled } from './settled.ts';

const NAME = 'machineadm-upgrade';
const COLLECTION = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
const OBJECT = `${COLLECTION}/${NAME}`;

/**
 * Only one control plane of a cluster is upgraded at a time, so that etcd never loses two members: this Lease says which.
 * It has no end: a machine that was killed continues, and holds it until then.
 *
 * @param holder the name of this Node
 * @throws MachineadmError `UpgradeLocked`
 */
export async function takeLease(credential: ApiCredential, holder: string, signal: AbortSignal): Promise<void> {
  const now = new Date().toISOString().replace('Z', '000Z');
  const post = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: NAME, namespace: 'kube-system' },
    spec: { holderIdentity: holder, acquireTime: now },
  };
  const answer = await askSettled(credential, { path: COLLECTION, post, signal });
  if (answer.kind === 'found') return;
  const isTaken = answer.kind === 'refused' && answer.status === 409;
  const other = isTaken ? await leaseHolder(credential, signal) : undefined;
  if (other === holder) return;
  throw isTaken
    ? upgradeLocked(other ?? 'another control plane')
    : notTaken(answer.kind === 'absent' ? 'it refused the Lease' : answer.why);
}

/** The Node that holds the lease; undefined: none does, or that cannot be known. */
export async function leaseHolder(credential: ApiCredential, signal?: AbortSignal): Promise<string | undefined> {
  const answer = await askSettled(credential, { path: OBJECT, signal });
  return answer.kind === 'found' ? text(member(member(answer.object, 'spec'), 'holderIdentity')) : undefined;
}

/** Gives the lease back, where this Node holds it. Returns why it could not. */
export async function releaseLease(
  credential: ApiCredential,
  holder: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const answer = await askSettled(credential, { path: OBJECT, signal });
  if (answer.kind === 'absent') return undefined;
  if (answer.kind !== 'found') return answer.why;
  if (text(member(member(answer.object, 'spec'), 'holderIdentity')) !== holder) return undefined;
  const uid = text(member(member(answer.object, 'metadata'), 'uid'));
  const remove = { ...(uid === undefined ? {} : { preconditions: { uid } }) };
  const removed = await askSettled(credential, { path: OBJECT, remove, signal });
  return removed.kind === 'found' || removed.kind === 'absent' ? undefined : removed.why;
}

/** The refusal while another control plane is upgraded. */
export function upgradeLocked(holder: string): MachineadmError {
  return new MachineadmError({
    reason: 'UpgradeLocked',
    summary: `The control plane ${holder} of this cluster is being upgraded: only one is at a time, so that etcd keeps its quorum.`,
    remedy: `Wait until machineadm upgrade has ended on ${holder}. If that machine no longer exists, run: kubectl -n kube-system delete lease ${NAME}`,
    evidence: [{ source: `Lease kube-system/${NAME}`, text: `holderIdentity: ${holder}` }],
    retryable: true,
  });
}

function notTaken(why: string): MachineadmError {
  return new MachineadmError({
    reason: 'UpgradeLocked',
    summary: `The Lease kube-system/${NAME}, which keeps other control planes from being upgraded now, could not be taken: ${why}.`,
    remedy: 'Make sure that the API server answers, then run machineadm upgrade again.',
    retryable: true,
  });
}
