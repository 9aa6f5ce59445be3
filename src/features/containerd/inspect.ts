import type { ContainerdModel, KubernetesModel, TomlTable } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { REGISTRIES_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import { compareVersions, parseVersion, type Version } from '@machineadm/document/text/program-version.ts';
import { findHealthProblem } from '../../container-runtime/health.ts';
import { sandboxImageOf } from '../../container-runtime/sandbox-image.ts';
import { startsInstalledContainerd } from '../../container-runtime/service-program.ts';
import { stringAt } from '../../container-runtime/toml-tree.ts';
import type { CriConfiguration } from '../../host/cri/queries.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { QueryHost, ServiceState } from '../../host/seam/host.ts';
import { isAsWritten, readOwnFile } from '../../owned-files/difference.ts';
import type { StepRecord } from '../../step/index.ts';
import { changedValues, type FoundFiles } from './changed-values.ts';
import {
  CONFIGURATION_PATH,
  configurationText,
  configurationTree,
  holdsCredentials,
  ORIGINAL_PATH,
  registryTable,
  runningValues,
  writerOf,
} from './configuration.ts';
import { refuseContradictions } from './conflicts.ts';
import { checkConfiguration } from './effective.ts';
import { parseOthers, parseToml, withDropIns } from './found.ts';
import { invalidValuesIn } from './invalid-values.ts';
import { type ForgottenRegistry, inspectRegistries, type RegistryActual } from './registries.ts';
import { placesOf } from './toml-text.ts';

export interface ContainerdDesired {
  readonly model: ContainerdModel;
  /** undefined = containerd is not installed; `preflight` reports that. */
  readonly version: Version | undefined;
  readonly architecture: string;
  readonly socket: string;
  readonly kubernetes: Pick<KubernetesModel, 'version' | 'cluster'> | undefined;
  readonly serviceManager: Facts['serviceManager'];
  /** An earlier step runs hooks, which may still install programs and files. */
  readonly afterHooks: boolean;
  /** Files that an earlier step writes. */
  readonly laid: ReadonlySet<string>;
  /** The earlier step that may bring another containerd. */
  readonly broughtBy: StepId | undefined;
  /** Whether machineadm upgrade changes such a node: kubeadm makes it. */
  readonly isUpgradable: boolean;
}

export interface ContainerdActual {
  /** The wanted configuration, checked with the installed containerd. */
  readonly wanted: { readonly text: string; readonly mode: number; readonly tree: TomlTable };
  readonly dropIns: readonly string[];
  readonly current: { readonly text: string; readonly mode: number } | undefined;
  /** Whether the file is as it is wanted, with its mode and owner. */
  readonly isWritten: boolean;
  /** Corrected problems of the existing file, for messages. */
  readonly mistakes: readonly string[];
  /** Existing values that will be dropped, each as `key (file:line)`. */
  readonly changed: readonly string[];
  /** Drop-ins whose content is merged into the wanted configuration. */
  readonly folded: readonly string[];
  readonly originalKept: boolean;
  readonly service: ServiceState;
  /** Why the running daemon needs a restart although its file is right; undefined when it does not. */
  readonly outdated: string | undefined;
  readonly registries: readonly RegistryActual[];
  readonly forgotten: readonly ForgottenRegistry[];
}

/** The present state of containerd, and its wanted configuration. Read-only. */
export async function inspect(
  host: QueryHost,
  desired: ContainerdDesired,
  record: Pick<StepRecord, 'owed' | 'interrupted'>,
): Promise<ContainerdActual> {
  const { model, architecture } = desired;
  const version = desired.version ?? notInstalled();
  const [currentText, currentStat] = [await host.readText(CONFIGURATION_PATH), await host.stat(CONFIGURATION_PATH)];
  const current =
    currentText === undefined || currentStat === undefined ? undefined : { text: currentText, mode: currentStat.mode };
  const kept = await host.readText(ORIGINAL_PATH);
  const found = await findConfiguration(host, model, version, current?.text, kept);

  const sandboxImage =
    model.sandboxImage ??
    (desired.kubernetes === undefined ? undefined : await sandboxImageOf(host, desired.kubernetes));
  const tree = configurationTree({ model, version, architecture, sandboxImage, original: found.tree });
  refuseContradictions(tree, model);
  const text = await configurationText(tree, model.mode, found.current);
  const { dropIns, effective } = await checkConfiguration(host, tree, text);

  const service = await host.service('containerd');
  const wanted = { text, mode: holdsCredentials(tree) ? 0o600 : 0o644, tree };
  const isRight = current?.text === text && !record.owed.has('restart:containerd');
  const outdated = service.active && isRight ? await findOutdated(host, desired.socket, tree, version) : undefined;
  const directory = stringAt(registryTable(tree), ['config_path'])?.split(':')[0] ?? REGISTRIES_DIRECTORY;
  return {
    wanted,
    dropIns,
    current,
    isWritten: isAsWritten(await readOwnFile(host, CONFIGURATION_PATH, wanted.mode), text),
    mistakes: isRight ? [] : found.mistakes,
    folded: found.folded,
    changed:
      isRight || found.others === undefined
        ? []
        : changedValues(found.others, tree, version, model.mode === 'Managed' ? effective : undefined),
    originalKept: kept !== undefined,
    service,
    outdated,
    ...(await inspectRegistries(host, model.registries, directory, record.interrupted)),
  };
}

interface Found {
  /** The base of the wanted configuration. */
  readonly tree: TomlTable | undefined;
  /** The present file, for a merge that may leave it unchanged. */
  readonly current?: { readonly text: string; readonly tree: TomlTable };
  /** Foreign content that is replaced or merged into. */
  readonly others?: FoundFiles;
  readonly mistakes: readonly string[];
  readonly folded: readonly string[];
}

async function findConfiguration(
  host: QueryHost,
  { mode }: ContainerdModel,
  version: Version,
  current: string | undefined,
  kept: string | undefined,
): Promise<Found> {
  const writer = current === undefined ? undefined : writerOf(current);
  const others = current === undefined || writer === 'Managed' ? undefined : current;
  return mode === 'Managed'
    ? await findReplaced(version, kept ?? (writer === undefined ? others : undefined), others)
    : await findMerged(host, version, others, kept);
}

/**
 * Managed starts from the file before the first run, of which it keeps little. A file that is not TOML cannot have been
 * in use.
 */
async function findReplaced(version: Version, text: string | undefined, others: string | undefined): Promise<Found> {
  const parsed = text === undefined ? undefined : await parseToml(text);
  const tree = parsed !== undefined && 'tree' in parsed ? parsed.tree : undefined;
  if (others === undefined) return { tree, mistakes: [], folded: [] };
  const now = await parseToml(others);
  if ('tree' in now) {
    const places = await placesOf(CONFIGURATION_PATH, others);
    const found = { files: [{ tree: now.tree, places }], places };
    return { tree, others: found, mistakes: invalidValuesIn(now.tree, version), folded: [] };
  }
  const { row, column } = now.problem;
  const mistakes = [`it was not TOML at row ${row}, column ${column}, so that containerd does not start`];
  return { tree, mistakes, folded: [] };
}

/** Merge starts from the present file, which others may still change, unless it is completely ours. */
async function findMerged(
  host: QueryHost,
  version: Version,
  others: string | undefined,
  kept: string | undefined,
): Promise<Found> {
  const text = others ?? kept;
  if (text === undefined) return { tree: undefined, mistakes: [], folded: [] };
  const file = await parseOthers(others === undefined ? ORIGINAL_PATH : CONFIGURATION_PATH, text);
  const all = version.major >= 2 ? { ...file, files: [file], folded: [] } : await withDropIns(host, file);
  const base = { tree: all.tree, folded: all.folded };
  if (others === undefined) return { ...base, mistakes: [] };
  return { ...base, others: all, current: { text, tree: file.tree }, mistakes: invalidValuesIn(file.tree, version) };
}

/** Why a running daemon is not as it would start: it is unhealthy, it is another version, or it read another file. */
async function findOutdated(
  host: QueryHost,
  socket: string,
  tree: TomlTable,
  installed: Version,
): Promise<string | undefined> {
  const illness = await findHealthProblem(host, socket);
  if (illness !== undefined) return illness;
  const cri = host.cri(socket);
  const { runtimeVersion } = await cri.version();
  const version = parseVersion(runtimeVersion);
  const isOther = version !== undefined && compareVersions(version, installed) !== 0;
  if (isOther && (await startsInstalledContainerd(host)))
    return `it runs as ${version.text}, and ${installed.text} is installed`;
  if (await isReplaced(host)) return 'its program was replaced after it had started';
  const told = await cri.configuration();
  // The kubelet uses RuntimeConfig since 1.28 (KEP-4033); containerd implements it since 2.0.
  const running: CriConfiguration = { ...told, cgroupDriver: (await cri.cgroupDriver()) ?? told.cgroupDriver };
  const wanted = runningValues(tree);
  const differs = (['cgroupDriver', 'sandboxImage', 'restrictOomScoreAdj'] as const).find(
    (key) => wanted[key] !== undefined && running[key] !== undefined && wanted[key] !== running[key],
  );
  if (differs === undefined) return undefined;
  return `it runs with ${differs} ${running[differs]}, its configuration says ${wanted[differs]}`;
}

/** Such as by a package of the same version, or by files of the document: proc(5), /proc/pid/exe. */
async function isReplaced(host: QueryHost): Promise<boolean> {
  const { pid } = await host.service('containerd');
  const program = pid === undefined ? undefined : await host.readLink(`/proc/${pid}/exe`);
  const path = program === undefined ? undefined : /^(.*) \(deleted\)$/.exec(program)?.[1];
  return path !== undefined && (await host.stat(path)) !== undefined;
}

function notInstalled(): never {
  throw new MachineadmError({
    reason: 'ContainerRuntimeMissing',
    summary: 'containerd is not installed',
    remedy: 'Install containerd 1.6 or newer.',
  });
}
