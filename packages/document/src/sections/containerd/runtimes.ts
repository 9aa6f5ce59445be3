import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { has, must, when, without } from '../../fields/conditions.ts';
import { field, object } from '../../fields/field.ts';
import { absolutePath } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import { Verbatim, wholeNumber } from '../../values/verbatim.ts';
import { type TomlTable, tomlTable } from './toml.ts';

const RUNC = 'io.containerd.runc.v2';

/** A runtime handler: what a RuntimeClass names. */
export interface RuntimeModel {
  readonly name: string;
  /** `io.containerd.runc.v2`: which shim runs it. */
  readonly type: string;
  /** The OCI runtime behind the shim of runc; undefined = the shim's own default. */
  readonly binary: string | undefined;
  /** True: its program may be installed later. */
  readonly optional: boolean;
  /** Absolute path of the shim, where it is not on containerd's PATH. */
  readonly path: string | undefined;
  /** Where the OCI runtime keeps its state. */
  readonly root: string | undefined;
  readonly podAnnotations: readonly string[];
  readonly containerAnnotations: readonly string[];
  readonly privilegedWithoutHostDevices: boolean | undefined;
  /** Path of an OCI runtime specification that containers begin with. */
  readonly baseSpec: string | undefined;
  readonly snapshotter: string | undefined;
  /** Further options of the shim, in its own words. */
  readonly options: TomlTable;
}

/** RuntimeClass handlers are DNS labels (k8s.io/api node/v1 types.go, RuntimeClass.Handler). */
export const handler = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'not the name of a handler: lower-case letters, digits and "-"');

/** containerd pkg/identifiers/validate.go */
export const snapshotter = z.string().regex(/^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$/, 'not the name of a snapshotter');

const annotations = z.array(z.string().regex(/^[A-Za-z0-9./*_-]+$/, 'not the pattern of an annotation'));

const runtime = object(
  {
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
    path: field(absolutePath, 'The path of the shim, if it is not on the PATH of containerd.', {
      absent: 'the shim is looked up on the PATH of containerd',
      example: '/opt/kata/bin/containerd-shim-kata-v2',
    }),
    root: field(absolutePath, 'The directory for the state of the OCI runtime.', {
      absent: 'the default of the runtime',
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
    baseSpec: field(
      absolutePath,
      'A file with the OCI runtime specification (JSON) that every container starts from.',
      {
        absent: 'the default of containerd',
        example: '/etc/containerd/base-spec.json',
      },
    ),
    snapshotter: field(snapshotter, 'The snapshotter of this runtime. Needs containerd 1.7.', {
      absent: 'the value of containerRuntime.containerd.snapshotter',
      example: 'devmapper',
    }),
    options: field(
      tomlTable,
      'Further options of the shim, by the names of containerd. SystemdCgroup and BinaryName have their own fields.',
      { default: {}, example: { ConfigPath: '/etc/kata/configuration.toml' } },
    ),
  },
  () => [when(has('binary'), must('type', { const: RUNC })), without('options.SystemdCgroup', 'options.BinaryName')],
);

export const runtimesSection = z.record(handler, runtime);

type RuntimeSection = z.infer<typeof runtime>;

export function toRuntime(name: string, section: RuntimeSection): RuntimeModel {
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

/** @param here the place of the runtimes */
export function checkRuntimes(runtimes: z.infer<typeof runtimesSection>, here: readonly PathSegment[]): Finding[] {
  return Object.entries(runtimes).flatMap(([name, { type, binary, options }]): Finding[] => {
    const path = [...here, name];
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
      findings.push({ path: [...path, 'options', 'BinaryName'], message: 'has its own field', hint: 'binary' });
    }
    return findings;
  });
}

/** TOML 1.0: integers have 64 bits and a sign. */
export function unfitNumbers(value: unknown, path: readonly PathSegment[]): Finding[] {
  if (value instanceof Verbatim) {
    const whole = wholeNumber(value.text);
    if (whole === undefined || BigInt.asIntN(64, whole) === whole) return [];
    return [{ path, message: 'a number of more than 64 bits, which TOML does not have', hint: 'write a smaller one' }];
  }
  if (value === null || typeof value !== 'object') return [];
  const parts: readonly [PathSegment, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return parts.flatMap(([key, part]) => unfitNumbers(part, [...path, key]));
}
