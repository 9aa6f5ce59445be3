import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { STATIC_PODS_DIRECTORY } from '../../ownership/kubernetes-paths.ts';
import { parseGoDuration } from '../../text/units.ts';
import type { KubernetesSection } from './index.ts';

/** A configuration of the kubelet, with what decides whether it fits the machine's role. */
interface Configuration {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly hasStaticPods: boolean;
}

/** The field that is wrong, and why; undefined: nothing is. */
type Rule = (configuration: Configuration) => Contradiction | undefined;

interface Contradiction {
  readonly field: string;
  readonly message: string;
  readonly hint: string;
}

const number = (value: unknown, byDefault: number): number => (typeof value === 'number' ? value : byDefault);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const milliseconds = (value: unknown): number | undefined => parseGoDuration(text(value));
const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** Known on the machine only. */
const isVariable = (value: unknown): boolean => text(value).includes('${');

/** k/k pkg/kubelet/eviction/api/types.go, OpForSignal, and defaults_linux.go. */
const SIGNALS = new Set([
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'allocatableMemory.available',
  'pid.available',
]);
const EVICTIONS = ['evictionHard', 'evictionSoft', 'evictionSoftGracePeriod', 'evictionMinimumReclaim'];

/** For each kind of reservation the field that names its cgroup. */
const RESERVED: Readonly<Record<string, string>> = {
  'system-reserved': 'systemReservedCgroup',
  'system-reserved-compressible': 'systemReservedCgroup',
  'kube-reserved': 'kubeReservedCgroup',
  'kube-reserved-compressible': 'kubeReservedCgroup',
};

/**
 * Fields that contradict each other, so that the kubelet ends (k/k pkg/kubelet/apis/config/validation/validation.go, and
 * where another file is named), or that kubeadm and this document contradict.
 */
