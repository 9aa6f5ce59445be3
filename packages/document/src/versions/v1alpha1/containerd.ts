import * as z from 'zod';
import { field, object } from '../../sections/field.ts';
import { SIZE_PATTERN } from '../../units.ts';
import { absolutePath } from './fields.ts';
import { registries } from './registries.ts';
import { tomlTable } from './toml.ts';

/** `containerRuntime.containerd`. */

/** RuntimeClass handlers are DNS labels (k8s.io/api node/v1 types.go, RuntimeClass.Handler). */
const handler = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'not the name of a handler: lower-case letters, digits and "-"');

/** containerd pkg/identifiers/validate.go */
const snapshotter = z.string().regex(/^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$/, 'not the name of a snapshotter');

const LINE_SIZE = 'expected a size with its unit, such as "16Ki", or Unlimited';

const annotations = z.array(z.string().regex(/^[A-Za-z0-9./*_-]+$/, 'not the pattern of an annotation'));

const runtime = object({
  type: field(
    z.string().regex(/^[a-z0-9]+(?:\.[a-z0-9-]+)*\.v\d+$/, 'not the type of a shim, such as io.containerd.runc.v2'),
    'The shim of the runtime.',
    {
      absent: 'by the name; io.containerd.runc.v2 for runc, crun, nvidia and unknown names',
      example: 'io.containerd.runc.v2',
    },
  ),
  binary: field(
    z.union([absolutePath, z.string().regex(/^[A-Za-z0-9._-]+$/, 'neither a path nor the name of a program')]),
    'The OCI runtime that the shim of runc starts, as a path or the name of a program. Other shims have none.',
    { absent: 'by the name, for crun and nvidia', example: '/usr/bin/crun' },
  ),
  optional: field(
    z.boolean(),
    'Whether the program may be installed later. With false, a missing program ends the run before any change.',
    { default: false, example: true },
  ),
  path: field(absolutePath, 'The path of the shim, where it is not on the PATH of containerd.', {
    absent: 'the shim is looked up on the PATH of containerd',
    example: '/opt/kata/bin/containerd-shim-kata-v2',
  }),
  root: field(absolutePath, 'The directory for the state of the OCI runtime.', {
    absent: 'that of the runtime',
    example: '/run/containerd/runc',
  }),
  podAnnotations: field(annotations, 'Annotations of pods that are passed to the runtime. A pattern may end in *.', {
    absent: 'by the name of the runtime',
    example: ['io.katacontainers.*'],
  }),
  containerAnnotations: field(
    annotations,
    'Annotations of containers that are passed to the runtime. A pattern may end in *.',
    { default: [], example: ['io.katacontainers.*'] },
  ),
  privilegedWithoutHostDevices: field(z.boolean(), 'Whether a privileged container gets no devices of the host.', {
    absent: 'by the name of the runtime, or else false',
    example: true,
  }),
  baseSpec: field(absolutePath, 'A file with the OCI runtime specification (JSON) that every container starts from.', {
    absent: 'that of containerd',
    example: '/etc/containerd/base-spec.json',
  }),
  snapshotter: field(snapshotter, 'The snapshotter of this runtime. Needs containerd 1.7.', {
    absent: 'that of containerRuntime.containerd.snapshotter',
    example: 'devmapper',
  }),
  options: field(
    tomlTable,
    'Further options of the shim, by the names that containerd gives them. SystemdCgroup and BinaryName have fields of their own.',
    { default: {}, example: { ConfigPath: '/etc/kata/configuration.toml' } },
  ),
});

export const containerd = object({
  mode: field(
    z.enum(['Managed', 'Merge']),
    'Managed writes the whole file. Merge changes the keys of this section in the file that is there.',
    { default: 'Managed', example: 'Merge' },
  ),
  cgroupDriver: field(
    z.enum(['systemd', 'cgroupfs']),
    'The cgroup driver of every runtime. The kubelet gets the same one.',
    { default: 'systemd', example: 'systemd' },
  ),
  sandboxImage: field(z.string().min(1), 'The pause image.', {
    absent: 'the one that containerd was built with',
    example: 'registry.k8s.io/pause:3.10',
  }),
  snapshotter: field(snapshotter, 'The snapshotter that stores image layers.', {
    absent: 'that of containerd, overlayfs',
    example: 'overlayfs',
  }),
  discardUnpackedLayers: field(
    z.boolean(),
    'Deletes compressed layers after they are unpacked, which saves disk space.',
    { absent: 'that of containerd, false', example: true },
  ),
  maxContainerLogLineSize: field(
    z.string({ error: LINE_SIZE }).regex(new RegExp(`^Unlimited$|${SIZE_PATTERN.source}`), LINE_SIZE),
    "The longest line of a container's log, as a size or Unlimited. Longer lines are split.",
    { absent: 'that of containerd, 16Ki', example: '64Ki' },
  ),
  restrictOomScoreAdj: field(
    z.boolean(),
    'Keeps containers from lowering oom_score_adj below that of containerd, for machines where they may not (nested machines).',
    { absent: 'that of containerd, false', example: true },
  ),
  cdi: field(
    object({
      enabled: field(z.boolean(), 'Whether CDI is on.', { default: true, example: true }),
      specDirectories: field(z.array(absolutePath).min(1), 'Directories with CDI specifications.', {
        absent: '/etc/cdi and /var/run/cdi',
        example: ['/etc/cdi', '/var/run/cdi'],
      }),
    }),
    'Devices through the Container Device Interface. Needs containerd 1.7; on by default from 2.0.',
    { absent: 'that of containerd', example: { enabled: true } },
  ),
  cni: field(
    object({
      binaryDirectories: field(
        z.array(absolutePath).min(1),
        'Directories with CNI plug-ins. More than one needs containerd 2.1.',
        { absent: 'that of the file that is there, or else /opt/cni/bin', example: ['/opt/cni/bin'] },
      ),
      configurationDirectory: field(absolutePath, 'The directory with the configuration of CNI.', {
        absent: 'that of the file that is there, or else /etc/cni/net.d',
        example: '/etc/cni/net.d',
      }),
    }),
    'Where containerd looks for CNI plug-ins and their configuration.',
    {
      absent: 'that of the file that is there, or else of containerd',
      example: { binaryDirectories: ['/opt/cni/bin'] },
    },
  ),
  root: field(absolutePath, 'The directory that stores images and containers.', {
    absent: 'that of the file that is there, or else /var/lib/containerd',
    example: '/var/lib/containerd',
  }),
  state: field(absolutePath, 'The directory for state that ends with a reboot. Must differ from root.', {
    absent: 'that of the file that is there, or else /run/containerd',
    example: '/run/containerd',
  }),
  defaultRuntime: field(
    handler,
    'The runtime of pods without a RuntimeClass. With mode Managed it must be runc or an entry of runtimes.',
    { absent: 'runc', example: 'nvidia' },
  ),
  runtimes: field(
    z.record(handler, runtime),
    'OCI runtimes, by the handler name that a RuntimeClass gives. runc is always there.',
    { default: {}, example: { nvidia: {} } },
  ),
  registries: field(
    registries,
    'Where the images of a registry come from. Each entry becomes one hosts.toml; that of an entry that is gone is removed.',
    { default: [], example: [{ host: 'docker.io', mirrors: [{ url: 'https://mirror.example' }] }] },
  ),
  settings: field(
    tomlTable,
    'Any other key of containerd, in the words of the installed version. It is merged last and compared with what containerd reports.',
    { default: {}, example: { debug: { level: 'info' } } },
  ),
});

export type ContainerdSection = z.infer<typeof containerd>;
export type RuntimeSection = z.infer<typeof runtime>;
