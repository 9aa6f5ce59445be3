import type { Evidence } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';

/** Why a node cannot be upgraded now; a `warning` refuses nothing, `skipped` could not be checked. */
export interface UpgradeObstacle {
  readonly reason: Reason;
  readonly what: string;
  readonly remedy: string;
  readonly severity?: 'warning' | 'skipped';
  readonly evidence?: readonly Evidence[];
}

/** What the checks of an upgrade know of it. */
export interface UpgradeOrder {
  readonly from: string;
  readonly to: string;
  readonly nodeName: string;
  readonly isControlPlane: boolean;
  /** Of kubeadm's static etcd on this machine. */
  readonly hasLocalEtcd: boolean;
  /** Checks of kubeadm that are to be skipped. */
  readonly ignored: readonly string[];
}

export function skipped(what: string, why: string): UpgradeObstacle {
  return { reason: 'PreflightFailed', what: `${what}: not checked: ${why}`, remedy: '', severity: 'skipped' };
}
