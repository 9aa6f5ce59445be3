import type { TomlTable } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { REGISTRY_FILES, registryDirectories } from '@machineadm/document/ownership/paths.ts';
import { secretsIn } from '@machineadm/document/secrets/secret-values.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { stringAt } from '../../container-runtime/toml-tree.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { runtimeSocket } from '../../kubernetes/runtime-socket.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import { bringerOf } from '../../step/brought-programs.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import type { Change, Execution, OwnedPath } from '../../step/index.ts';
import { type ContainerdTimes, proveHealthy, putConfiguration } from './commit.ts';
import { CONFIGURATION_PATH, registryTable } from './configuration.ts';
import { parseToml } from './found.ts';
import { type ContainerdActual, type ContainerdDesired, inspect } from './inspect.ts';
import { maskedToml } from './masked.ts';
import { missingParts, preflight } from './preflight.ts';
import { applyRegistry, planRegistries, type RegistryPayload } from './registries.ts';

export type { ContainerdTimes } from './commit.ts';
export type { ContainerdActual, ContainerdDesired } from './inspect.ts';

const SERVICE = 'containerd';

export type ContainerdPayload =
  | {
      readonly kind: 'configure';
      readonly desired: ContainerdDesired;
      readonly actual: ContainerdActual;
      readonly warnings: readonly string[];
    }
  | { readonly kind: 'enable' | 'start' | 'restart' }
  | RegistryPayload;

/**
 * containerd as Kubernetes needs it: a configuration in the format of the installed version, proven effective before it
 * is activated; the sources of each registry's images; the service enabled and running with that configuration; CRI
 * answering. If the daemon fails with a new configuration, the previous one is restored.
 */
export function containerdStep(
  times: ContainerdTimes = { healthyWithin: 60_000, healthyAgainWithin: 20_000 },
): FeatureStep<ContainerdDesired, ContainerdActual, ContainerdPayload> {
  return {
    id: 'containerd',
    section: 'containerRuntime.containerd',
    stays: ({ containerd, kubernetes }, { resources }) =>
      resources.length > 0 && containerd === undefined && kubernetes !== undefined
        ? [['containerd', 'the configuration of containerd stays: the node works with it']]
        : [],
    isRequested: ({ containerd, kubernetes }) => containerd !== undefined || kubernetes !== undefined,
    programs: { needs: ['containerd'] },
    followUps: {
      settles: ['daemon-reload', 'restart:containerd'],

      async perform(host, desired, followUp, execution) {
        if (followUp === 'daemon-reload') return host.services.reload();
        await proveHealthy(host, desired, times, execution, () => restart(host));
      },
    },

    desired(model, facts) {
      if (model.containerd === undefined) return undefined;
      const { containerd, kubernetes, host } = model;
      return {
        model: containerd,
        version: facts.containerd,
        architecture: facts.architecture,
        serviceManager: facts.serviceManager,
        socket: runtimeSocket(model, facts),
        kubernetes,
        afterHooks: host.hooks.early !== undefined && host.hooks.beforeBootstrap === undefined,
        laid: new Set(host.files.map(({ path }) => path)),
        broughtBy: bringerOf('containerd', host),
        isUpgradable: kubernetes !== undefined && kubernetes.exec === undefined,
      };
    },

    owns: ownedPaths,
    preflight,
    secrets: ({ model }) => secretsIn(model),
    inspect,
    plan,
    apply,

    async settled(host, desired, execution) {
      await proveHealthy(host, desired, times, execution, async () => {});
      await host.sync('/etc');
    },
  };
}

/** The step as used in the pipeline. */
export const containerd: FeatureStep<ContainerdDesired, ContainerdActual, ContainerdPayload> = containerdStep();

function plan(desired: ContainerdDesired, actual: ContainerdActual): readonly Change<ContainerdPayload>[] {
  const { isWritten, service, registries, forgotten } = actual;
  // Before the daemon starts: it may pull at once.
  const changes: Change<ContainerdPayload>[] = [...planRegistries(registries, forgotten)];
  if (!isWritten) changes.push(configure(desired, actual));
  else if (!service.active) changes.push(simple('start', 'start containerd'));
  else if (actual.outdated !== undefined) changes.push(simple('restart', `restart containerd: ${actual.outdated}`));
  if (!service.enabled) changes.push(simple('enable', 'start containerd at boot'));
  return changes;
}

