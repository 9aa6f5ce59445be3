import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { MembershipFacts } from './membership.ts';

/** The journal's record of kubeadm's last start on this machine. */
export interface Attempt extends Partial<MembershipFacts> {
  readonly etcdMemberAnnounced: boolean;
  readonly nodeNameConflict: boolean;
  readonly succeeded: boolean;
  /** How kubeadm ended is unknown. */
  readonly interrupted: boolean;
  /** kubeadm ended by itself before a phase that writes: nothing on disk comes from it. */
  readonly wroteNothing: boolean;
}

/**
 * Reads the notes of the step kubeadm; older versions wrote fewer. There is one, unless the document's role has changed
 * between two attempts.
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
    ...omitUndefined({ etcdPeerUrl: peerUrl, etcdMemberId: memberId }),
    ...(Array.isArray(heldBefore) ? { etcdHeldBefore: heldBefore.filter((id) => typeof id === 'string') } : {}),
  };
}

/**
 * Only preflight precedes the phases that write (k/k cmd/kubeadm/app/cmd/{init,join}.go). It is recognised by kubeadm's
 * last error and not by the last printed phase: a join writes its bootstrap kubeconfig and ca.crt before it prints
 * anything about them (phases/join/kubelet.go).
 */
function wroteNothing(ended: unknown): boolean {
  const phase = text(member(ended, 'phase'));
  return member(ended, 'killed') === false && (phase === 'preflight' || phase === 'configuration');
}
