import type { HardeningProfile } from '@machineadm/document/model/index.ts';

/** One requirement of a benchmark on a node: what, where, and for which machines. Data; `evaluate.ts` checks it. */
export interface Control {
  /** Of the benchmark: `cis-1.2.15` (CIS Kubernetes v1.12), `stig-V-242376` (DISA Kubernetes STIG V1R9), `cis-os-3.3.2`. */
  readonly id: string;
  /** Of the benchmark: a CIS level, or a category of the STIG. `base` is what Kubernetes itself needs. */
  readonly level: 1 | 2 | 'CAT I' | 'CAT II' | 'base';
  readonly profiles: readonly HardeningProfile[];
  readonly applies: AppliesTo;
  /** First and last minor of Kubernetes 1.x with this setting; undefined = no limit. */
  readonly since: number | undefined;
  readonly until: number | undefined;
  /** True where kubeadm's default is right: nothing is rendered for it, it is only checked and corrected. */
  readonly kubeadmLeavesIt: boolean;
  /**
   * Why a profile excepts it unless the document includes it by its id: it breaks clusters, or needs something that
   * only the document can provide. undefined = applied with its profile.
   */
  readonly off: string | undefined;
  readonly check: Check;
}

/** `etcd`: control planes with a local etcd. `cluster`: not visible on a node. */
export type AppliesTo = 'node' | 'control-plane' | 'worker' | 'etcd' | 'cluster';

export type Component = 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'etcd';

/** The rule for a value. `unset` says whether it may be missing, because the program's own default is right. */
export interface Rule {
  readonly unset: 'allowed' | 'refused';
  readonly is:
    | { readonly kind: 'anything' }
    /** Must not be set. */
    | { readonly kind: 'nothing' }
    | { readonly kind: 'one-of'; readonly values: readonly string[] }
    | { readonly kind: 'none-of'; readonly values: readonly string[] }
    | { readonly kind: 'at-least'; readonly number: number }
    /** A Go duration above zero. */
    | { readonly kind: 'some-time' }
    /** A comma-separated list that contains, or does not contain, this item. */
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
  /** Arguments of a component in its manifest; missing ones are set to `values`. All follow the same rule. */
  | {
      readonly kind: 'argument';
      readonly component: Component;
      readonly values: readonly NamedValue[];
      readonly rule: Rule;
      /** A directory of the host that the container must mount for it. */
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
  /** A field of KubeletConfiguration; the corresponding flag takes precedence (k/k cmd/kubelet/app/server.go). */
  | {
      readonly kind: 'kubelet';
      readonly field: string;
      readonly flag: string | undefined;
      readonly rule: Rule;
      /** undefined: only the document can provide it; null: the field is removed. */
      readonly value: KubeletValue | null | undefined;
    }
  /** A serving certificate of the cluster's CA: bootstrapped, or provided. */
  | { readonly kind: 'kubelet-serving-certificate' }
  | { readonly kind: 'kubelet-flag-absent'; readonly flag: string }
  /** Files and directories; `*` is a name, `**` any depth. Only existing ones are checked. */
  | {
      readonly kind: 'mode';
      readonly paths: readonly string[];
      /** Permitted mode bits; of directories, too, if `directories` is absent. */
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
  /** The benchmark forbids something that a Kubernetes node needs. */
  | { readonly kind: 'impossible'; readonly wants: string; readonly why: string }
  | { readonly kind: 'kube-proxy-metrics' }
  | { readonly kind: 'audit-policy'; readonly covers: 'key-concerns' | 'everything' }
  | { readonly kind: 'encryption' }
  | { readonly kind: 'admission-configuration'; readonly plugin: 'PodSecurity' }
  | { readonly kind: 'services'; readonly services: readonly string[]; readonly must: 'not run' | 'not be enabled' }
  /** Nothing that can be checked on a node. */
  | { readonly kind: 'not-on-the-node'; readonly what: string };

export interface Mount {
  readonly name: string;
  readonly path: string;
  readonly readOnly: boolean;
  readonly pathType: 'DirectoryOrCreate' | 'Directory' | 'File';
}

/** `one-of` and others: the data reads as sentences. */
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

/** Whether a value satisfies a rule; undefined = not set. Booleans and numbers are text, lists have commas. */
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

/** A rule in words, after "must": `be one of "a", "b"`. */
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
