import { MachineadmError } from '@machineadm/document/errors.ts';
import type { LoadedDocument } from '@machineadm/document/load.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { remedyForVersions, runningVersion } from '../steps/upgrade/versions.ts';
import type { Upgrade, UpgradeOptions } from '../steps/upgrade-order.ts';
import type { JournalState } from './journal.ts';
import { afterUpgradeRecord } from './journal-upgrade.ts';

/** The versions of an upgrade. */
export type UpgradeVersions = Pick<Upgrade, 'from' | 'to'>;

type Known = Pick<JournalState, 'bootstrappedFrom' | 'bootstrappedVersion' | 'upgrade'>;

/**
 * The upgrade that a document asks of this node: it differs in `kubernetes.version` alone from what the node was
 * bootstrapped with. undefined: it does not differ.
 *
 * @throws MachineadmError `NotANode`, `DocumentChanged` where more differs, `UpgradeUnfinished` where another upgrade was
 * begun
 */
export async function upgradeAsked(
  host: QueryHost,
  known: Known,
  document: LoadedDocument,
): Promise<UpgradeVersions | undefined> {
  const { kubernetes } = document.model;
  if (kubernetes === undefined || kubernetes.exec !== undefined)
    throw notANode('the document makes no node with kubeadm');
  const { bootstrappedFrom, upgrade } = known;
  if (bootstrappedFrom === undefined) throw notANode('machineadm has not bootstrapped this machine');
  const to = kubernetes.version;
  if (upgrade !== undefined && upgrade.to !== to) throw unfinished(upgrade);
  if (upgrade === undefined && document.lastingDigest === bootstrappedFrom) return undefined;
  if (document.model.host.platform !== 'linux') throw notANode('an upgrade in place needs Linux');
  const running = await runningVersion(host, kubernetes.role !== 'Worker', kubernetes.node.name);
  // Earlier versions of machineadm did not record the version that the document asked for.
  const version = known.bootstrappedVersion ?? running;
  if (version !== undefined && (await document.lastingDigestWith(version)) === bootstrappedFrom)
    return { from: upgrade?.from ?? running ?? version, to };
  throw changed('Only kubernetes.version, and what machineadm provision may change, can be changed on a node.');
}

/** The journal as it is once the upgrade has begun. */
export function withUpgrade(
  journal: JournalState,
  versions: UpgradeVersions | undefined,
  options: UpgradeOptions,
): JournalState {
  if (versions === undefined) return journal;
  return afterUpgradeRecord(journal, { is: 'upgrade', now: 'Begun', at: '', ...versions, ...options });
}

/**
 * Refuses a document for a machine that was bootstrapped from another `kubernetes` section, and names the command for one
 * that only asks for another version.
 */
export async function refuseIfChanged(host: QueryHost, known: Known, document: LoadedDocument): Promise<void> {
  const { bootstrappedFrom, upgrade } = known;
  if (bootstrappedFrom === undefined || document.lastingDigest === undefined) return;
  if (upgrade === undefined && bootstrappedFrom === document.lastingDigest) return;
  throw await documentChanged(host, known, document);
}

/** The refusal with which `provision` answers a document that changed. */
export async function documentChanged(
  host: QueryHost,
  known: Known,
  document: LoadedDocument,
): Promise<MachineadmError> {
  if (known.upgrade !== undefined) return unfinished(known.upgrade);
  try {
    const versions = await upgradeAsked(host, known, document);
    if (versions === undefined) return changed();
    const { from, to } = versions;
    const asks = `It asks for Kubernetes ${to}, and ${from} runs here`;
    // No command does what Kubernetes does not support.
    const remedy = remedyForVersions(versions);
    return changed(
      remedy === undefined
        ? `${asks}: machineadm upgrade does that, with the same options for the document.`
        : `${asks}. ${remedy}`,
    );
  } catch (error) {
    if (error instanceof MachineadmError && error.reason !== 'UpgradeUnfinished') return changed();
    throw error;
  }
}

function changed(more = ''): MachineadmError {
  return new MachineadmError({
    reason: 'DocumentChanged',
    summary: 'this machine was already bootstrapped from another "kubernetes" section',
    remedy: [
      more,
      'Replace the machine, or use the "kubernetes" section that it was bootstrapped with. Other sections, the arguments and files of its API server, and labels that are set after the join may change.',
    ]
      .filter((part) => part !== '')
      .join(' '),
  });
}

function unfinished({ from, to }: Upgrade): MachineadmError {
  return new MachineadmError({
    reason: 'UpgradeUnfinished',
    summary: `an upgrade of this node from Kubernetes ${from} to ${to} was begun and has not ended`,
    remedy: `Run machineadm upgrade with the document that asks for ${to}: it continues.`,
  });
}

function notANode(why: string): MachineadmError {
  return new MachineadmError({
    reason: 'NotANode',
    summary: `there is nothing to upgrade: ${why}`,
    remedy: 'Run it on a node that machineadm provision made, with its document and another kubernetes.version.',
  });
}