const RULES: readonly Rule[] = [
  // kubeadm writes its manifests there only (cmd/kubeadm/app/constants/constants.go).
  ({ fields: { staticPodPath }, hasStaticPods }) =>
    !hasStaticPods ||
    typeof staticPodPath !== 'string' ||
    isVariable(staticPodPath) ||
    cleaned(staticPodPath) === STATIC_PODS_DIRECTORY
      ? undefined
      : {
          field: 'staticPodPath',
          message: `the static pods of this machine are written to ${STATIC_PODS_DIRECTORY}, so that this kubelet would never start them`,
          hint: 'remove the field',
        },
  // pkg/kubelet/cm/cpumanager/policy_static.go: a static policy without reserved processors.
  ({ fields }) =>
    fields.cpuManagerPolicy !== 'static' || text(fields.reservedSystemCPUs) !== '' || reserves(fields, 'cpu')
      ? undefined
      : {
          field: 'cpuManagerPolicy',
          message: 'the static policy needs processors that are reserved for the system',
          hint: 'set reservedSystemCPUs, or cpu in systemReserved or kubeReserved',
        },
  ({ fields }) =>
    fields.memoryManagerPolicy !== 'Static' || list(fields.reservedMemory).length > 0
      ? undefined
      : {
          field: 'memoryManagerPolicy',
          message: 'the Static policy needs reservedMemory',
          hint: 'set reservedMemory to the sum of systemReserved, kubeReserved and the hard eviction threshold',
        },
  ({ fields: { imageGCLowThresholdPercent: low, imageGCHighThresholdPercent: high } }) =>
    number(low, 80) < number(high, 85)
      ? undefined
      : {
          field: low === undefined ? 'imageGCHighThresholdPercent' : 'imageGCLowThresholdPercent',
          message: `imageGCLowThresholdPercent (${number(low, 80)}) must be below imageGCHighThresholdPercent (${number(high, 85)})`,
          hint: 'the defaults are 80 and 85',
        },
  ({ fields: { imageMaximumGCAge: most, imageMinimumGCAge: least } }) => {
    const [atMost = 0, atLeast = 120_000] = [milliseconds(most), milliseconds(least)];
    if (atMost === 0 || atMost > atLeast) return undefined;
    return {
      field: 'imageMaximumGCAge',
      message: 'must be longer than imageMinimumGCAge',
      hint: 'the default of imageMinimumGCAge is 2m',
    };
  },
  ({ fields: { maxParallelImagePulls, serializeImagePulls } }) =>
    number(maxParallelImagePulls, 1) <= 1 || serializeImagePulls === false
      ? undefined
      : {
          field: 'maxParallelImagePulls',
          message: 'images are pulled one after the other while serializeImagePulls is true, which it is by default',
          hint: 'set serializeImagePulls: false',
        },
  ({ fields: { systemCgroups, cgroupRoot } }) =>
    text(systemCgroups) === '' || text(cgroupRoot) !== ''
      ? undefined
      : { field: 'systemCgroups', message: 'needs cgroupRoot', hint: 'set cgroupRoot: /' },
  ({ fields: { shutdownGracePeriod: all, shutdownGracePeriodCriticalPods: critical } }) =>
    (milliseconds(critical) ?? 0) <= (milliseconds(all) ?? 0)
      ? undefined
      : {
          field: 'shutdownGracePeriodCriticalPods',
          message: 'must not be longer than shutdownGracePeriod, of which it is a part',
          hint: 'raise shutdownGracePeriod',
        },
  ({ fields }) => {
    const field = ['shutdownGracePeriod', 'shutdownGracePeriodCriticalPods'].find((name) => {
      const time = milliseconds(fields[name]) ?? 0;
      return time > 0 && time < 1000;
    });
    return field === undefined ? undefined : { field, message: 'must be 0 or at least 1s', hint: 'write 0s or 1s' };
  },
  ({ fields: { shutdownGracePeriod, shutdownGracePeriodByPodPriority } }) =>
    list(shutdownGracePeriodByPodPriority).length === 0 || (milliseconds(shutdownGracePeriod) ?? 0) === 0
      ? undefined
      : {
          field: 'shutdownGracePeriodByPodPriority',
          message: 'cannot be used together with shutdownGracePeriod',
          hint: 'keep one of them',
        },
  ({ fields }) => enforcement(fields),
  ({ fields }) => {
    const cgroup = ['systemReservedCgroup', 'kubeReservedCgroup'].find((name) => text(fields[name]) !== '');
    if (text(fields.reservedSystemCPUs) === '' || cgroup === undefined) return undefined;
    return { field: 'reservedSystemCPUs', message: `cannot be used together with ${cgroup}`, hint: 'keep one of them' };
  },
  ({ fields: { enableSystemLogQuery, enableSystemLogHandler } }) =>
    enableSystemLogQuery !== true || enableSystemLogHandler !== false
      ? undefined
      : {
          field: 'enableSystemLogQuery',
          message: 'needs enableSystemLogHandler',
          hint: 'set enableSystemLogHandler: true',
        },
  // cmd/kubelet/app/server.go, InitializeTLS: with one of them it makes no certificate itself.
  ({ fields: { tlsCertFile, tlsPrivateKeyFile } }) =>
    (text(tlsCertFile) === '') === (text(tlsPrivateKeyFile) === '')
      ? undefined
      : {
          field: text(tlsCertFile) === '' ? 'tlsPrivateKeyFile' : 'tlsCertFile',
          message: 'tlsCertFile and tlsPrivateKeyFile belong together',
          hint: 'set both, or neither',
        },
  ({ fields: { podLogsDir } }) =>
    podLogsDir === undefined ||
    isVariable(podLogsDir) ||
    (text(podLogsDir).startsWith('/') && cleaned(text(podLogsDir)) === podLogsDir)
      ? undefined
      : {
          field: 'podLogsDir',
          message: 'must be an absolute path without "..", "//" or "/" at its end',
          hint: 'the default is /var/log/pods',
        },
  ({ fields }) => {
    const ports = [
      ['port', number(fields.port, 10_250)],
      ['readOnlyPort', number(fields.readOnlyPort, 0)],
      ['healthzPort', number(fields.healthzPort, 10_248)],
    ] as const;
    for (const [index, [field, port]] of ports.entries()) {
      const other = ports.slice(0, index).find(([, before]) => before === port && port !== 0);
      if (other === undefined) continue;
      const wrong = field in fields ? field : other[0];
      return { field: wrong, message: `${field} and ${other[0]} are both ${port}`, hint: 'give them different ports' };
    }
    return undefined;
  },
  // pkg/kubelet/eviction/helpers.go, ParseThresholdConfig.
  ({ fields }) => {
    for (const field of EVICTIONS) {
      const unknown = isMap(fields[field])
        ? Object.keys(fields[field]).find((signal) => !SIGNALS.has(signal))
        : undefined;
      if (unknown === undefined) continue;
      const hint = `one of ${[...SIGNALS].sort().join(', ')}`;
      return { field, message: `the kubelet knows no eviction signal "${unknown}"`, hint };
    }
    return undefined;
  },
  ({ fields: { evictionSoft, evictionSoftGracePeriod } }) => {
    const periods = isMap(evictionSoftGracePeriod) ? evictionSoftGracePeriod : {};
    const missing = isMap(evictionSoft) ? Object.keys(evictionSoft).find((signal) => !(signal in periods)) : undefined;
    if (missing === undefined) return undefined;
    const hint = `set evictionSoftGracePeriod: {${missing}: 2m}`;
    return { field: 'evictionSoft', message: `${missing} needs a grace period`, hint };
  },
];

