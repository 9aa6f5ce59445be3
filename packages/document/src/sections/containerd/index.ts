import { type Finding, nearestName, type PathSegment } from '../../diagnostics/index.ts';
import { contains, is, must, not, without } from '../../fields/conditions.ts';
import type { ResolveSecret } from '../../fields/convert-values.ts';
import { choice, field, object } from '../../fields/field.ts';
import { absolutePath } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import { trimmedEnd } from '../../text/trim.ts';
import { parseSize, SIZE_PATTERN } from '../../text/units.ts';
import { Verbatim } from '../../values/verbatim.ts';
import { type RegistryModel, registries, toRegistry } from './registries.ts';
import { checkRegistries } from './registries-checks.ts';
import {
  checkRuntimes,
  handler,
  type RuntimeModel,
  runtimesSection,
  snapshotter,
  toRuntime,
  unfitNumbers,
} from './runtimes.ts';
import { type TomlTable, tomlTable } from './toml.ts';

const HERE: readonly PathSegment[] = ['containerRuntime', 'containerd'];
const CRI = 'io.containerd.grpc.v1.cri';
/** The ids under which CRI can be switched off: containerd/containerd#8139. */
const CRI_PLUGINS = ['cri', CRI, 'io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime'];
const NO_LIMIT = -1;

export interface ContainerdModel {
  /** Of the program that is to run, as `2.1.9`; undefined: the one that is installed. */
  readonly version: string | undefined;
  /** Managed: the whole configuration is ours. Merge: what the document says is merged into what is there. */
  readonly mode: 'Managed' | 'Merge';
  readonly cgroupDriver: 'systemd' | 'cgroupfs';
  readonly sandboxImage: string | undefined;
  /** undefined leaves containerd's own default, here and below. */
  readonly restrictOomScoreAdj: boolean | undefined;
  readonly snapshotter: string | undefined;
  readonly discardUnpackedLayers: boolean | undefined;
  /** Bytes; -1 = no limit. */
  readonly maxContainerLogLineSize: number | undefined;
  readonly cdi: { readonly enabled: boolean; readonly specDirectories: readonly string[] } | undefined;
  readonly cni: {
    readonly binaryDirectories: readonly string[];
    readonly configurationDirectory: string | undefined;
  };
  /** Where images and containers are kept. */
  readonly root: string | undefined;
  /** Where what a reboot empties is kept. */
  readonly state: string | undefined;
  readonly defaultRuntime: string | undefined;
  /** In the order of the document; `runc` is there even where the document does not name it. */
  readonly runtimes: readonly RuntimeModel[];
  readonly registries: readonly RegistryModel[];
  /** A TOML tree in the words of the containerd found; merged last. */
  readonly settings: TomlTable;
}

const VERSION = 'expected a version of containerd, such as "2.1.9"';
const LINE_SIZE = 'expected a size with its unit, such as "16Ki", or Unlimited';

