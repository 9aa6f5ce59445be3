import type { Attempt } from '../../src/kubernetes/kubeadm/attempt.ts';

/** kubeadm was never started, or nothing is known. */
export const NO_ATTEMPT: Attempt = {
  etcdMemberAnnounced: false,
  nodeNameConflict: false,
  succeeded: false,
  interrupted: false,
  wroteNothing: false,
};
