import type { ContainerdModel, RegistryEndpoint, RuntimeModel } from '@machineadm/document/model/index.ts';

/** A runtime handler of runc's shim, with what a test is about replaced. */
export function runtimeModel(name: string, different: Partial<RuntimeModel> = {}): RuntimeModel {
  return {
    name,
    type: 'io.containerd.runc.v2',
    binary: undefined,
    optional: false,
    path: undefined,
    root: undefined,
    podAnnotations: [],
    containerAnnotations: [],
    privilegedWithoutHostDevices: undefined,
    baseSpec: undefined,
    snapshotter: undefined,
    options: {},
    ...different,
  };
}

/** What `containerd: {}` of a document means, with what a test is about replaced. */
export function containerdModel(different: Partial<ContainerdModel> = {}): ContainerdModel {
  return {
    version: undefined,
    mode: 'Managed',
    cgroupDriver: 'systemd',
    sandboxImage: undefined,
    restrictOomScoreAdj: undefined,
    snapshotter: undefined,
    discardUnpackedLayers: undefined,
    maxContainerLogLineSize: undefined,
    cdi: undefined,
    cni: { binaryDirectories: [], configurationDirectory: undefined },
    root: undefined,
    state: undefined,
    defaultRuntime: undefined,
    runtimes: [runtimeModel('runc')],
    registries: [],
    settings: {},
    ...different,
  };
}

/** A server of images without anything special. */
export function registryEndpoint<Url extends string | undefined>(
  url: Url,
  different: Partial<Omit<RegistryEndpoint, 'url'>> = {},
): RegistryEndpoint & { readonly url: Url } {
  return {
    url,
    capabilities: url === undefined ? [] : ['pull', 'resolve'],
    ca: undefined,
    clientCertificate: undefined,
    skipVerify: false,
    overridePath: false,
    dialTimeoutMs: undefined,
    headers: {},
    credentials: undefined,
    ...different,
  };
}
