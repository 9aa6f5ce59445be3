import type {
  ContainerdModel,
  RegistryCapability,
  RegistryEndpoint,
  RegistryModel,
  RuntimeModel,
} from '../../model.ts';
import { parseSize } from '../../units.ts';
import type { ContainerdSection, RuntimeSection } from './containerd.ts';
import { headersOf, milliseconds, type ResolveSecret } from './convert-values.ts';
import type { EndpointSection, RegistrySection } from './registries.ts';

const RUNC = 'io.containerd.runc.v2';
const NO_LIMIT = -1;
/** What a mirror is for. Without `resolve` tags are still looked up in the registry itself. */
const MIRROR_CAPABILITIES: readonly RegistryCapability[] = ['pull', 'resolve'];

export function toContainerd(
  section: ContainerdSection | undefined,
  resolve: ResolveSecret,
): ContainerdModel | undefined {
  if (section === undefined) return undefined;
  const { cdi, cni, maxContainerLogLineSize: lineSize } = section;
  return {
    mode: section.mode ?? 'Managed',
    cgroupDriver: section.cgroupDriver ?? 'systemd',
    sandboxImage: section.sandboxImage,
    restrictOomScoreAdj: section.restrictOomScoreAdj,
    snapshotter: section.snapshotter,
    discardUnpackedLayers: section.discardUnpackedLayers,
    maxContainerLogLineSize:
      lineSize === undefined ? undefined : lineSize === 'Unlimited' ? NO_LIMIT : parseSize(lineSize),
    cdi: cdi === undefined ? undefined : { enabled: cdi.enabled ?? true, specDirectories: cdi.specDirectories ?? [] },
    cni: {
      binaryDirectories: cni?.binaryDirectories ?? [],
      configurationDirectory: cni?.configurationDirectory,
    },
    root: section.root,
    state: section.state,
    defaultRuntime: section.defaultRuntime,
    runtimes: Object.entries({ runc: {}, ...section.runtimes }).map(([name, runtime]) => toRuntime(name, runtime)),
    registries: (section.registries ?? []).map((registry, index) => toRegistry(registry, index, resolve)),
    settings: section.settings ?? {},
  };
}

function toRuntime(name: string, section: RuntimeSection): RuntimeModel {
  const known = knownRuntime(name);
  const type = section.type ?? known.type ?? RUNC;
  return {
    name,
    type,
    binary: section.binary ?? (type === RUNC ? known.binary : undefined),
    optional: section.optional ?? false,
    path: section.path,
    root: section.root,
    podAnnotations: section.podAnnotations ?? known.podAnnotations ?? [],
    containerAnnotations: section.containerAnnotations ?? [],
    privilegedWithoutHostDevices: section.privilegedWithoutHostDevices ?? known.privilegedWithoutHostDevices,
    baseSpec: section.baseSpec,
    snapshotter: section.snapshotter,
    options: section.options ?? {},
  };
}

/** What the projects themselves have their users write for the names they gave. */
function knownRuntime(name: string): Partial<RuntimeModel> {
  // containers/crun, README: runc's shim with another program behind it.
  if (name === 'crun') return { binary: 'crun' };
  // NVIDIA Container Toolkit, nvidia-ctk runtime configure: the handlers nvidia, nvidia-cdi and nvidia-legacy.
  if (name === 'nvidia') return { binary: '/usr/bin/nvidia-container-runtime' };
  if (name === 'nvidia-cdi' || name === 'nvidia-legacy') {
    return { binary: `/usr/bin/nvidia-container-runtime.${name.slice('nvidia-'.length)}` };
  }
  // kata-containers, docs/how-to/containerd-kata.md; kata-deploy names its shims containerd-shim-kata-qemu-v2 and so on.
  if (/^kata(?:-|$)/.test(name)) {
    return {
      type: `io.containerd.${name}.v2`,
      podAnnotations: ['io.katacontainers.*'],
      privilegedWithoutHostDevices: true,
    };
  }
  // gVisor, docs/user_guide/containerd/quick_start.md
  if (name === 'gvisor' || name === 'runsc') return { type: 'io.containerd.runsc.v1' };
  return {};
}

function toRegistry(section: RegistrySection, index: number, resolve: ResolveSecret): RegistryModel {
  const name = `containerRuntime.containerd.registries[${index}]`;
  return {
    host: section.host,
    server: { url: section.server, capabilities: [], ...toEndpoint(section, name, resolve) },
    fallback: section.fallback ?? true,
    mirrors: (section.mirrors ?? []).map((mirror, at) => ({
      url: mirror.url,
      capabilities: mirror.capabilities ?? MIRROR_CAPABILITIES,
      ...toEndpoint(mirror, `${name}.mirrors[${at}]`, resolve),
    })),
    verify: section.verify,
  };
}

function toEndpoint(
  section: EndpointSection,
  name: string,
  resolve: ResolveSecret,
): Omit<RegistryEndpoint, 'url' | 'capabilities'> {
  const { ca, clientCertificate, credentials } = section;
  return {
    ca:
      ca === undefined
        ? undefined
        : typeof ca === 'string'
          ? { kind: 'pem', pem: ca }
          : { kind: 'file', path: ca.file },
    clientCertificate:
      clientCertificate === undefined
        ? undefined
        : {
            certificate: clientCertificate.certificate,
            key: resolve(clientCertificate.key, `${name}.clientCertificate.key`),
          },
    skipVerify: section.skipVerify ?? false,
    overridePath: section.overridePath ?? false,
    dialTimeoutMs: milliseconds(section.dialTimeout),
    headers: headersOf(section.headers, resolve, name),
    credentials:
      credentials === undefined
        ? undefined
        : {
            username: resolve(credentials.username, `${name}.credentials.username`),
            password: resolve(credentials.password, `${name}.credentials.password`),
          },
  };
}