const containerd = object(
  {
    version: field(
      z.string({ error: VERSION }).regex(/^v?\d{1,4}\.\d{1,4}\.\d{1,4}$/, VERSION),
      'The version of containerd that must be installed. machineadm installs none: host.files, a hook or a package does. On a node that runs, machineadm upgrade changes it.',
      { absent: 'the version that is installed', example: '2.1.9' },
    ),
    mode: field(
      choice({
        Managed: 'The whole file is written.',
        Merge: 'Only the keys of this section are changed in an existing file.',
      }),
      'Managed writes the whole file. Merge changes only the keys of this section in an existing file.',
      { default: 'Managed', example: 'Merge' },
    ),
    cgroupDriver: field(
      choice({
        systemd: 'systemd manages the cgroups, as it does those of services.',
        cgroupfs: 'The runtime writes the cgroups itself: for machines without systemd, or with cgroup v1.',
      }),
      'The cgroup driver of every runtime. The kubelet gets the same one.',
      { default: 'systemd', example: 'systemd' },
    ),
    sandboxImage: field(z.string().min(1), 'The pause image.', {
      absent: 'the one that containerd was built with',
      example: 'registry.k8s.io/pause:3.10',
    }),
    snapshotter: field(snapshotter, 'The snapshotter that stores image layers.', {
      absent: 'the default of containerd, overlayfs',
      example: 'overlayfs',
    }),
    discardUnpackedLayers: field(
      z.boolean(),
      'Deletes compressed layers after they are unpacked, which saves disk space.',
      { absent: 'the default of containerd, false', example: true },
    ),
    maxContainerLogLineSize: field(
      z.string({ error: LINE_SIZE }).regex(new RegExp(`^Unlimited$|${SIZE_PATTERN.source}`), LINE_SIZE),
      "The longest line of a container's log, as a size or Unlimited. Longer lines are split.",
      { absent: 'the default of containerd, 16Ki', example: '64Ki' },
    ),
    restrictOomScoreAdj: field(
      z.boolean(),
      'Prevents containers from lowering oom_score_adj below the value of containerd, for machines where that is forbidden (nested machines).',
      { absent: 'the default of containerd, false', example: true },
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
      { absent: 'the default of containerd', example: { enabled: true } },
    ),
    cni: field(
      object({
        binaryDirectories: field(
          z.array(absolutePath).min(1),
          'Directories with CNI plug-ins. More than one needs containerd 2.1.',
          { absent: 'the value in the existing file, or else /opt/cni/bin', example: ['/opt/cni/bin'] },
        ),
        configurationDirectory: field(absolutePath, 'The directory with the configuration of CNI.', {
          absent: 'the value in the existing file, or else /etc/cni/net.d',
          example: '/etc/cni/net.d',
        }),
      }),
      'Where containerd looks for CNI plug-ins and their configuration.',
      {
        absent: 'the value in the existing file, or else the default of containerd',
        example: { binaryDirectories: ['/opt/cni/bin'] },
      },
    ),
    root: field(absolutePath, 'The directory that stores images and containers.', {
      absent: 'the value in the existing file, or else /var/lib/containerd',
      example: '/var/lib/containerd',
    }),
    state: field(absolutePath, 'The directory for state that ends with a reboot. Must differ from root.', {
      absent: 'the value in the existing file, or else /run/containerd',
      example: '/run/containerd',
    }),
    defaultRuntime: field(
      handler,
      'The runtime of pods without a RuntimeClass. With mode Managed it must be runc or an entry of runtimes.',
      { absent: 'runc', example: 'nvidia' },
    ),
    runtimes: field(runtimesSection, 'OCI runtimes by the handler name of a RuntimeClass. runc always exists.', {
      default: {},
      example: { nvidia: {} },
    }),
    registries: field(
      registries,
      'Where the images of a registry come from. Each entry becomes one hosts.toml, which is removed with the entry.',
      { default: [], example: [{ host: 'docker.io', mirrors: [{ url: 'https://mirror.example' }] }] },
    ),
    settings: field(
      tomlTable,
      'Any other key of the configuration of containerd, in the format of the installed version. machineadm merges it last and compares it with what containerd reports.',
      { default: {}, example: { debug: { level: 'info' } } },
    ),
  },
  () => [
    without('settings.version'),
    must('settings.disabled_plugins', not(contains({ enum: CRI_PLUGINS }))),
    // The key of containerd 1.2 with which CRI does not load. Its group has dots in its name.
    must(
      'settings.plugins',
      not({
        type: 'object',
        properties: { [CRI]: { type: 'object', ...is('systemd_cgroup', true) } },
        required: [CRI],
      }),
    ),
  ],
);

export const containerRuntime = object({
  containerd: field(
    containerd,
    'The configuration of containerd, /etc/containerd/config.toml and certs.d. machineadm keeps a backup of the previous file and restarts containerd after a change.',
    {
      absent: 'containerd is left as it is configured',
      example: { cgroupDriver: 'systemd', sandboxImage: 'registry.k8s.io/pause:3.10' },
    },
  ),
});

