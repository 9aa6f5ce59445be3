import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { type Check, listOf, object, optional, string } from '@machineadm/document/values/shape.ts';

/** How the pods leave a node whose kubelet is upgraded. */
export type DrainOrder =
  /** The caller has drained the node, or decided that its pods may stay. */
  | { readonly by: 'caller' }
  | {
      readonly by: 'machineadm';
      /** A kubeconfig whose user may evict pods; absent: admin.conf, which only control planes have. */
      readonly kubeconfig?: string;
      /** Whether pods that lose the content of an emptyDir volume are evicted, too. */
      readonly deletesEmptyDir?: true;
    };

/** What the caller of an upgrade decides. */
export interface UpgradeOptions {
  readonly drain: DrainOrder;
  /** Whether kubeadm may undo edits of static pods. */
  readonly overwritesManifests?: true;
  /** Checks of `kubeadm upgrade` whose errors become warnings, in addition to those of the document. */
  readonly ignorePreflightErrors?: readonly string[];
}

/** What an upgrade changes on the node. */
export type UpgradeSubject = 'version' | 'kubelet' | 'controlPlane' | 'certificates' | 'containerd';

/** Versions of a program, as `2.1.9`. */
export interface ProgramVersions {
  readonly from: string;
  readonly to: string;
}

/** The static pods whose settings an upgrade changes, in the order in which it does. Those of the API server change in every run. */
export const CHANGEABLE_PODS = ['kube-controller-manager', 'kube-scheduler', 'etcd'] as const;
export type ChangeablePod = (typeof CHANGEABLE_PODS)[number];

/** The names of settings that a document asked for, by their static pod. */
export type PodNames = Readonly<
  Partial<Record<ChangeablePod, Readonly<Record<'args' | 'env' | 'volumes', readonly string[]>>>>
>;

/** An upgrade of this node that was begun and did not end. */
export interface Upgrade extends UpgradeOptions {
  /** The versions of Kubernetes: `v1.35.4`. */
  readonly from: string;
  readonly to: string;
  /** Absent: the version alone, as in journals of earlier versions. */
  readonly subjects?: readonly UpgradeSubject[];
  /** Of containerd, where that is a subject. */
  readonly containerd?: ProgramVersions;
  /** The settings of static pods that the document of before asked for. */
  readonly before?: PodNames;
}

/** Whether an upgrade changes this. */
export function changes(upgrade: Pick<Upgrade, 'subjects'> | undefined, subject: UpgradeSubject): boolean {
  return upgrade !== undefined && (upgrade.subjects ?? ['version']).includes(subject);
}

/** The upgrade of a run, if it changes the version. */
export function versionUpgrade({ upgrade }: { readonly upgrade?: Upgrade | undefined } = {}): Upgrade | undefined {
  return changes(upgrade, 'version') ? upgrade : undefined;
}

/** The versions of containerd that the upgrade of a run replaces; undefined: it replaces none. */
export function containerdUpgrade({
  upgrade,
}: {
  readonly upgrade?: Upgrade | undefined;
} = {}): ProgramVersions | undefined {
  return changes(upgrade, 'containerd') ? upgrade?.containerd : undefined;
}

/** What an upgrade is, for messages: `an upgrade of this node from Kubernetes v1.35.3 to v1.35.4`. */
export function describeUpgrade(upgrade: Pick<Upgrade, 'from' | 'to' | 'subjects'>): string {
  if (changes(upgrade, 'version')) return `an upgrade of this node from Kubernetes ${upgrade.from} to ${upgrade.to}`;
  if (changes(upgrade, 'containerd')) return 'an upgrade of containerd on this node';
  const of = [
    ...(changes(upgrade, 'controlPlane') ? ['the control plane'] : []),
    ...(changes(upgrade, 'kubelet') ? ['the kubelet'] : []),
  ];
  return of.length > 0 ? `a change of ${of.join(' and ')} of this node` : 'a renewal of the certificates of this node';
}

/** The options with which the same upgrade is started again. */
export function upgradeArguments({
  drain,
  overwritesManifests,
  ignorePreflightErrors = [],
}: UpgradeOptions): readonly string[] {
  const own = drain.by === 'caller' ? ['--drained'] : [];
  const machineadm =
    drain.by === 'caller'
      ? []
      : [
          ...(drain.kubeconfig === undefined ? [] : ['--kubeconfig', drain.kubeconfig]),
          ...(drain.deletesEmptyDir === true ? ['--delete-emptydir-data'] : []),
        ];
  return [
    ...own,
    ...machineadm,
    ...(overwritesManifests === true ? ['--overwrite-manifests'] : []),
    ...(ignorePreflightErrors.length === 0 ? [] : ['--ignore-preflight-errors', ignorePreflightErrors.join(',')]),
  ];
}

/** The options of an upgrade, without its versions. */
export function optionsOf({ drain, overwritesManifests, ignorePreflightErrors }: UpgradeOptions): UpgradeOptions {
  return { drain, ...omitUndefined({ overwritesManifests, ignorePreflightErrors }) };
}

const NAMES: Check = object({ args: listOf(string), env: listOf(string), volumes: listOf(string) });

/** Whether a value of the journal names settings of static pods. */
export const isPodNames: Check = object(
  Object.fromEntries(CHANGEABLE_PODS.map((pod) => [pod, optional(NAMES)] as const)),
);

const isUpgrade: Check = object({
  from: string,
  to: string,
  subjects: optional(listOf(string)),
  containerd: optional(object({ from: string, to: string })),
  before: optional(isPodNames),
  drain: object({ by: string, kubeconfig: optional(string) }),
  ignorePreflightErrors: optional(listOf(string)),
});

/** Whether a value of the journal is an upgrade. */
export function isUpgradeRecord(value: unknown): boolean {
  return isUpgrade(value);
}
