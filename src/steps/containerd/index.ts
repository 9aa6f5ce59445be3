import { MachineadmError } from '../../document/errors.ts';
import type { ContainerdModel, KubernetesModel, TomlTable } from '../../document/model.ts';
import type { CriConfiguration } from '../../host/cri.ts';
import type { Version } from '../../host/facts.ts';
import type { Host, QueryHost, ServiceState } from '../../host/host.ts';
import { compareVersions } from '../../host/version.ts';
import type { Change, Execution, Missing, Step } from '../step.ts';
import { textDiff } from '../text-diff.ts';
import {
  CONFIGURATION_PATH,
  configurationText,
  configurationTree,
  criSocketOf,
  holdsCredentials,
  isManaged,
  ORIGINAL_PATH,
  PREVIOUS_PATH,
  runningValues,
} from './configuration.ts';
import { checkConfiguration } from './effective.ts';
import { findIllness, waitUntilHealthy } from './health.ts';
import { sandboxImageOf } from './sandbox-image.ts';
import { toTable } from './toml-tree.ts';

const SERVICE = 'containerd';
const OLDEST: Version = { major: 1, minor: 6, patch: 0, text: '1.6.0' };

export interface ContainerdDesired {
  readonly model: ContainerdModel;
  /** undefined = containerd is not installed; `preflight` says so. */
  readonly version: Version | undefined;
  /** Where its CRI is asked. */
  readonly socket: string;
  readonly kubernetes: Pick<KubernetesModel, 'version' | 'cluster'> | undefined;
}

export interface ContainerdActual {
  /** The configuration to have, checked with the containerd found. */
  readonly wanted: { readonly text: string; readonly mode: number; readonly tree: TomlTable };
  readonly dropIns: readonly string[];
  readonly current: { readonly text: string; readonly mode: number } | undefined;
  readonly originalKept: boolean;
  readonly service: ServiceState;
  /** Why the running daemon needs a restart although its file is right; undefined when it does not. */
  readonly outdated: string | undefined;
}

export type ContainerdPayload =
  | { readonly kind: 'configure'; readonly actual: ContainerdActual; readonly warning: string | undefined }
  | { readonly kind: 'enable' | 'start' | 'restart' };

/** How long the runtime may take: tests shorten it. In milliseconds. */
export interface ContainerdTimes {
  readonly healthyWithin: number;
  readonly healthyAgainWithin: number;
}

/**
 * containerd as Kubernetes needs it: a configuration in the format of the version found, proven effective before it is
 * in place; the service enabled and running with that configuration; CRI answering. When the daemon does not live with
 * a new configuration, the one before is put back.
 */
export function containerdStep(
  times: ContainerdTimes = { healthyWithin: 60_000, healthyAgainWithin: 20_000 },
): Step<ContainerdDesired, ContainerdActual, ContainerdPayload> {
  return {
    id: 'containerd',
    title: 'container runtime',
    settles: ['daemon-reload', 'restart:containerd'],

    desired(model, facts) {
      if (model.containerd === undefined) return undefined;
      const { containerd, kubernetes } = model;
      return { model: containerd, version: facts.containerd, socket: criSocketOf(model), kubernetes };
    },

    preflight,
    inspect,
    plan,
    apply,

    async followUp(host, desired, followUp, execution) {
      if (followUp === 'daemon-reload') return host.services.reload();
      await proveHealthy(host, desired, times, execution, () => host.services.restart(SERVICE));
    },

    settled(host, desired, execution) {
      return proveHealthy(host, desired, times, execution, async () => {});
    },
  };
}

/** The step as the pipeline uses it. */
export const containerd: Step<ContainerdDesired, ContainerdActual, ContainerdPayload> = containerdStep();

async function preflight(host: QueryHost, { version }: ContainerdDesired): Promise<readonly Missing[]> {
  const install = 'Install containerd 1.6 or newer with its service (the package of the distribution will do).';
  if (version === undefined) return [{ reason: 'ContainerRuntimeMissing', what: 'containerd', remedy: install }];
  if (compareVersions(version, OLDEST) < 0) {
    const what = `containerd ${version.text} (1.6 or newer is needed: it is the first with CRI v1)`;
    return [{ reason: 'ContainerRuntimeUnsupported', what, remedy: install }];
  }
  if (!(await host.service(SERVICE)).exists) {
    return [{ reason: 'ContainerRuntimeMissing', what: 'the service containerd', remedy: install }];
  }
  return [];
}