export type ContainerRuntimeSection = z.infer<typeof containerRuntime>;
type ContainerdSection = z.infer<typeof containerd>;

export function toContainerd(
  section: ContainerdSection | undefined,
  resolve: ResolveSecret,
): ContainerdModel | undefined {
  if (section === undefined) return undefined;
  const { cdi, cni, maxContainerLogLineSize: lineSize } = section;
  return {
    version: section.version?.replace(/^v/, ''),
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

/** What of the kubelet must agree with containerd. */
interface KubeletSection {
  readonly config?: Readonly<Record<string, unknown>> | undefined;
  readonly args?: readonly { readonly name: string; readonly value: string }[] | undefined;
}

/** Contradictions within `containerRuntime.containerd`. */
export function checkContainerd(section: ContainerdSection, kubelet: KubeletSection | undefined): Finding[] {
  return [
    ...checkDirectories(section),
    ...checkDefaultRuntime(section),
    ...checkRuntimes(section.runtimes ?? {}, [...HERE, 'runtimes']),
    ...checkCgroupDriver(section, kubelet),
    ...checkSettings(section),
    ...checkRegistries(section.registries ?? []),
  ];
}

/** containerd cmd/containerd/server/server.go, CreateTopLevelDirectories: "root and state must be different paths". */
function checkDirectories({ root, state }: ContainerdSection): Finding[] {
  if (root === undefined || state === undefined) return [];
  const [first, second] = [root, state].map((path) => trimmedEnd(path, '/'));
  if (first !== second) return [];
  return [{ path: [...HERE, 'state'], message: 'root and state must be different directories' }];
}

function checkDefaultRuntime({ defaultRuntime, runtimes, mode }: ContainerdSection): Finding[] {
  // The configuration that it is merged into may define it: the step checks that on the machine.
  if (defaultRuntime === undefined || mode === 'Merge') return [];
  const known = ['runc', ...Object.keys(runtimes ?? {})];
  if (known.includes(defaultRuntime)) return [];
  const near = nearestName(defaultRuntime, known);
  const hint = near === undefined ? `add it to runtimes` : `did you mean "${near}"?`;
  const about = ['defaultRuntime', 'runtimes', 'mode'].map((name) => [...HERE, name]);
  return [{ path: [...HERE, 'defaultRuntime'], message: `no runtime of the name "${defaultRuntime}"`, hint, about }];
}

/** Each would put its processes where the other does not look: no pod starts (containerd/containerd#4857). */
function checkCgroupDriver(
  { cgroupDriver = 'systemd' }: ContainerdSection,
  kubelet: KubeletSection | undefined,
): Finding[] {
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

/** What settings may not take back: the format of the file, and CRI itself. */
function checkSettings({ settings = {} }: ContainerdSection): Finding[] {
  const path = [...HERE, 'settings'];
  const findings: Finding[] = [];
  if ('version' in settings) {
    const hint = 'remove it; settings use version 2 of the configuration for containerd 1.x and version 3 for 2.x';
    findings.push({ path: [...path, 'version'], message: 'the version is chosen by the containerd found', hint });
  }
  findings.push(...unfitNumbers(settings, path));
  const disabled = settings.disabled_plugins;
  const off = Array.isArray(disabled) ? disabled.filter((id) => CRI_PLUGINS.some((plugin) => plugin === id)) : [];
  if (off.length > 0) {
    const message = `switches off ${off.join(', ')}, without which containerd runs no pod`;
    findings.push({ path: [...path, 'disabled_plugins'], message });
  }
  const cri = tableOf(tableOf(settings.plugins)[CRI]);
  if (cri.systemd_cgroup === true) {
    const message = 'is the key of containerd 1.2: CRI does not load with it';
    const hint = 'write containerd.cgroupDriver: systemd';
    findings.push({ path: [...path, 'plugins', CRI, 'systemd_cgroup'], message, hint });
  }
  return findings;
}

type Settings = NonNullable<ContainerdSection['settings']>;

function tableOf(value: Settings[string] | undefined): Settings {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Verbatim) ? value : {};
}
