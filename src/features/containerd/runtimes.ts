import { dirname } from 'node:path/posix';
import type { ContainerdModel, RuntimeModel, TomlTable } from '@machineadm/document/model/index.ts';
import { RUNC_SHIM } from '../../container-runtime/plugin-ids.ts';
import { defined, isTable, stringAt, table, tableAt } from '../../container-runtime/toml-tree.ts';
import { programTrouble } from '../../host/processes/executable.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { UnmetRequirement } from '../../step/index.ts';

/** containerd's own (pkg/cri/config, DefaultRuntimeConfig), and those of the CDI library. */
const CDI_DIRECTORIES = ['/etc/cdi', '/var/run/cdi'];

const SHIM = 'containerd-shim-';

/**
 * The runtimes of the document, by name, in a form that 1.x and 2.x share. runtime_type is always written: 1.x replaces
 * its default entry by ours, and an entry without a type fails only when the first pod starts.
 */
export function runtimeTables({ runtimes, cgroupDriver }: ContainerdModel): TomlTable {
  return Object.fromEntries(
    runtimes.map((runtime) => [
      runtime.name,
      {
        runtime_type: runtime.type,
        ...defined('runtime_path', runtime.path),
        ...list('pod_annotations', runtime.podAnnotations),
        ...list('container_annotations', runtime.containerAnnotations),
        ...defined('privileged_without_host_devices', runtime.privilegedWithoutHostDevices),
        ...defined('base_runtime_spec', runtime.baseSpec),
        ...defined('snapshotter', runtime.snapshotter),
        ...table('options', {
          ...(runtime.type === RUNC_SHIM ? { SystemdCgroup: cgroupDriver === 'systemd' } : {}),
          ...defined('BinaryName', runtime.binary),
          ...defined('Root', runtime.root),
          ...runtime.options,
        }),
      },
    ]),
  );
}

/** Existing runtimes in the required form: with a type, and those of runc's shim with the kubelet's cgroup driver. */
export function correctedRuntimes(found: TomlTable, cgroupDriver: ContainerdModel['cgroupDriver']): TomlTable {
  return Object.fromEntries(
    Object.entries(found).map(([name, runtime]) => {
      if (!isTable(runtime)) return [name, runtime];
      const type = stringAt(runtime, ['runtime_type']) ?? RUNC_SHIM;
      const options = tableAt(runtime, ['options']);
      const driver = type === RUNC_SHIM ? { SystemdCgroup: cgroupDriver === 'systemd' } : {};
      return [name, { ...runtime, runtime_type: type, ...table('options', { ...options, ...driver }) }];
    }),
  );
}

/**
 * Programs and files of the document's runtimes that do not exist on this machine. `laid`: files that an earlier step
 * writes.
 */
export async function missingRuntimes(
  host: QueryHost,
  runtimes: readonly RuntimeModel[],
  laid: ReadonlySet<string>,
): Promise<readonly UnmetRequirement[]> {
  const missing: UnmetRequirement[] = [];
  for (const runtime of runtimes) {
    if (runtime.baseSpec !== undefined && !laid.has(runtime.baseSpec)) {
      if ((await host.stat(runtime.baseSpec)) === undefined) missing.push(noBaseSpec(runtime, runtime.baseSpec));
    }
    if (runtime.optional) continue;
    for (const program of programsOf(runtime)) {
      if (laid.has(program)) continue;
      const why = await programTrouble(host, program);
      if (why !== undefined) missing.push(notExecutable(runtime, program, why));
      else if (!(await isThere(host, program))) missing.push(noProgram(runtime, program));
    }
  }
  return missing;
}

/**
 * A warning where the handler `nvidia-cdi` has no devices: it takes them from CDI specifications alone (NVIDIA Container
 * Toolkit, mode "cdi"), which its own service or `nvidia-ctk cdi generate` writes at boot, perhaps later than this.
 */
export async function missingCdiSpecs(
  host: QueryHost,
  { runtimes, cdi }: Pick<ContainerdModel, 'runtimes' | 'cdi'>,
): Promise<readonly UnmetRequirement[]> {
  if (!runtimes.some(({ name, optional }) => name === 'nvidia-cdi' && !optional)) return [];
  const configured = cdi?.specDirectories ?? [];
  const directories = configured.length > 0 ? configured : CDI_DIRECTORIES;
  for (const directory of directories) {
    for (const name of (await host.list(directory)) ?? []) {
      if (!/\.(?:yaml|json)$/.test(name)) continue;
      if (/\bkind"?:\s*"?nvidia\.com\//.test((await host.readText(`${directory}/${name}`)) ?? '')) return [];
    }
  }
  return [
    {
      reason: 'ContainerdCdiSpecMissing',
      what: `the runtime nvidia-cdi has no devices: no CDI specification of nvidia.com/… is in ${directories.join(' or ')}`,
      remedy:
        'Enable nvidia-cdi-refresh.service (NVIDIA Container Toolkit 1.18 and newer), or run nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml at every boot.',
      field: 'containerRuntime.containerd.runtimes.nvidia-cdi',
      severity: 'warning',
      scope: 'node',
    },
  ];
}

function programsOf({ type, path, binary }: RuntimeModel): readonly string[] {
  const shim = path ?? shimOf(type);
  return type === RUNC_SHIM ? [shim, binary ?? 'runc'] : [shim];
}

/** containerd pkg/shim/util.go, BinaryName: io.containerd.runc.v2 is containerd-shim-runc-v2. */
function shimOf(type: string): string {
  return `${SHIM}${type.split('.').slice(-2).join('-')}`;
}

async function isThere(host: QueryHost, program: string): Promise<boolean> {
  if (program.startsWith('/')) return (await host.stat(program)) !== undefined;
  if ((await host.which(program)) !== undefined) return true;
  // containerd looks for shims beside itself, too (core/runtime/v2/manager.go, resolveRuntimePath).
  const containerd = program.startsWith(SHIM) ? await host.which('containerd') : undefined;
  return containerd !== undefined && (await host.stat(`${dirname(containerd)}/${program}`)) !== undefined;
}

function notExecutable({ name }: RuntimeModel, program: string, why: string): UnmetRequirement {
  return {
    reason: 'ProgramNotExecutable',
    what: `${program}, which the runtime ${name} needs, cannot be executed: ${why}`,
    remedy: 'Install it again, for the architecture of this machine.',
  };
}

function noProgram({ name }: RuntimeModel, program: string): UnmetRequirement {
  return {
    reason: 'ContainerdRuntimeMissing',
    what: `${program} is not installed, and the runtime ${name} needs it`,
    remedy: `Install it, correct containerRuntime.containerd.runtimes.${name}, or set optional: true there if it is installed later.`,
  };
}

/** containerd plugins/cri/runtime/plugin.go, loadBaseOCISpecs: without it CRI does not start. */
function noBaseSpec({ name }: RuntimeModel, path: string): UnmetRequirement {
  return {
    reason: 'ContainerdBaseSpecMissing',
    what: `${path} does not exist, the base specification of the runtime ${name}`,
    remedy: 'Create it, for example with host.files. `ctr oci spec` prints a default one.',
  };
}

function list(key: string, values: readonly string[]): TomlTable {
  return values.length === 0 ? {} : { [key]: values };
}
