import type { HardeningProfile } from '@machineadm/document/model.ts';

/** One requirement of a benchmark on a node: what must be so, where, and for whom. Data; `judge.ts` checks it. */
export interface Control {
  /** Of the benchmark: `cis-1.2.15` (CIS Kubernetes v1.12), `stig-V-242376` (DISA Kubernetes STIG V1R9), `cis-os-3.3.2`. */
  readonly id: string;
  /** Of the benchmark: a CIS level, or a category of the STIG. `base` is what Kubernetes itself needs. */
  readonly level: 1 | 2 | 'CAT I' | 'CAT II' | 'base';
  readonly profiles: readonly HardeningProfile[];
  readonly applies: AppliesTo;
  /** First and last minor of Kubernetes 1.x that has what is checked; undefined = no limit. */
  readonly since: number | undefined;
  readonly until: number | undefined;
  /** True where kubeadm leaves it right by itself: nothing is rendered for it, it is only checked and mended. */
  readonly kubeadmLeavesIt: boolean;
  /**
   * Why a profile leaves it alone unless the document includes it by its id: it breaks clusters, or needs something that
   * only the document can give. undefined = applied with its profile.
   */
  readonly off: string | undefined;
  readonly check: Check;
}

/** `etcd`: control planes with an etcd of their own. `cluster`: nothing that is visible on a node. */
export type AppliesTo = 'node' | 'control-plane' | 'worker' | 'etcd' | 'cluster';

export type Component = 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'etcd';

/** What a value must be. `unset` says whether it may be missing, which is where the program's own default is right. */
export interface Rule {
  readonly unset: 'allowed' | 'refused';
  readonly is:
    | { readonly kind: 'anything' }
    /** Never set at all. */
    | { readonly kind: 'nothing' }
    | { readonly kind: 'one-of'; readonly values: readonly string[] }
    | { readonly kind: 'none-of'; readonly values: readonly string[] }
    | { readonly kind: 'at-least'; readonly number: number }
    /** A Go duration longer than nothing. */
    | { readonly kind: 'some-time' }
    /** A comma-separated list that has, or has not, this item. */
    | { readonly kind: 'includes'; readonly item: string }
    | { readonly kind: 'excludes'; readonly item: string }
    | { readonly kind: 'subset-of'; readonly values: readonly string[] };
}

export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

export type KubeletValue = string | number | boolean | readonly string[];

export type Check =
  /** Arguments of a component in its manifest; `values` are set where one is missing. All follow the one rule. */
  | {
      readonly kind: 'argument';
      readonly component: Component;
      readonly values: readonly NamedValue[];
      readonly rule: Rule;
      /** A directory of the host that the container must see for it. */
      readonly mount?: Mount;
    }
  | {
      readonly kind: 'admission-plugin';
      readonly plugin: string;
      /** `on-by-default`: it must not be switched off. */
      readonly must: 'be enabled' | 'not be enabled' | 'stay on by default';
    }
  /** A feature gate that must not have this value, in any component of the machine or in one. */
  | {
      readonly kind: 'feature-gate';
      readonly gate: string;
      readonly never: 'true' | 'false';
      readonly at: readonly (Component | 'kubelet')[];
    }
  /** A field of KubeletConfiguration; the flag of the same meaning wins over it (k/k cmd/kubelet/app/server.go). */
  | {
      readonly kind: 'kubelet';
      readonly field: string;
      readonly flag: string | undefined;
      readonly rule: Rule;
      /** undefined: only the document can say; null: the field is taken away. */
      readonly value: KubeletValue | null | undefined;
    }
  /** A serving certificate of the cluster's CA: bootstrapped, or given. */
  | { readonly kind: 'kubelet-serving-certificate' }
  | { readonly kind: 'kubelet-flag-absent'; readonly flag: string }
  /** Files and directories; `*` stands for a name, `**` for any depth. Only what exists is judged. */
  | {
      readonly kind: 'mode';
      readonly paths: readonly string[];
      /** Permission bits that may be set, of anything but a directory unless `directories` is absent. */
      readonly atMost: number;
      readonly directories?: number;
    }
  | { readonly kind: 'owner'; readonly paths: readonly string[]; readonly user: string; readonly group: string }
  | {
      readonly kind: 'sysctl';
      readonly values: Readonly<Record<string, string>>;
      /** Keys that a kernel may lack: without IPv6, without the LSM. */
      readonly optional: readonly string[];
    }
  | { readonly kind: 'module-denied'; readonly module: string }
  | { readonly kind: 'modules-loaded'; readonly modules: readonly string[] }
  /** The benchmark wants what a Kubernetes node cannot do without. */
  | { readonly kind: 'impossible'; readonly wants: string; readonly why: string }
  | { readonly kind: 'kube-proxy-metrics' }
  | { readonly kind: 'audit-policy'; readonly covers: 'key-concerns' | 'everything' }
  | { readonly kind: 'encryption' }
  | { readonly kind: 'admission-configuration'; readonly plugin: 'PodSecurity' }
  | { readonly kind: 'services'; readonly services: readonly string[]; readonly must: 'not run' | 'not be enabled' }
  /** Nothing that a look at the node could tell. */
  | { readonly kind: 'not-on-the-node'; readonly what: string };

