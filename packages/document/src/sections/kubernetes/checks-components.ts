import { choices, type Finding, nearestName, type PathSegment } from '../../diagnostics/index.ts';
import {
  type ComponentGate,
  componentGates,
  componentGatesOf,
  NEWEST_COMPONENT_GATES_MINOR,
} from '../../kubernetes-releases/component-gates.ts';
import {
  CLOUD_PROVIDERS_REMOVED,
  type Component,
  PROXY_MODES,
  proxyModes,
  removedFlag,
} from '../../kubernetes-releases/flags.ts';
import { minorOf, NEWEST_KNOWN_MINOR } from '../../kubernetes-releases/minor.ts';
import { type CommandLine, commandLines } from './command-lines.ts';
import { parseBoolean } from './go-values.ts';
import type { KubernetesSection } from './index.ts';

/** What a component of this minor does not start with: flags and feature gates that it has no more, or not yet. */
export function checkComponents(kubernetes: KubernetesSection): Finding[] {
  const minor = minorOf(kubernetes.version);
  return [
    ...commandLines(kubernetes).flatMap((line) => checkFlags(line, minor)),
    ...checkCloudProvider(kubernetes, minor),
    ...checkGates(kubernetes, minor),
    ...checkProxyMode(kubernetes, minor),
  ];
}

/** Gates that no known release has, of a minor that may have new ones: they are left to the component. */
export function lintComponentGates(kubernetes: KubernetesSection): Finding[] {
  const minor = minorOf(kubernetes.version);
  if (minor <= NEWEST_COMPONENT_GATES_MINOR) return [];
  const gates = componentGates();
  return gateSettings(kubernetes).flatMap(({ name, value: _value, component, ...place }): Finding[] => {
    if (name === undefined || gates.has(name)) return [];
    const message = `it is not known whether ${component} 1.${minor} has the feature gate ${name}; without it, ${component} does not start`;
    return [{ ...place, message, hint: `see "${component} --help"` }];
  });
}

function checkFlags({ component, args, path }: CommandLine, minor: number): Finding[] {
  return args.flatMap(({ name }, index): Finding[] => {
    const gone = removedFlag(component, name, minor);
    if (gone === undefined) return [];
    const message = `${component} 1.${minor} does not start with --${name}: it was removed in 1.${gone.removed}`;
    return [{ path: [...path, index, 'name'], message, hint: gone.remedy }];
  });
}

/** k/k cmd/kubelet/app/server.go and staging/src/k8s.io/cloud-provider/plugins.go. */
function checkCloudProvider(kubernetes: KubernetesSection, minor: number): Finding[] {
  const { aws, switchedOff, others } = CLOUD_PROVIDERS_REMOVED;
  const gates = gateSettings(kubernetes);
  return commandLines(kubernetes).flatMap(({ component, args, path }) =>
    args.flatMap(({ name, value }, index): Finding[] => {
      if (name !== 'cloud-provider' || component !== 'kubelet' || value === '' || value === 'external') return [];
      const isBackOn = gates.some((gate) => gate.name === 'DisableCloudProviders' && gate.value === false);
      const first = value === 'aws' ? aws : isBackOn ? others : switchedOff;
      if (minor < first) return [];
      const message = `kubelet 1.${minor} has no built-in cloud providers: they were removed in 1.${first}`;
      return [{ path: [...path, index, 'value'], message, hint: 'write external, and run its controller manager' }];
    }),
  );
}

/** One feature gate that the document sets; without name and value where the text is none. */
interface GateSetting {
  readonly component: Component | 'kube-proxy';
  readonly path: readonly PathSegment[];
  /** Set where the place is the last key of `path`. */
  readonly key?: string;
  readonly name: string | undefined;
  readonly value: boolean | undefined;
}

/** Every place in which the document sets feature gates of a component. */
function gateSettings(kubernetes: KubernetesSection): readonly GateSetting[] {
  const { node, addons, bootstrapper, role } = kubernetes;
  const fromFlags = commandLines(kubernetes).flatMap(({ component, args, path }) =>
    args.flatMap((argument, index) =>
      argument.name === 'feature-gates' ? inFlag(argument.value, component, [...path, index, 'value']) : [],
    ),
  );
  const extra = (bootstrapper?.kubeadm?.extraDocuments ?? []).flatMap((document, index) => {
    const component = document.kind === 'KubeletConfiguration' ? 'kubelet' : 'kube-proxy';
    const path = ['kubernetes', 'bootstrapper', 'kubeadm', 'extraDocuments', index];
    return inConfiguration(document, component, path);
  });
  const patches = bootstrapper?.kubeadm?.patches;
  const patched = (Array.isArray(patches) ? patches : []).flatMap(({ target, patch }, index) => {
    const path = ['kubernetes', 'bootstrapper', 'kubeadm', 'patches', index, 'patch'];
    return target === 'kubeletconfiguration' ? inConfiguration(patch, 'kubelet', path) : [];
  });
  const proxy = role === 'InitControlPlane' ? addons?.proxy?.config : undefined;
  return [
    ...fromFlags,
    ...inConfiguration(node?.kubelet?.config, 'kubelet', ['kubernetes', 'node', 'kubelet', 'config']),
    ...inConfiguration(proxy, 'kube-proxy', ['kubernetes', 'addons', 'proxy', 'config']),
    ...extra,
    ...patched,
  ];
}

