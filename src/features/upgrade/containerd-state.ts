import { UPGRADE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { compareVersions, parseVersion } from '@machineadm/document/text/program-version.ts';
import { spaceAt } from '../../kubernetes/upgrade/check-machine.ts';
import { keepContainerd, sizeOfContainerd } from '../../kubernetes/upgrade/containerd-kept.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import { containerdUpgrade, type ProgramVersions } from '../../step/upgrade-order.ts';
import {
  type ContainerdUpgradeDesired,
  containerdUpgradeDesired,
  installedContainerd,
  numbersOf,
} from './containerd-asked.ts';
import { isNodeReady } from './desired.ts';

/** The change that keeps containerd as it is. */
export const CONTAINERD_KEPT = 'upgrade-containerd-state/keep';
const SPACE_FOR_REST = 64 * 2 ** 20;

interface StateActual {
  readonly versions: ProgramVersions | undefined;
  readonly isKept: boolean;
  /** Of the program that is installed, where that is not the one that runs. */
  readonly replacedBy: string | undefined;
}

interface StatePayload {
  readonly desired: ContainerdUpgradeDesired;
  readonly from: string;
}

/** Before anything replaces containerd: keeps its programs, unit and configuration for the way back, and notes what runs. */
export const upgradeContainerdState: FeatureStep<ContainerdUpgradeDesired, StateActual, StatePayload> = {
  id: 'upgrade-containerd-state',
  section: 'containerRuntime.containerd',
  isRequested: STAYS,

  desired: containerdUpgradeDesired,

  idle: (_desired, record) => containerdUpgrade(record) === undefined,

  async preflight(host, _desired, record) {
    if (containerdUpgrade(record) === undefined || record?.done.has(CONTAINERD_KEPT) === true) return [];
    const found = await spaceAt(host, UPGRADE_DIRECTORY, (await sizeOfContainerd(host)) + SPACE_FOR_REST);
    return found.map((one) => ({ ...one, change: CONTAINERD_KEPT, scope: 'node', certain: true }));
  },

  async inspect(host, _desired, record) {
    const versions = containerdUpgrade(record);
    const isKept = record.done.has(CONTAINERD_KEPT);
    const from = versions === undefined || isKept ? undefined : parseVersion(versions.from);
    const installed = from === undefined ? undefined : await installedContainerd(host);
    const isOther = from !== undefined && installed !== undefined && compareVersions(from, installed) !== 0;
    return { versions, isKept, replacedBy: isOther ? numbersOf(installed) : undefined };
  },

  remarks(_desired, _record, { versions, replacedBy }) {
    if (versions === undefined || replacedBy === undefined) return [];
    return [
      `containerd ${versions.from} runs, and its program was replaced by ${replacedBy} already: machineadm can restore only the configuration`,
    ];
  },

  plan(desired, { versions, isKept }) {
    if (versions === undefined || isKept) return [];
    const { from } = versions;
    return [
      {
        id: CONTAINERD_KEPT,
        summary: `keep the programs, the unit and the configuration of containerd ${from}, for the way back`,
        action: 'run',
        scope: 'node',
        repeatable: false,
        payload: { desired, from },
      },
    ];
  },

  async apply(host, { payload: { desired, from } }, { signal }) {
    await keepContainerd(host, {
      version: from,
      pid: (await host.service('containerd')).pid,
      wasReady: await isNodeReady(host, desired, signal),
      ...(await host.cri(desired.socket).workloads()),
    });
  },
};