export interface Mount {
  readonly name: string;
  readonly path: string;
  readonly readOnly: boolean;
  readonly pathType: 'DirectoryOrCreate' | 'Directory' | 'File';
}

/** `one-of` and friends, to be read in the data as sentences. */
export const RULES = {
  set: { unset: 'refused', is: { kind: 'anything' } },
  absent: { unset: 'allowed', is: { kind: 'nothing' } },
  is: (...values: readonly string[]): Rule => ({ unset: 'refused', is: { kind: 'one-of', values } }),
  isOrUnset: (...values: readonly string[]): Rule => ({ unset: 'allowed', is: { kind: 'one-of', values } }),
  isNot: (...values: readonly string[]): Rule => ({ unset: 'allowed', is: { kind: 'none-of', values } }),
  setButNot: (...values: readonly string[]): Rule => ({ unset: 'refused', is: { kind: 'none-of', values } }),
  atLeast: (number: number): Rule => ({ unset: 'refused', is: { kind: 'at-least', number } }),
  atLeastOrUnset: (number: number): Rule => ({ unset: 'allowed', is: { kind: 'at-least', number } }),
  someTime: { unset: 'refused', is: { kind: 'some-time' } },
  someTimeOrUnset: { unset: 'allowed', is: { kind: 'some-time' } },
  includes: (item: string): Rule => ({ unset: 'refused', is: { kind: 'includes', item } }),
  excludes: (item: string): Rule => ({ unset: 'refused', is: { kind: 'excludes', item } }),
  onlyOf: (values: readonly string[]): Rule => ({ unset: 'refused', is: { kind: 'subset-of', values } }),
} as const satisfies Readonly<Record<string, Rule | ((...values: never[]) => Rule)>>;

/** Whether a value follows a rule; undefined = it is not set. Booleans and numbers are given as text, lists with commas. */
export function follows(rule: Rule, value: string | undefined): boolean {
  if (value === undefined) return rule.unset === 'allowed';
  const { is } = rule;
  const items = value.split(',').map((item) => item.trim());
  switch (is.kind) {
    case 'anything':
      return value !== '';
    case 'nothing':
      return false;
    case 'one-of':
      return is.values.includes(value);
    case 'none-of':
      return !is.values.includes(value);
    case 'at-least':
      return /^-?\d+$/.test(value) && Number(value) >= is.number;
    case 'some-time':
      return /^(?:\d+(?:\.\d+)?(?:[nuµ]s|ms?|[sh]))+$/.test(value) && /[1-9]/.test(value);
    case 'includes':
      return items.includes(is.item);
    case 'excludes':
      return !items.includes(is.item);
    case 'subset-of':
      return items.every((item) => is.values.includes(item));
  }
}

/** A rule in words, behind "must": `be one of "a", "b"`. */
export function describeRule({ unset, is }: Rule): string {
  const quoted = (values: readonly string[]): string => values.map((value) => `"${value}"`).join(' or ');
  const words = {
    anything: () => 'be set',
    nothing: () => 'not be set',
    'one-of': () => `be ${is.kind === 'one-of' ? quoted(is.values) : ''}`,
    'none-of': () => `not be ${is.kind === 'none-of' ? quoted(is.values) : ''}`,
    'at-least': () => `be at least ${is.kind === 'at-least' ? is.number : ''}`,
    'some-time': () => 'be a time above 0',
    includes: () => `include "${is.kind === 'includes' ? is.item : ''}"`,
    excludes: () => `not include "${is.kind === 'excludes' ? is.item : ''}"`,
    'subset-of': () => 'name strong cipher suites only',
  }[is.kind]();
  return unset === 'allowed' && is.kind !== 'nothing' ? `${words}, or be left to its default` : words;
}
