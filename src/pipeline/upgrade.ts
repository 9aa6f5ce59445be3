import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { ChangeablePart } from '@machineadm/document/versions/version.ts';
import { containerdAsked } from '../features/upgrade/containerd-asked.ts';
import { areCertificatesDue } from '../features/upgrade/renewal.ts';
import { remedyForVersions, runningVersion } from '../features/upgrade/versions.ts';
import type { QueryHost } from '../host/seam/host.ts';
import {
  changes,
  describeUpgrade,
  type ProgramVersions,
  type Upgrade,
  type UpgradeOptions,
  type UpgradeSubject,
} from '../step/upgrade-order.ts';
import type { JournalState } from './journal.ts';
import type { KubeletNames } from './journal-record.ts';
import { afterUpgradeRecord, type NodeVersion } from './journal-upgrade.ts';
import { joinedNames, podNames } from './pod-names.ts';

/** The versions of an upgrade, and what it changes. */
export type UpgradeVersions = Pick<Upgrade, 'from' | 'to' | 'subjects' | 'before' | 'containerd'>;

type Known = NodeVersion;

/**
 * The upgrade that a document asks of this node: it differs in `kubernetes.version` and the settings of the kubelet and of
 * static pods alone from what the node was bootstrapped with. undefined: it does not differ, and there is nothing else to do.
 *
 * @param isAsked whether certificates that are due and another containerd are reasons for it, too: only `machineadm upgrade` changes
 * them
 * @throws MachineadmError `NotANode`, `DocumentChanged` where more differs, `UpgradeUnfinished` where another upgrade was
 * begun
 */
export async function upgradeAsked(
  host: QueryHost,
  known: Known,
  document: LoadedDocument,
  isAsked = false,
): Promise<UpgradeVersions | undefined> {
  const { kubernetes } = document.model;
  if (kubernetes === undefined || kubernetes.exec !== undefined)
    throw notANode('the document makes no node with kubeadm');
  const { bootstrappedFrom, upgrade } = known;
  if (bootstrappedFrom === undefined) throw notANode('machineadm has not bootstrapped this machine');
  const to = kubernetes.version;
  if (upgrade !== undefined && upgrade.to !== to) throw unfinished(upgrade);
  const containerd = isAsked ? await containerdOf(host, document, upgrade) : undefined;
  const subjects: readonly UpgradeSubject[] = [
    ...(isAsked ? await renewalOf(host, document) : []),
    ...(containerd === undefined ? [] : ['containerd' as const]),
  ];
  const more = containerd === undefined ? {} : { containerd };
  if (upgrade === undefined && document.lastingDigest === bootstrappedFrom) {
    return subjects.length === 0 ? undefined : { from: to, to, subjects, ...more };
  }
  if (document.model.host.platform !== 'linux') throw notANode('an upgrade in place needs Linux');
  const running = await runningVersion(host, kubernetes.role !== 'Worker', kubernetes.node.name);
  // Earlier versions of machineadm did not record the version that the document asked for.
  const version = known.bootstrappedVersion ?? running;
  if (version !== undefined) {
    const from = upgrade?.from ?? running ?? version;
    const parts = await changedParts(known, document, version);
    if (parts !== undefined) {
      if (parts.includes('kubelet')) requireKept(known.bootstrappedKubelet, kubernetes.node.kubelet);
      const versions = version === to ? [] : (['version'] as const);
      const asked = subjectsOf(upgrade, [...versions, ...parts, ...subjects]);
      // An earlier run may have begun with a document that asks for others.
      const before = joinedNames([upgrade?.before, known.bootstrappedControlPlane?.pods, podNames(kubernetes)]);
      return { from, to, ...asked, ...(changes(asked, 'controlPlane') ? { before } : {}), ...more };
    }
  }
  const isOlder = known.bootstrappedKubelet === undefined || known.bootstrappedControlPlane === undefined;
  const older = isOlder
    ? ' An earlier version of machineadm made this node: if only these differ, first run machineadm provision with the unchanged document.'
    : '';
  throw changed(
    `Only kubernetes.version, kubernetes.node.kubelet, the arguments, variables and volumes of the control plane, and what machineadm provision may change, can be changed on a node.${older}`,
  );
}

