import { type Finding, nearestName, type PathSegment } from '../../diagnostics.ts';
import type { KubernetesSection } from '../../sections/kubernetes/index.ts';
import { Verbatim, wholeNumber } from '../../verbatim.ts';
import { checkRegistries } from './checks-registries.ts';
import type { ContainerdSection } from './containerd.ts';
import type { Sections } from './sections.ts';

type KubeletSection = NonNullable<KubernetesSection['node']>['kubelet'];

const HERE: readonly PathSegment[] = ['containerRuntime', 'containerd'];
const RUNC = 'io.containerd.runc.v2';
/** The ids under which CRI can be switched off: containerd/containerd#8139. */
const CRI_PLUGINS = ['cri', 'io.containerd.grpc.v1.cri', 'io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime'];

/** Contradictions within `containerRuntime.containerd`. */
export function checkContainerd({ containerRuntime, kubernetes }: Sections): Finding[] {
  const section = containerRuntime?.containerd;
  if (section === undefined) return [];
  return [
    ...checkDirectories(section),
    ...checkDefaultRuntime(section),
    ...checkRuntimes(section),
    ...checkCgroupDriver(section, kubernetes?.node?.kubelet),
    ...checkSettings(section),
    ...checkRegistries(section.registries ?? []),
  ];
}

/** containerd cmd/containerd/server/server.go, CreateTopLevelDirectories: "root and state must be different paths". */
function checkDirectories({ root, state }: ContainerdSection): Finding[] {
  if (root === undefined || state === undefined) return [];
  const [first, second] = [root, state].map((path) => path.replace(/\/+$/, ''));
  if (first !== second) return [];
  return [{ path: [...HERE, 'state'], message: 'root and state must be different directories' }];
}

function checkDefaultRuntime({ defaultRuntime, runtimes, mode }: ContainerdSection): Finding[] {
  // What is merged into may define it: that is judged on the machine.
  if (defaultRuntime === undefined || mode === 'Merge') return [];
  const known = ['runc', ...Object.keys(runtimes ?? {})];
  if (known.includes(defaultRuntime)) return [];
  const near = nearestName(defaultRuntime, known);
  const hint = near === undefined ? `add it to runtimes` : `did you mean "${near}"?`;
  return [{ path: [...HERE, 'defaultRuntime'], message: `no runtime of the name "${defaultRuntime}"`, hint }];
}

/** Each would put its processes where the other does not look: no pod starts (containerd/containerd#4857). */
function checkCgroupDriver({ cgroupDriver = 'systemd' }: ContainerdSection, kubelet: KubeletSection): Finding[] {
  const { config, args = [] } = kubelet ?? {};
  const path = ['kubernetes', 'node', 'kubelet'];
  const message = `the container runtime gets ${cgroupDriver}`;
  const hint = 'write containerRuntime.containerd.cgroupDriver only, which the kubelet gets, too';
  const findings: Finding[] = [];
  if (config?.cgroupDriver !== undefined && config.cgroupDriver !== cgroupDriver) {
    findings.push({ path: [...path, 'config', 'cgroupDriver'], message, hint });
  }
  args.forEach(({ name, value }, index) => {
    if (name === 'cgroup-driver' && value !== cgroupDriver) {
      findings.push({ path: [...path, 'args', index], message, hint });
    }
  });
  return findings;
}

function checkRuntimes({ runtimes }: ContainerdSection): Finding[] {
  return Object.entries(runtimes ?? {}).flatMap(([name, { type, binary, options }]): Finding[] => {
    const path = [...HERE, 'runtimes', name];
    const findings: Finding[] = [];
    if (binary !== undefined && type !== undefined && type !== RUNC) {
      const hint = 'path names the shim itself; what else it needs goes into options';
      findings.push({ path: [...path, 'binary'], message: `only the shim of runc has a program behind it`, hint });
    }
    if (options !== undefined) findings.push(...unfitNumbers(options, [...path, 'options']));
    if (options !== undefined && 'SystemdCgroup' in options) {
      const hint = 'write containerd.cgroupDriver, which every runtime gets and the kubelet, too';
      findings.push({ path: [...path, 'options', 'SystemdCgroup'], message: 'is decided by cgroupDriver', hint });
    }
    if (options !== undefined && 'BinaryName' in options) {
      findings.push({ path: [...path, 'options', 'BinaryName'], message: 'has a field of its own', hint: 'binary' });
    }
    return findings;
  });
}

/** What settings may not take back: the format of the file, and CRI itself. */
function checkSettings({ settings = {} }: ContainerdSection): Finding[] {
  const path = [...HERE, 'settings'];
  const findings: Finding[] = [];
  if ('version' in settings) {
    const hint = 'remove it; the words of settings are those of version 2 for containerd 1.x and of version 3 for 2.x';
    findings.push({ path: [...path, 'version'], message: 'the version is chosen by the containerd found', hint });
  }
  findings.push(...unfitNumbers(settings, path));
  const disabled = settings.disabled_plugins;
  const off = Array.isArray(disabled) ? disabled.filter((id) => CRI_PLUGINS.some((plugin) => plugin === id)) : [];
  if (off.length > 0) {
    const message = `switches off ${off.join(', ')}, without which containerd runs no pod`;
    findings.push({ path: [...path, 'disabled_plugins'], message });
  }
  const cri = tableOf(tableOf(settings.plugins)['io.containerd.grpc.v1.cri']);
  if (cri.systemd_cgroup === true) {
    const message = 'is the key of containerd 1.2: CRI does not load with it';
    const hint = 'write containerd.cgroupDriver: systemd';
    findings.push({ path: [...path, 'plugins', 'io.containerd.grpc.v1.cri', 'systemd_cgroup'], message, hint });
  }
  return findings;
}

/** TOML 1.0: integers have 64 bits and a sign. */
function unfitNumbers(value: unknown, path: readonly PathSegment[]): Finding[] {
  if (value instanceof Verbatim) {
    const whole = wholeNumber(value.text);
    if (whole === undefined || BigInt.asIntN(64, whole) === whole) return [];
    return [{ path, message: 'a number of more than 64 bits, which TOML does not have', hint: 'write a smaller one' }];
  }
  if (value === null || typeof value !== 'object') return [];
  const parts: readonly [PathSegment, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return parts.flatMap(([key, part]) => unfitNumbers(part, [...path, key]));
}

type Settings = NonNullable<ContainerdSection['settings']>;

function tableOf(value: Settings[string] | undefined): Settings {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Verbatim) ? value : {};
}
