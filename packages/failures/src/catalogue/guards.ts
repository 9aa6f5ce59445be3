/**
 * How to find out that nothing live is lost, before a remedy removes something. `test/unit/diagnosis/advice.test.ts` demands
 * one of them before every act that deletes, resets, empties, overwrites, restarts or reboots.
 */

/** The machine may be a node that works, on which kubeadm ran again. */
export const IS_NODE =
  'First find out whether this machine is a node that works: `systemctl is-active kubelet`, `curl -ks https://127.0.0.1:6443/livez` on a control plane, and `kubectl get nodes` from elsewhere. If it is, run nothing.';

/** What a failed kubeadm left. It asks before it removes anything. */
export const RESET = `${IS_NODE} Only where a failed attempt left this and nothing here is needed, run \`kubeadm reset\`, which asks first; then provision again.`;

/** The same for what a run of machineadm left. */
export const RESET_OWN = `${IS_NODE} Otherwise run \`machineadm reset\`, which lists what it removes and asks; then provision again.`;

/** Members of etcd: which one is dead. */
export const IS_DEAD_MEMBER =
  'On a control plane that works, run `etcdctl member list` and `etcdctl endpoint health --cluster`. Only if the machine of the member is gone permanently, or is this machine before it joined,';

/** A file that may still be needed is moved, so that it can come back. */
export const MOVE_AWAY = 'move it away (`mv FILE FILE.old`)';

/** Pods outlive containerd: their shims keep them. */
export const RESTART_CONTAINERD = 'restart containerd (pods keep running: `crictl ps`)';

/** A node that works has pods. */
export const BOOT = 'On a node that works, move its pods away first (`kubectl drain NODE`).';