async function inspect(
  host: QueryHost,
  desired: ContainerdDesired,
  record: { readonly owed: ReadonlySet<string> },
): Promise<ContainerdActual> {
  const version = desired.version ?? notInstalled();
  const [currentText, currentStat] = [await host.readText(CONFIGURATION_PATH), await host.stat(CONFIGURATION_PATH)];
  const current =
    currentText === undefined || currentStat === undefined ? undefined : { text: currentText, mode: currentStat.mode };
  const kept = await host.readText(ORIGINAL_PATH);
  const found = kept ?? (current === undefined || isManaged(current.text) ? undefined : current.text);

  const sandboxImage =
    desired.model.sandboxImage ??
    (desired.kubernetes === undefined ? undefined : await sandboxImageOf(host, desired.kubernetes));
  const original = found === undefined ? undefined : await parseLeniently(found);
  const tree = configurationTree({ model: desired.model, version, sandboxImage, original });
  const text = await configurationText(tree);
  const dropIns = await checkConfiguration(host, tree, text);

  const service = await host.service(SERVICE);
  const wanted = { text, mode: holdsCredentials(tree) ? 0o600 : 0o644, tree };
  const isRight = current?.text === text && !record.owed.has('restart:containerd');
  const outdated = service.active && isRight ? await findOutdated(host, desired.socket, tree) : undefined;
  return { wanted, dropIns, current, originalKept: kept !== undefined, service, outdated };
}

function plan({ version }: ContainerdDesired, actual: ContainerdActual): readonly Change<ContainerdPayload>[] {
  const { wanted, current, service, dropIns } = actual;
  const changes: Change<ContainerdPayload>[] = [];
  if (current?.text !== wanted.text || current.mode !== wanted.mode) {
    const diff = wanted.mode === 0o600 ? undefined : textDiff(current?.text ?? '', wanted.text);
    changes.push({
      id: 'containerd/config',
      summary: `write ${CONFIGURATION_PATH} for containerd ${version?.text ?? ''}`.trimEnd(),
      scope: 'base',
      owes: ['restart:containerd'],
      ineffective: 'ContainerdConfigNotEffective',
      payload: { kind: 'configure', actual, warning: dropInWarning(version, dropIns) },
      ...(diff === undefined ? {} : { diff }),
    });
  } else if (!service.active) {
    changes.push(simple('start', 'start containerd'));
  } else if (actual.outdated !== undefined) {
    changes.push(simple('restart', `restart containerd: ${actual.outdated}`));
  }
  if (!service.enabled) changes.push(simple('enable', 'start containerd at boot'));
  return changes;
}

function simple(kind: 'enable' | 'start' | 'restart', summary: string): Change<ContainerdPayload> {
  const ineffective = kind === 'restart' ? ('ContainerdConfigNotEffective' as const) : ('ServiceFailed' as const);
  // An image bake needs a running daemon, too: it imports images.
  return { id: `containerd/${kind}`, summary, scope: 'base', ineffective, payload: { kind } };
}

async function apply(host: Host, change: Change<ContainerdPayload>, execution: Execution): Promise<void> {
  const { payload } = change;
  if (payload.kind !== 'configure') return host.services[payload.kind](SERVICE);
  const { wanted, current, originalKept } = payload.actual;
  if (payload.warning !== undefined) execution.warn(payload.warning);
  if (current !== undefined && !originalKept && !isManaged(current.text)) {
    await host.writeFile({ path: ORIGINAL_PATH, content: current.text, mode: current.mode });
  }
  // One that is there already is of a run that was killed before its configuration proved itself: it is the good one.
  if ((await host.stat(PREVIOUS_PATH)) === undefined) {
    const before = current ?? { text: NOTHING_BEFORE, mode: 0o644 };
    await host.writeFile({ path: PREVIOUS_PATH, content: before.text, mode: before.mode });
  }
  await host.writeFile({ path: CONFIGURATION_PATH, content: wanted.text, mode: wanted.mode });
  await host.sync(CONFIGURATION_PATH);
}

