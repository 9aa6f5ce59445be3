import { member, text } from '@machineadm/document/untyped.ts';
import type { MembershipFacts } from './membership.ts';

/** What the journal knows of the last time that kubeadm was started on this machine. */
export interface Attempt extends Partial<MembershipFacts> {
  readonly etcdMemberAnnounced: boolean;
  readonly nodeNameConflict: boolean;
  readonly succeeded: boolean;
  /** How kubeadm ended is not known. */
  readonly interrupted: boolean;
  /** kubeadm ended by itself before a phase that writes: nothing on the disk is its work. */
  readonly wroteNothing: boolean;
}

/** Of a kubeadm that was never started, or of which nothing is known. */
export const NO_ATTEMPT: Attempt = {
  etcdMemberAnnounced: false,
  nodeNameConflict: false,
  succeeded: false,
  interrupted: false,
  wroteNothing: false,
};

/**
 * Reads the notes that the step kubeadm left; older versions left less. There is one, but for a document whose role has
 * changed between two attempts.
 */
export function attemptOf(notes: readonly unknown[]): Attempt {
  const has = (name: string): boolean => notes.some((note) => member(note, name) === true);
  const last = (name: string): unknown => notes.map((note) => member(note, name)).findLast((one) => one !== undefined);
  const peerUrl = text(last('etcdPeerUrl'));
  const memberId = text(last('etcdMemberId'));
  const heldBefore = last('etcdHeldBefore');
  return {
    etcdMemberAnnounced: has('etcdMemberAnnounced'),
    nodeNameConflict: has('nodeNameConflict'),
    succeeded: has('succeeded'),
    interrupted: notes.some((note) => member(note, 'ended') === undefined && member(note, 'succeeded') !== true),
    wroteNothing: notes.length > 0 && notes.every((note) => wroteNothing(member(note, 'ended'))),
    ...(peerUrl === undefined ? {} : { etcdPeerUrl: peerUrl }),
    ...(memberId === undefined ? {} : { etcdMemberId: memberId }),
    ...(Array.isArray(heldBefore) ? { etcdHeldBefore: heldBefore.filter((id) => typeof id === 'string') } : {}),
  };
}

/**
 * Only preflight comes before the phases that write (k/k cmd/kubeadm/app/cmd/{init,join}.go). Its end is known from
 * kubeadm's own last error and not from the phase that it printed last: a join writes its bootstrap kubeconfig and ca.crt
 * before it prints anything about them (phases/join/kubelet.go).
 */
function wroteNothing(ended: unknown): boolean {
  const phase = text(member(ended, 'phase'));
  return member(ended, 'killed') === false && (phase === 'preflight' || phase === 'configuration');
}