/** `A=true,B=false`; from 1.31 on also `kube:A=true` (k/k staging/src/k8s.io/component-base/compatibility). */
function inFlag(text: string, component: Component, path: readonly PathSegment[]): readonly GateSetting[] {
  return text
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=');
      const value = parseBoolean(pair.slice(at + 1).trim());
      const name =
        at < 0 || value === undefined
          ? undefined
          : pair
              .slice(0, at)
              .trim()
              .replace(/^kube:/, '');
      return { component, path, name, value };
    });
}

function inConfiguration(
  configuration: unknown,
  component: 'kubelet' | 'kube-proxy',
  path: readonly PathSegment[],
): readonly GateSetting[] {
  if (typeof configuration !== 'object' || configuration === null) return [];
  const gates: unknown = Reflect.get(configuration, 'featureGates');
  if (typeof gates !== 'object' || gates === null) return [];
  return Object.entries(gates).map(([name, value]) => ({
    component,
    path: [...path, 'featureGates', name],
    key: name,
    name,
    value: typeof value === 'boolean' ? value : undefined,
  }));
}

function checkGates(kubernetes: KubernetesSection, minor: number): Finding[] {
  const settings = gateSettings(kubernetes);
  if (settings.length === 0) return [];
  const gates = componentGates();
  const suggestion = suggestions(minor);
  return settings.flatMap(({ component, name, value, ...place }): Finding[] => {
    if (name === undefined)
      return [{ code: 'RefusedByKubernetes', ...place, message: 'not feature gates, such as "A=true,B=false"' }];
    const mistake = gateMistake(name, value, gates.get(name), minor, suggestion);
    if (mistake === undefined) return [];
    return [
      { ...place, message: `${component} 1.${minor} does not start with this: ${mistake.what}`, hint: mistake.hint },
    ];
  });
}

function gateMistake(
  name: string,
  value: boolean | undefined,
  gate: ComponentGate | undefined,
  minor: number,
  suggestion: (name: string) => string,
): { readonly what: string; readonly hint: string } | undefined {
  if (gate === undefined) {
    if (minor > NEWEST_COMPONENT_GATES_MINOR) return undefined;
    return { what: `there is no feature gate ${name}`, hint: suggestion(name) };
  }
  const { since = 0, until = Number.POSITIVE_INFINITY, untilAtMost } = gate;
  const { lockedSince = Number.POSITIVE_INFINITY, lockedTo = true } = gate;
  if (minor < since) {
    const what = `the feature gate ${name} came with 1.${since}`;
    return { what, hint: 'remove it, or raise kubernetes.version' };
  }
  if (minor > until) {
    const when = untilAtMost === true ? `1.${until + 1} or before` : `1.${until + 1}`;
    return { what: `the feature gate ${name} was removed in ${when}`, hint: 'remove it' };
  }
  if (minor >= lockedSince && value === !lockedTo) {
    return { what: `the feature gate ${name} is locked to ${lockedTo} since 1.${lockedSince}`, hint: 'remove it' };
  }
  return undefined;
}

/** Comparing a name with all gates is expensive: a document of thousands of unknown names must not cost seconds. */
const MOST_SUGGESTIONS = 20;

function suggestions(minor: number): (name: string) => string {
  let given = 0;
  return (name) => {
    if (given++ >= MOST_SUGGESTIONS) return 'remove it';
    const known = componentGatesOf(minor);
    const near = nearestName(name, known);
    return near === undefined ? `known: ${choices(known, name)}` : `did you mean "${near}"?`;
  };
}

/** k/k pkg/proxy/apis/config/validation/validation.go, validateProxyModeLinux: kubeadm deploys kube-proxy on Linux only. */
function checkProxyMode(kubernetes: KubernetesSection, minor: number): Finding[] {
  if (kubernetes.role !== 'InitControlPlane' || minor > NEWEST_KNOWN_MINOR) return [];
  const configurations = [
    { config: kubernetes.addons?.proxy?.config, path: ['kubernetes', 'addons', 'proxy', 'config'] },
    ...(kubernetes.bootstrapper?.kubeadm?.extraDocuments ?? []).map((document, index) => ({
      config: document.kind === 'KubeProxyConfiguration' ? document : undefined,
      path: ['kubernetes', 'bootstrapper', 'kubeadm', 'extraDocuments', index],
    })),
  ];
  const modes = proxyModes(minor);
  const gates = gateSettings(kubernetes);
  return configurations.flatMap(({ config, path }): Finding[] => {
    const mode: unknown = config?.mode;
    if (typeof mode !== 'string') return [];
    const place = [...path, 'mode'];
    if (!modes.includes(mode)) {
      const message = `kube-proxy 1.${minor} has no mode "${mode}" on Linux`;
      return [{ path: place, message, hint: `one of ${modes.filter((name) => name !== '').join(', ')}` }];
    }
    const { gate, onSince } = PROXY_MODES.nftables;
    const isOn = gates.some(({ component, name, value }) => component === 'kube-proxy' && name === gate && value);
    if (mode !== 'nftables' || minor >= onSince || isOn) return [];
    const message = `kube-proxy 1.${minor} has the mode nftables only with its feature gate`;
    return [{ path: place, message, hint: `add featureGates: {${gate}: true}, or use Kubernetes 1.${onSince}` }];
  });
}