const NOTHING_BEFORE = '# Written by machineadm: there was no configuration before.\n';

/**
 * Does `action` and waits until the daemon is healthy. When that fails after a new configuration, the one before is put
 * back, so that the machine is no worse than it was; when it succeeds, the one before is no longer needed.
 */
async function proveHealthy(
  host: Host,
  desired: ContainerdDesired,
  times: ContainerdTimes,
  execution: Execution,
  action: () => Promise<void>,
): Promise<void> {
  try {
    await action();
    await waitUntilHealthy(host, desired.socket, times.healthyWithin, execution);
  } catch (error) {
    // An interrupted run is taken up again: its configuration has not failed.
    if (execution.signal.aborted) throw error;
    const previous = await host.readText(PREVIOUS_PATH);
    if (previous === undefined) throw error;
    throw await putBack(host, desired, previous, times, execution, error);
  }
  if ((await host.stat(PREVIOUS_PATH)) !== undefined) await host.removeFile(PREVIOUS_PATH);
}

async function putBack(
  host: Host,
  desired: ContainerdDesired,
  previous: string,
  times: ContainerdTimes,
  execution: Execution,
  cause: unknown,
): Promise<MachineadmError> {
  const mode = (await host.stat(PREVIOUS_PATH))?.mode ?? 0o644;
  if (previous === NOTHING_BEFORE) await host.removeFile(CONFIGURATION_PATH);
  else await host.writeFile({ path: CONFIGURATION_PATH, content: previous, mode });
  await host.removeFile(PREVIOUS_PATH);
  await host.sync(CONFIGURATION_PATH);

  const again = await restartAgain(host, desired, times, execution);
  const failed = cause instanceof MachineadmError ? cause : undefined;
  return new MachineadmError({
    reason: 'ContainerdUnhealthy',
    summary: `containerd does not work with the configuration made for it: ${cause instanceof Error ? cause.message : String(cause)}`,
    remedy: `Correct containerRuntime.containerd in the document (the evidence names the plug-in or key). ${again}`,
    evidence: failed?.evidence ?? [],
    transcript: failed?.transcript ?? [],
    cause,
  });
}

async function restartAgain(
  host: Host,
  desired: ContainerdDesired,
  times: ContainerdTimes,
  execution: Execution,
): Promise<string> {
  try {
    await host.services.restart(SERVICE);
    await waitUntilHealthy(host, desired.socket, times.healthyAgainWithin, execution);
    return 'The configuration that was there before was put back, and containerd runs with it.';
  } catch {
    return 'The configuration that was there before was put back, but containerd does not work with it either.';
  }
}

/** Why a running daemon is not the one that this file makes: it is ill, or it read another file when it started. */
async function findOutdated(host: QueryHost, socket: string, tree: TomlTable): Promise<string | undefined> {
  const illness = await findIllness(host, socket);
  if (illness !== undefined) return illness;
  const running: CriConfiguration = await host.cri(socket).configuration();
  const wanted = runningValues(tree);
  const differs = (['cgroupDriver', 'sandboxImage', 'restrictOomScoreAdj'] as const).find(
    (key) => wanted[key] !== undefined && running[key] !== undefined && wanted[key] !== running[key],
  );
  if (differs === undefined) return undefined;
  return `it runs with ${differs} ${running[differs]}, its configuration says ${wanted[differs]}`;
}

function dropInWarning(version: Version | undefined, dropIns: readonly string[]): string | undefined {
  if (dropIns.length === 0 || version === undefined || version.major >= 2) return undefined;
  return `containerd ${version.text} replaces a plug-in's whole section by that of a drop-in: ${dropIns.join(', ')} may undo later changes of ${CONFIGURATION_PATH}`;
}

/** A file that is not TOML cannot have been in use; there is nothing to keep of it but the backup. */
async function parseLeniently(text: string): Promise<TomlTable | undefined> {
  const { parse, TomlError } = await import('smol-toml');
  try {
    return toTable(parse(text));
  } catch (error) {
    if (error instanceof TomlError) return undefined;
    throw error;
  }
}

function notInstalled(): never {
  throw new MachineadmError({
    reason: 'ContainerRuntimeMissing',
    summary: 'containerd is not installed',
    remedy: 'Install containerd 1.6 or newer.',
  });
}
