import type { ContainerdModel, TomlTable } from '@machineadm/document/model/index.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import { compareVersions, parseVersion, type Version } from '@machineadm/document/text/program-version.ts';
import { CRI, IMAGES, RUNTIME } from '../../container-runtime/plugin-ids.ts';
import { dottedKey, isTable, stringAt, tableAt } from '../../container-runtime/toml-tree.ts';
import { CriError } from '../../host/cri/call.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { RanRecord, UnmetRequirement } from '../../step/index.ts';
import { containerdUpgrade } from '../../step/upgrade-order.ts';
import { CONFIGURATION_PATH, configurationTree, ORIGINAL_PATH, writerOf } from './configuration.ts';
import { refuseContradictions } from './conflicts.ts';
import { parseToml } from './found.ts';
import { usesVersion2Keys } from './migrate.ts';

const FIELD = 'containerRuntime.containerd.version';

interface WantedVersion {
  readonly model: ContainerdModel;
  readonly version: Version | undefined;
  readonly architecture: string;
  readonly socket: string;
  /** The step that may bring the program. */
  readonly broughtBy: StepId | undefined;
  readonly isUpgradable: boolean;
}

/** The containerd that will read the configuration: that of the document, of an upgrade, or the one that is installed. */
export function targetVersion(
  { model, version }: Pick<WantedVersion, 'model' | 'version'>,
  record: RanRecord | undefined,
): Version | undefined {
  const wanted = model.version ?? containerdUpgrade(record)?.to;
  return (wanted === undefined ? undefined : parseVersion(wanted)) ?? version;
}

/** Whether the document's containerd is the one that is installed, and on a node that runs the one that runs. */
export async function versionObstacles(
  host: QueryHost,
  desired: WantedVersion,
  record: RanRecord | undefined,
): Promise<readonly UnmetRequirement[]> {
  const { model, version: installed, socket, broughtBy, isUpgradable } = desired;
  const wanted = model.version === undefined ? undefined : parseVersion(model.version);
  if (wanted === undefined) return [];
  if (isUpgradable && record?.bootstrap === 'done' && containerdUpgrade(record) === undefined) {
    const running = (await runningVersion(host, socket)) ?? installed;
    if (running === undefined || compareVersions(running, wanted) === 0) return [];
    const isNewer = compareVersions(running, wanted) > 0;
    return [
      {
        reason: 'DocumentChanged',
        what: `the document asks for containerd ${wanted.text}, and ${running.text} runs on this node`,
        remedy: isNewer
          ? `Write ${running.text.replace(/^v/, '')}, or leave the field out: a node keeps a newer containerd.`
          : 'machineadm upgrade replaces it, with the same options for the document.',
        ...{ field: FIELD, certain: true },
      },
    ];
  }
  if (installed !== undefined && compareVersions(installed, wanted) === 0) return [];
  return [
    {
      reason: 'ContainerRuntimeMissing',
      what: `containerd ${wanted.text} is not installed: ${installed === undefined ? 'no version' : installed.text} is`,
      remedy: `Let host.files (also with unpack) or a hook of the document install containerd ${wanted.text}, or install its package.`,
      field: FIELD,
      // The step checks it again.
      ...(broughtBy === undefined ? {} : { broughtBy }),
    },
  ];
}

async function runningVersion(host: QueryHost, socket: string): Promise<Version | undefined> {
  try {
    return parseVersion((await host.cri(socket).version()).runtimeVersion);
  } catch (error) {
    if (error instanceof CriError) return undefined;
    throw error;
  }
}

/**
 * What of the configuration the containerd of an upgrade cannot read, before it is installed: afterwards the step finds it itself.
 * Throws what `refuseContradictions` throws.
 */
export async function migrationObstacles(
  host: QueryHost,
  { model, architecture, version: installed }: WantedVersion,
  record: RanRecord | undefined,
): Promise<readonly UnmetRequirement[]> {
  const upgrade = containerdUpgrade(record);
  const to = upgrade === undefined ? undefined : parseVersion(upgrade.to);
  if (to === undefined || installed === undefined || compareVersions(installed, to) === 0) return [];
  const present = (await host.readText(CONFIGURATION_PATH)) ?? '';
  const text = writerOf(present) === 'Managed' ? ((await host.readText(ORIGINAL_PATH)) ?? '') : present;
  const parsed = await parseToml(text);
  const found = 'tree' in parsed ? parsed.tree : undefined;
  const tree = configurationTree({ model, version: to, architecture, sandboxImage: undefined, original: found });
  refuseContradictions(tree, model);
  if (to.major < 2) return [];
  return [...wrongFormat(model.settings, to), ...removedIn(tree, to)];
}

/** Settings are merged as they are: those of the single CRI plug-in would have no effect in version 3. */
function wrongFormat(settings: TomlTable, to: Version): readonly UnmetRequirement[] {
  if (!usesVersion2Keys(tableAt(settings, ['plugins']))) return [];
  return [
    {
      reason: 'ContainerdConfigUnknownKey',
      what: `containerd ${to.text} does not read plugins."${CRI}" of the settings: since 2.0 its keys are in ${IMAGES} and ${RUNTIME}`,
      remedy:
        'Write these settings in version 3 of the configuration (`containerd config migrate` of the new containerd shows them).',
      ...{ field: 'containerRuntime.containerd.settings.plugins', certain: true },
    },
  ];
}

/** Removed in 2.0 (containerd docs/containerd-2.0.md, "What's breaking"). */
const REMOVED_SHIMS = ['io.containerd.runtime.v1.linux', 'io.containerd.runc.v1'];
const REMOVED_SNAPSHOTTER = 'aufs';

function removedIn(tree: TomlTable, to: Version): readonly UnmetRequirement[] {
  const runtimes = Object.entries(tableAt(tree, ['plugins', RUNTIME, 'containerd', 'runtimes']));
  const removed = runtimes.flatMap(([name, runtime]) => {
    const type = isTable(runtime) ? stringAt(runtime, ['runtime_type']) : undefined;
    return type !== undefined && REMOVED_SHIMS.includes(type) ? [`the shim ${type} of the runtime ${name}`] : [];
  });
  const used = [['plugins', IMAGES, 'snapshotter'], ...runtimes.map(([name]) => [...RUNTIMES, name, 'snapshotter'])];
  const aufs = used
    .filter((path) => stringAt(tree, path) === REMOVED_SNAPSHOTTER)
    .map((path) => `the snapshotter aufs (${dottedKey(path)})`);
  const all = [...removed, ...aufs];
  if (all.length === 0) return [];
  return [
    {
      reason: aufs.length > 0 ? 'ContainerdSnapshotterMissing' : 'ContainerdRuntimeMissing',
      what: `containerd ${to.text} no longer has ${all.join(', ')}, which the configuration uses`,
      remedy:
        'Use io.containerd.runc.v2 and overlayfs. Images and containers of aufs are not converted: replace the machine.',
      certain: true,
    },
  ];
}

const RUNTIMES = ['plugins', RUNTIME, 'containerd', 'runtimes'];