function configure(desired: ContainerdDesired, actual: ContainerdActual): Change<ContainerdPayload> {
  const { wanted, current, mistakes, folded } = actual;
  const { version, model } = desired;
  const [before, after] = [maskedToml(current?.text ?? ''), maskedToml(wanted.text)];
  const diff = before === undefined || after === undefined ? undefined : textDiff(before, after) || undefined;
  const verb = model.mode === 'Merge' && current !== undefined ? 'merge into' : 'write';
  const mends = mistakes.length === 0 ? '' : `; corrects the file found: ${mistakes.join('; ')}`;
  return {
    id: 'containerd/config',
    summary: `${verb} ${CONFIGURATION_PATH} for containerd ${version?.text ?? ''}${mends}`.trimEnd(),
    scope: 'base',
    owes: ['restart:containerd'],
    ineffective: 'ContainerdConfigNotEffective',
    payload: {
      kind: 'configure',
      desired,
      actual,
      warnings: [
        ...mistakes.map((mistake) => `the existing configuration of containerd is corrected: ${mistake}`),
        ...changedWarnings(actual.changed, model.mode),
        ...dropInWarnings(version, actual.dropIns),
        ...folded.map((path) => `${path} is now part of ${CONFIGURATION_PATH} and no longer read by containerd`),
      ],
    },
    diff,
  };
}

function simple(kind: 'enable' | 'start' | 'restart', summary: string): Change<ContainerdPayload> {
  const ineffective = kind === 'restart' ? ('ContainerdConfigNotEffective' as const) : ('ServiceFailed' as const);
  // An image bake also needs a running daemon: it imports images.
  return { id: `containerd/${kind}`, summary, scope: 'base', ineffective, payload: { kind } };
}

async function apply(host: Host, { payload }: Change<ContainerdPayload>, execution: Execution): Promise<void> {
  switch (payload.kind) {
    case 'registry':
    case 'forget':
      return await applyRegistry(host, payload);
    case 'restart':
      return await restart(host);
    case 'enable':
    case 'start':
      return await host.services[payload.kind](SERVICE);
    case 'configure': {
      await refuseMissing(host, payload.desired);
      for (const warning of payload.warnings) execution.warn(warning);
      return await putConfiguration(host, payload.actual);
    }
  }
}

async function restart(host: Host): Promise<void> {
  // A release may have brought another unit.
  if ((await host.service(SERVICE)).needsReload === true) await host.services.reload();
  await host.services.restart(SERVICE);
}

/** Preflight leaves checks to this step that an early hook may satisfy. */
async function refuseMissing(host: Host, desired: ContainerdDesired): Promise<void> {
  const missing = desired.afterHooks ? await missingParts(host, desired) : [];
  const [first] = missing;
  if (first === undefined) return;
  throw new MachineadmError({
    reason: first.reason,
    summary: missing.map(({ what }) => what).join('; '),
    remedy: [...new Set(missing.map(({ remedy }) => remedy))].join(' '),
    exit: 'HostStepFailed',
  });
}

function changedWarnings(keys: readonly string[], mode: ContainerdDesired['model']['mode']): readonly string[] {
  if (keys.length === 0) return [];
  const what =
    mode === 'Managed'
      ? `these are not taken over: ${keys.join(', ')} (write them into the document, or set mode: Merge)`
      : `these change: ${keys.join(', ')}`;
  return [`of the configuration of containerd that was found, ${what}`];
}

function dropInWarnings(version: Version | undefined, dropIns: readonly string[]): readonly string[] {
  if (dropIns.length === 0 || version === undefined || version.major >= 2) return [];
  return [
    `containerd ${version.text} replaces a plug-in's whole section by that of a drop-in: ${dropIns.join(', ')} may undo later changes of ${CONFIGURATION_PATH}`,
  ];
}

/** The registry directories in the configuration of this machine, or in the settings of the document. */
async function ownedPaths(host: QueryHost, { model }: ContainerdDesired): Promise<readonly OwnedPath[]> {
  if (model.registries.length === 0) return [];
  const directory = configPathOf(model.settings) ?? configPathOf(await currentTree(host));
  if (directory === undefined) return [];
  return model.registries.flatMap((registry, index) =>
    registryDirectories(registry.host).map((name) => ({
      field: ['containerRuntime', 'containerd', 'registries', index],
      path: `${directory}/${name}`,
      kind: 'names' as const,
      names: REGISTRY_FILES,
    })),
  );
}

function configPathOf(tree: TomlTable): string | undefined {
  return stringAt(registryTable(tree), ['config_path'])?.split(':')[0];
}

/** `inspect` reports a file that is not TOML. */
async function currentTree(host: QueryHost): Promise<TomlTable> {
  const text = await host.readText(CONFIGURATION_PATH);
  const parsed = text === undefined ? undefined : await parseToml(text);
  return parsed !== undefined && 'tree' in parsed ? parsed.tree : {};
}
