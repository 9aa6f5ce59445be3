import { isDeepStrictEqual } from 'node:util';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { KUBELET_CONFIG, KUBELET_FLAGS_ENVIRONMENT } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { parseGoDuration } from '@machineadm/document/text/units.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';
import { foreignYaml, QUIET } from '@machineadm/document/yaml/foreign-yaml.ts';
import { kubeletArguments } from '@machineadm/kubeadm/arguments.ts';
import { Problems } from '@machineadm/kubeadm/problems.ts';
import type { QueryHost } from '../../host/seam/host.ts';

/** A setting of the kubelet that differs from the document. */
export interface SettingChange {
  readonly kind: 'field' | 'argument';
  readonly name: string;
  /** undefined: the kubelet has its default. */
  readonly from: unknown;
  readonly to: unknown;
}

/** Fields whose object is merged, as a patch of kubeadm would: the others hold values of their own. */
const MERGED = ['authentication', 'authorization', 'logging', 'memorySwap', 'tracing'];

/** What of the document the files of this machine's kubelet do not have. */
export async function settingChanges(
  host: QueryHost,
  { node }: Pick<KubernetesModel, 'node'>,
): Promise<readonly SettingChange[]> {
  const config = await foreignYaml((await host.readText(KUBELET_CONFIG)) ?? '');
  const now = isRecord(config) ? config : {};
  const flags = (await host.readText(KUBELET_FLAGS_ENVIRONMENT)) ?? '';
  const fields = Object.entries(node.kubelet.config).flatMap(([name, wanted]): SettingChange[] => {
    const [from, to] = [now[name], mergedInto(name, now[name], wanted)];
    return isSameValue(from, to) ? [] : [{ kind: 'field', name, from, to }];
  });
  const wanted = kubeletArguments(node, new Problems());
  // A name may repeat.
  const names = [...new Set(node.kubelet.args.map(({ name }) => name))];
  const args = names.flatMap((name): SettingChange[] => {
    const to = wanted.filter((one) => one.name === name).map(({ value }) => value);
    const from = valuesOf(flags, name);
    if (isDeepStrictEqual(from, to)) return [];
    return [{ kind: 'argument', name, from: from.length === 0 ? undefined : from.join(' '), to: to.join(' ') }];
  });
  return [...fields, ...args];
}

/** The new contents of the two files of the kubelet. */
export async function changedFiles(
  host: QueryHost,
  changes: readonly SettingChange[],
): Promise<readonly { readonly path: string; readonly content: string }[]> {
  const fields = changes.filter(({ kind }) => kind === 'field');
  const args = changes.filter(({ kind }) => kind === 'argument');
  const files: { path: string; content: string }[] = [];
  if (fields.length > 0) {
    const { parseDocument } = await import('yaml');
    const document = parseDocument((await host.readText(KUBELET_CONFIG)) ?? '', QUIET);
    for (const { name, to } of fields) document.setIn([name], document.createNode(to));
    files.push({ path: KUBELET_CONFIG, content: document.toString({ lineWidth: 0 }) });
  }
  if (args.length > 0) {
    const before = (await host.readText(KUBELET_FLAGS_ENVIRONMENT)) ?? '';
    files.push({ path: KUBELET_FLAGS_ENVIRONMENT, content: args.reduce(withArgument, before) });
  }
  return files;
}

/** Whether a configuration of the kubelet has these values, as its `/configz` shows them. */
export function lacksOf(config: unknown, changes: readonly SettingChange[]): readonly string[] {
  const now = isRecord(config) ? config : {};
  return changes.flatMap(({ kind, name, to }) =>
    kind === 'argument' || includesValue(now[name], to) ? [] : [`${name} is ${shown(now[name])}, not ${shown(to)}`],
  );
}

/** A value for one line of a message. */
export function shown(value: unknown): string {
  return value === undefined ? '(default)' : typeof value === 'string' ? value : JSON.stringify(value);
}

function mergedInto(name: string, now: unknown, wanted: unknown): unknown {
  return MERGED.includes(name) ? merged(now, wanted) : wanted;
}

function merged(now: unknown, wanted: unknown): unknown {
  if (!isRecord(now) || !isRecord(wanted)) return wanted;
  const result: Record<string, unknown> = { ...now };
  for (const [key, value] of Object.entries(wanted)) result[key] = merged(now[key], value);
  return result;
}

/** kubeadm and the kubelet write durations in another form: `1m0s` for `60s`. */
function isSameValue(one: unknown, other: unknown): boolean {
  if (typeof one === 'string' && typeof other === 'string') {
    return one === other || (durationOf(one) !== undefined && durationOf(one) === durationOf(other));
  }
  if (isRecord(one) && isRecord(other)) {
    const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
    return [...keys].every((key) => isSameValue(one[key], other[key]));
  }
  return isDeepStrictEqual(one, other);
}

function includesValue(has: unknown, wanted: unknown): boolean {
  if (!isRecord(wanted)) return isSameValue(has, wanted);
  return isRecord(has) && Object.entries(wanted).every(([key, value]) => includesValue(has[key], value));
}

function durationOf(text: string): number | undefined {
  return /\d[a-z]/.test(text) ? parseGoDuration(text) : undefined;
}

/** `KUBELET_KUBEADM_ARGS="--a=b --c=d"` (k/k cmd/kubeadm/app/phases/kubelet/flags.go). */
const VARIABLE = 'KUBELET_KUBEADM_ARGS=';

function wordsOf(text: string): readonly string[] {
  const line = text.split('\n').find((one) => one.startsWith(VARIABLE)) ?? VARIABLE;
  const value = line.slice(VARIABLE.length).trim();
  const isQuoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
  return (isQuoted ? value.slice(1, -1) : value).split(/\s+/).filter((word) => word !== '');
}

function valuesOf(text: string, name: string): readonly string[] {
  return wordsOf(text).flatMap((word) => (word.startsWith(`--${name}=`) ? [word.slice(name.length + 3)] : []));
}

function withArgument(text: string, { name, to }: SettingChange): string {
  const others = wordsOf(text).filter((word) => !word.startsWith(`--${name}=`));
  const own = String(to)
    .split(' ')
    .map((value) => `--${name}=${value}`);
  const line = `${VARIABLE}"${[...others, ...own].join(' ')}"`;
  const lines = text.split('\n');
  const at = lines.findIndex((one) => one.startsWith(VARIABLE));
  return at === -1 ? `${text}${line}\n` : lines.with(at, line).join('\n');
}