function enforcement(fields: Configuration['fields']): Contradiction | undefined {
  const field = 'enforceNodeAllocatable';
  const kinds = fields[field] === undefined ? ['pods'] : list(fields[field]).map(text);
  const missing = kinds.map((kind) => RESERVED[kind]).find((name) => name !== undefined && text(fields[name]) === '');
  const twice = kinds.find((kind, index) => kinds.indexOf(kind) !== index);
  const both = ['system-reserved', 'kube-reserved'].find(
    (kind) => kinds.includes(kind) && kinds.includes(`${kind}-compressible`),
  );
  if (missing !== undefined)
    return { field, message: `needs ${missing}`, hint: `set ${missing}, or enforce pods only` };
  if (twice !== undefined) return { field, message: `"${twice}" is given twice`, hint: 'keep one of them' };
  if (both !== undefined)
    return { field, message: `"${both}" and "${both}-compressible" cannot be used together`, hint: 'keep one of them' };
  if (kinds.includes('none') && kinds.length > 1)
    return { field, message: '"none" cannot be used with others', hint: 'remove "none", or the others' };
  if (fields.cgroupsPerQOS !== false || kinds.length === 0 || kinds.includes('none')) return undefined;
  return { field: 'cgroupsPerQOS', message: `false, although ${field} needs it`, hint: `set ${field}: []` };
}

/** Whether a quantity of a resource is reserved. */
function reserves(fields: Configuration['fields'], resource: string): boolean {
  return [fields.systemReserved, fields.kubeReserved].some(
    (reserved) =>
      text(reserved).includes(`${resource}=`) ||
      (isMap(reserved) && resource in reserved && !/^0{1,9}[a-zA-Z]{0,2}$/.test(text(reserved[resource]))),
  );
}

/** path.Clean of Go, for absolute paths. */
function cleaned(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** The field of the configuration that an argument sets: `system-reserved-cgroup`. */
export function fieldOf(argument: string): string {
  if (argument === 'reserved-cpus') return 'reservedSystemCPUs';
  return argument.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Contradictions in the kubelet's configuration, which has parts in `node.kubelet.config` and in `extraDocuments`. */
export function checkKubeletContradictions({ role, node, bootstrapper, controlPlane }: KubernetesSection): Finding[] {
  const places: (readonly [Readonly<Record<string, unknown>>, readonly PathSegment[]])[] = [];
  if (node?.kubelet?.config !== undefined)
    places.push([node.kubelet.config, ['kubernetes', 'node', 'kubelet', 'config']]);
  const documents = bootstrapper?.kubeadm?.extraDocuments ?? [];
  for (const [index, document] of documents.entries()) {
    if (document.kind !== 'KubeletConfiguration') continue;
    places.push([document, ['kubernetes', 'bootstrapper', 'kubeadm', 'extraDocuments', index]]);
  }
  // Arguments win over the configuration, and settle what it leaves open.
  const given = (node?.kubelet?.args ?? []).map(({ name, value }) => [fieldOf(name), value]);
  const fields: Configuration['fields'] = Object.assign(
    {},
    ...places.map(([one]) => one).reverse(),
    Object.fromEntries(given),
  );
  const hasStaticPods = role !== 'Worker' || (controlPlane?.staticPods ?? []).length > 0;
  return RULES.flatMap((rule) => {
    const found = rule({ fields, hasStaticPods });
    if (found === undefined) return [];
    const { field, message, hint } = found;
    const [, path] = places.find(([one]) => field in one) ?? places[0] ?? [];
    return path === undefined ? [] : [{ path: [...path, field], message, hint }];
  });
}
