import { beyond, DIGEST, init, invalid, PEM, type Source, valid } from './source.ts';

const containerd = (more: string): string => `containerRuntime: {containerd: {${more}}}`;
const registry = (more: string): string => containerd(`registries: [{host: docker.io, ${more}}]`);
const mirror = (more: string): string => registry(`mirrors: [{url: "https://m.example", ${more}}]`);

/** `containerRuntime`, `images` and `hardening`. */
export const RUNTIME_VECTORS: readonly Source[] = [
  valid(
    'containerd',
    containerd(
      'mode: Merge, cgroupDriver: cgroupfs, sandboxImage: "registry.k8s.io/pause:3.10", maxContainerLogLineSize: Unlimited',
    ),
  ),
  invalid('another runtime', 'UnknownField', 'containerRuntime: {¦docker: {}}'),
  invalid('an unknown mode', 'InvalidValue', containerd('mode: ¦Replace')),
  invalid('a line size without a unit', 'InvalidType', containerd('maxContainerLogLineSize: ¦16384')),
  beyond('root and state in one directory', 'Conflict', containerd('root: /a, state: ¦/a')),
  valid('a runtime', containerd('runtimes: {crun: {binary: /usr/bin/crun}}, defaultRuntime: crun')),
  invalid(
    'a program behind another shim',
    'Conflict',
    containerd('runtimes: {a: {type: io.containerd.kata.v2, binary: ¦/a}}'),
  ),
  invalid('a driver of one runtime', 'Conflict', containerd('runtimes: {a: {options: {SystemdCgroup: ¦true}}}')),
  invalid('a program among the options', 'Conflict', containerd('runtimes: {a: {options: {BinaryName: ¦/a}}}')),
  invalid('a runtime in capitals', 'InvalidValue', containerd('runtimes: {¦CRUN: {}}')),
  beyond('a missing default runtime', 'Conflict', containerd('defaultRuntime: ¦kata')),
  valid('other settings', containerd('settings: {debug: {level: info}, plugins: {a: {b: [1, "c", true]}}}')),
  invalid('the version of the settings', 'Conflict', containerd('settings: {version: ¦3}')),
  invalid('settings without CRI', 'Conflict', containerd('settings: {disabled_plugins: ¦[cri]}')),
  invalid(
    'a setting that CRI does not load',
    'Conflict',
    containerd('settings: {plugins: {io.containerd.grpc.v1.cri: {systemd_cgroup: ¦true}}}'),
  ),
  invalid('a setting that is nothing', 'InvalidValue', containerd('settings: {a: ¦null}')),
  invalid(
    'another cgroup driver of the kubelet',
    'Conflict',
    `${containerd('cgroupDriver: systemd')}\n${init('node: {kubelet: {config: {cgroupDriver: ¦cgroupfs}}}')}`,
  ),
  invalid(
    'another cgroup driver among its arguments',
    'Conflict',
    `${containerd('')}\n${init('node: {kubelet: {args: [¦{name: cgroup-driver, value: cgroupfs}]}}')}`,
  ),
  valid(
    'the same cgroup driver',
    `${containerd('cgroupDriver: cgroupfs')}\n${init('node: {kubelet: {config: {cgroupDriver: cgroupfs}}}')}`,
  ),

  valid('a mirror', mirror('capabilities: [pull, resolve], ca: {file: /a}, headers: {X-A: b}')),
  valid('a server', registry('server: "https://registry.example", credentials: {username: a, password: b}')),
  valid('only mirrors', registry('fallback: false, mirrors: [{url: "https://m.example"}]')),
  invalid('a registry of which nothing is said', 'Conflict', containerd('registries: [¦{host: docker.io}]')),
  invalid('all others without a server', 'Conflict', containerd('registries: [¦{host: _default, skipVerify: true}]')),
  invalid(
    'the registry of Docker under another name',
    'Conflict',
    containerd('registries: [{host: ¦index.docker.io, server: "https://a"}]'),
  ),
  invalid('nothing to ask', 'Conflict', registry('fallback: ¦false')),
  invalid(
    'a server that is never asked',
    'Conflict',
    registry('fallback: false, server: ¦"https://a", mirrors: [{url: "https://m.example"}]'),
  ),
  invalid(
    'no mirror that resolves and pulls',
    'Conflict',
    registry('fallback: false, mirrors: ¦[{url: "https://m.example", capabilities: [pull]}]'),
  ),
  invalid('TLS of a mirror without it', 'Conflict', registry(`mirrors: [{url: "http://m.example", ca: ¦${PEM}}]`)),
  invalid('an authority that is not asked', 'Conflict', mirror('skipVerify: ¦true, ca: {file: /a}')),
  invalid(
    'credentials twice',
    'Conflict',
    mirror('credentials: ¦{username: a, password: b}, headers: {authorization: c}'),
  ),
  invalid('an invalid key', 'Conflict', mirror(`clientCertificate: {certificate: ${PEM}, key: ¦x}`)),
  invalid('a mirror with a query', 'InvalidValue', registry('mirrors: [{url: ¦"https://m.example/?a"}]')),
  invalid('a mirror without capabilities', 'InvalidValue', mirror('capabilities: ¦[]')),
  beyond('a mirror twice', 'Duplicate', registry('mirrors: [{url: "https://m.example"}, {url: ¦"https://m.example"}]')),
  beyond('an image of another registry', 'Conflict', registry('server: "https://a", verify: ¦quay.io/a/b:c')),

  valid(
    'an archive',
    `images: {archives: [{path: /a.tar}, {url: "https://a.example/b.tar", sha256: ${DIGEST}}], required: ["registry.k8s.io/pause:3.10"]}`,
  ),
  invalid('an archive that is nowhere', 'Conflict', 'images: {archives: [¦{}]}'),
  invalid(
    'an archive in two places',
    'Conflict',
    `images: {archives: [¦{path: /a, url: "https://a.example", sha256: ${DIGEST}}]}`,
  ),
  invalid('a download without its digest', 'Conflict', 'images: {archives: [¦{url: "https://a.example"}]}'),
  invalid('headers of a local file', 'Conflict', 'images: {archives: [{path: /a, headers: ¦{X-A: b}}]}'),
  invalid('an image in capitals', 'InvalidValue', 'images: {required: [¦"Registry/a"]}'),
  beyond('an archive twice', 'Duplicate', 'images: {archives: [{path: /a}, ¦{path: /a}]}'),

  valid('a benchmark', 'hardening: {profiles: [cis-level-1], exceptions: [{id: cis-1.1.12, reason: a}]}'),
  invalid('an unknown benchmark', 'InvalidValue', 'hardening: {profiles: [¦cis]}'),
  invalid('no benchmark', 'MissingField', 'hardening: ¦{}'),
  invalid('a benchmark twice', 'Duplicate', 'hardening: {profiles: [stig, ¦stig]}'),
  invalid(
    'an exception without a reason',
    'InvalidValue',
    'hardening: {profiles: [stig], exceptions: [{id: cis-1.1.12, reason: ¦" "}]}',
  ),
  invalid(
    'a benchmark of kubeadm without kubeadm',
    'Conflict',
    `hardening: {profiles: [¦stig]}\n${init('bootstrapper: {exec: {command: /a}}')}`,
  ),
  beyond(
    'a control on both lists',
    'Conflict',
    'hardening: {profiles: [stig], include: [¦cis-1.1.12], exceptions: [{id: cis-1.1.12, reason: a}]}',
  ),
];