/** The parts in which a document differs, apart from the version; undefined: more differs, or it is not known. */
async function changedParts(
  { bootstrappedFrom, bootstrappedKubelet, bootstrappedControlPlane }: Known,
  { lastingDigestWith }: LoadedDocument,
  version: string,
): Promise<readonly ChangeablePart[] | undefined> {
  const candidates: readonly (readonly [readonly ChangeablePart[], string | undefined])[] = [
    [[], bootstrappedFrom],
    [['kubelet'], bootstrappedKubelet?.rest],
    [['controlPlane'], bootstrappedControlPlane?.rest],
    [['kubelet', 'controlPlane'], bootstrappedControlPlane?.bare],
  ];
  for (const [without, digest] of candidates) {
    if (digest !== undefined && (await lastingDigestWith(version, without)) === digest) return without;
  }
  return undefined;
}

/**
 * Of a setting that is no longer written, nobody knows the value that kubeadm would have chosen.
 *
 * @throws MachineadmError `DocumentChanged`
 */
function requireKept(before: KubeletNames | undefined, { config, args }: KubernetesModel['node']['kubelet']): void {
  const names = args.map(({ name }) => name);
  const gone = [
    ...(before?.fields ?? []).filter((name) => !Object.hasOwn(config, name)).map((name) => `config.${name}`),
    ...(before?.args ?? []).filter((name) => !names.includes(name)).map((name) => `args: ${name}`),
  ];
  if (gone.length === 0) return;
  throw changed(
    `The document no longer has these settings of kubernetes.node.kubelet: ${gone.join(', ')}. Write the values that they must have: machineadm does not know those that kubeadm would have chosen.`,
  );
}

/** The containerd that an upgrade replaces. One that was begun continues, although the daemon may have its new version. */
async function containerdOf(
  host: QueryHost,
  { model }: LoadedDocument,
  begun: Upgrade | undefined,
): Promise<ProgramVersions | undefined> {
  const asked = await containerdAsked(host, model);
  if (asked !== undefined || begun?.containerd === undefined) return asked;
  return { from: begun.containerd.from, to: model.containerd?.version ?? begun.containerd.to };
}

/** Whether certificates of this node are due. */
async function renewalOf(host: QueryHost, { model }: LoadedDocument): Promise<readonly UpgradeSubject[]> {
  return (await areCertificatesDue(host, model)) ? ['certificates'] : [];
}

/** An upgrade that was begun keeps what it changes. One that changes the version alone says nothing, as before. */
function subjectsOf(begun: Upgrade | undefined, more: readonly UpgradeSubject[]): Pick<Upgrade, 'subjects'> {
  const before = begun === undefined ? [] : (begun.subjects ?? ['version' as const]);
  const subjects = new Set<UpgradeSubject>([...before, ...more]);
  return subjects.size === 1 && subjects.has('version') ? {} : { subjects: [...subjects] };
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
    if (!changes(versions, 'version')) {
      return changed(
        `It asks for other settings of ${settingsOf(versions)}: machineadm upgrade changes them, with the same options for the document.`,
      );
    }
    const asks = `It asks for Kubernetes ${to}, and ${from} runs here`;
    // No command does what Kubernetes does not support.
    const remedy = remedyForVersions(versions);
    return changed(
      remedy === undefined
        ? `${asks}: machineadm upgrade does that, with the same options for the document.`
        : `${asks}. ${remedy}`,
    );
  } catch (error) {
    if (error instanceof MachineadmError && error.reason === 'DocumentChanged') return error;
    if (error instanceof MachineadmError && error.reason !== 'UpgradeUnfinished') return changed();
    throw error;
  }
}

function settingsOf(upgrade: UpgradeVersions): string {
  const of = [
    ...(changes(upgrade, 'controlPlane') ? ['the control plane (controller manager, scheduler or etcd)'] : []),
    ...(changes(upgrade, 'kubelet') ? ['the kubelet'] : []),
  ];
  return of.join(' and ');
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

function unfinished(upgrade: Upgrade): MachineadmError {
  const { to } = upgrade;
  return new MachineadmError({
    reason: 'UpgradeUnfinished',
    summary: `${describeUpgrade(upgrade)} was begun and has not ended`,
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
