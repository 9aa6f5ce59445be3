import type { Model } from '@machineadm/document/model/index.ts';
import type { Facts } from '../../host/seam/facts.ts';
import { type UpgradeDesired, upgradeDesired } from './desired.ts';

/** What the steps of an upgrade of containerd know of the document and the machine. */
export interface ContainerdUpgradeDesired extends UpgradeDesired {
  /** The version of the document; undefined: the one that is installed. */
  readonly version: string | undefined;
  readonly cgroupDriver: 'systemd' | 'cgroupfs';
  /** The files that the document writes. */
  readonly paths: ReadonlySet<string>;
}

/** Of a document that configures the containerd of a node that kubeadm made. */
export function containerdUpgradeDesired(model: Model, facts: Facts): ContainerdUpgradeDesired | undefined {
  const desired = upgradeDesired(model, facts);
  if (desired === undefined || model.containerd === undefined) return undefined;
  const { version, cgroupDriver } = model.containerd;
  return { ...desired, version, cgroupDriver, paths: new Set(model.host.files.map(({ path }) => path)) };
}
