import type {
  Argument,
  NodeModel,
  PodEnvironmentReference,
  PodEnvironmentVariable,
} from '@machineadm/document/model/index.ts';
import { sortedByKey } from './fields.ts';
import { needsKubeadm, type Problems } from './problems.ts';
import { type KubeadmTarget, kubeadmWith } from './version.ts';

/**
 * Arguments of a component in the shape of the target's version: a list from v1beta4 on, a map before, which
 * has no place for a repeated name (k/k cmd/kubeadm/app/apis/kubeadm/v1beta4/doc.go). `field` is the document's field, for the problem.
 */
export function renderArguments(
  args: readonly Argument[],
  field: string,
  target: KubeadmTarget,
  problems: Problems,
): readonly Argument[] | Readonly<Record<string, string>> | undefined {
  if (args.length === 0) return undefined;
  if (target.configVersion === 'v1beta4') return args.map(({ name, value }) => ({ name, value }));
  const map = new Map<string, string>();
  for (const name of repeatedNames(args)) {
    problems.add({
      field,
      problem: `"${name}" is repeated; kubeadm ${target.configVersion} keeps arguments in a map`,
      remedy: `Set "${name}" once (many arguments take a comma-separated list), or use kubeadm 1.${kubeadmWith('v1beta4')} or newer.`,
    });
  }
  for (const { name, value } of args) map.set(name, value);
  return sortedByKey(Object.fromEntries(map));
}

function repeatedNames(args: readonly Argument[]): readonly string[] {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const { name } of args) {
    if (seen.has(name)) repeated.add(name);
    seen.add(name);
  }
  return [...repeated];
}

/** `extraEnvs`, which came with v1beta4. */
export function renderEnvironment(
  env: readonly PodEnvironmentVariable[],
  field: string,
  target: KubeadmTarget,
  problems: Problems,
): readonly PodEnvironmentVariable[] | undefined {
  if (env.length === 0) return undefined;
  if (target.configVersion !== 'v1beta4') {
    problems.add({
      field,
      problem: `kubeadm ${target.configVersion} cannot set environment variables`,
      remedy: needsKubeadm(kubeadmWith('v1beta4'), field),
    });
  }
  return env.map((variable) =>
    'value' in variable ? { name: variable.name, value: variable.value } : withReference(variable),
  );
}

function withReference({ name, valueFrom }: PodEnvironmentReference): PodEnvironmentReference {
  if ('fieldRef' in valueFrom) {
    const { fieldPath, apiVersion } = valueFrom.fieldRef;
    return { name, valueFrom: { fieldRef: apiVersion === undefined ? { fieldPath } : { fieldPath, apiVersion } } };
  }
  const { resource, containerName, divisor } = valueFrom.resourceFieldRef;
  const given = {
    resource,
    ...(containerName === undefined ? {} : { containerName }),
    ...(divisor === undefined ? {} : { divisor }),
  };
  return { name, valueFrom: { resourceFieldRef: given } };
}

/**
 * The kubelet's arguments with `node.labels` and `node.providerID` in them: kubeadm has no field for either, the kubelet
 * registers itself with `--node-labels` and `--provider-id`. Labels given both ways are merged into one argument, which
 * stands where the first stood.
 */
export function kubeletArguments(node: NodeModel, problems: Problems): readonly Argument[] {
  return withProviderID(withLabels(node.kubelet.args, node.labels, problems), node.providerID, problems);
}

/** The values of `node-ip` in arguments of the kubelet. */
export function nodeIPs(args: readonly Argument[]): readonly string[] {
  return args.flatMap(({ name, value }) => (name === 'node-ip' ? value.split(',') : []));
}

function withLabels(
  args: readonly Argument[],
  labels: Readonly<Record<string, string>>,
  problems: Problems,
): readonly Argument[] {
  if (Object.keys(labels).length === 0) return args;
  const merged = new Map<string, string>(Object.entries(labels));
  for (const argument of args.filter(({ name }) => name === 'node-labels')) {
    for (const pair of argument.value.split(',').filter((text) => text !== '')) {
      const [key = '', value = ''] = splitOnce(pair.trim(), '=');
      const wanted = labels[key];
      if (wanted !== undefined && wanted !== value) {
        problems.add({
          field: 'kubernetes.node.labels',
          problem: `"${key}" has another value in the kubelet argument node-labels`,
          remedy: `Set the label "${key}" once, in kubernetes.node.labels.`,
        });
      }
      if (!merged.has(key)) merged.set(key, value);
    }
  }
  const value = Object.entries(sortedByKey(Object.fromEntries(merged)))
    .map(([key, labelValue]) => `${key}=${labelValue}`)
    .join(',');
  return replaceOrAppend(args, { name: 'node-labels', value });
}

function withProviderID(
  args: readonly Argument[],
  providerID: string | undefined,
  problems: Problems,
): readonly Argument[] {
  if (providerID === undefined) return args;
  if (args.some(({ name, value }) => name === 'provider-id' && value !== providerID)) {
    problems.add({
      field: 'kubernetes.node.providerID',
      problem: 'the kubelet argument provider-id has another value',
      remedy: 'Set the provider id once, in kubernetes.node.providerID.',
    });
  }
  return replaceOrAppend(args, { name: 'provider-id', value: providerID });
}

function replaceOrAppend(args: readonly Argument[], replacement: Argument): readonly Argument[] {
  const first = args.findIndex(({ name }) => name === replacement.name);
  if (first === -1) return [...args, replacement];
  return args
    .map((argument, index) => (index === first ? replacement : argument))
    .filter(({ name }, index) => name !== replacement.name || index === first);
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
