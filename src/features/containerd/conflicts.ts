import type { ContainerdModel, TomlTable } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { compareVersions, type Version } from '@machineadm/document/text/program-version.ts';
import { dottedKey, isTable, leavesOf, stringAt, tableAt, valueAt } from '../../container-runtime/toml-tree.ts';
import type { UnmetRequirement } from '../../step/index.ts';
import { containerdTable, registryTable } from './configuration.ts';

/**
 * Settings that containerd accepts but that fail silently: CRI does not load, mirrors are not used, pods do not start.
 * `config dump` shows none of that. Throws the reason of each.
 */
export function refuseContradictions(tree: TomlTable, model: ContainerdModel): void {
  refuseOldRegistries(tree, model);
  refuseUnknownDefault(tree);
  refuseWrongTypes(tree);
}

/** containerd internal/cri/config/config.go, ValidateImageConfig: "`mirrors` cannot be set when `config_path` is provided". */
function refuseOldRegistries(tree: TomlTable, { registries }: ContainerdModel): void {
  const registry = registryTable(tree);
  const old = leavesOf(registry).filter(
    ({ path }) => path[0] === 'mirrors' || (path[0] === 'configs' && path.includes('tls')),
  );
  const first = old[0]?.path.slice(0, 2);
  if (first === undefined) return;
  if (stringAt(registry, ['config_path']) === undefined && registries.length === 0) return;
  const key = dottedKey(['registry', ...first]);
  throw new MachineadmError({
    reason: 'ContainerdRegistryConflict',
    summary: `${key} and a directory of hosts.toml files exclude each other: containerd would run without CRI, or use no mirror`,
    remedy:
      'Write its mirrors and certificates as containerRuntime.containerd.registries and remove them from settings and from the existing file (mode: Managed does that by itself).',
    evidence: old.map(({ path }) => ({ source: 'config.toml', text: dottedKey(['registry', ...path.slice(0, 3)]) })),
  });
}

/** containerd internal/cri/config/config.go, ValidateRuntimeConfig: "no corresponding runtime configured in …". */
function refuseUnknownDefault(tree: TomlTable): void {
  const containerd = containerdTable(tree);
  const name = stringAt(containerd, ['default_runtime_name']);
  const runtimes = Object.keys(tableAt(containerd, ['runtimes']));
  if (name === undefined || runtimes.includes(name)) return;
  throw new MachineadmError({
    reason: 'ContainerdRuntimeUndefined',
    summary: `the default runtime ${name} is not among the runtimes of containerd (${runtimes.join(', ')})`,
    remedy: `Add it to containerRuntime.containerd.runtimes, or name one of these as defaultRuntime.`,
  });
}

/**
 * Options of a shim are passed on unchecked: a wrong type fails only with the first pod ("Can't convert true(string) to
 * bool").
 */
function refuseWrongTypes(tree: TomlTable): void {
  const runtimes = tableAt(containerdTable(tree), ['runtimes']);
  for (const [name, runtime] of Object.entries(runtimes)) {
    const value = isTable(runtime) ? valueAt(runtime, ['options', 'SystemdCgroup']) : undefined;
    if (value === undefined || typeof value === 'boolean') continue;
    throw new MachineadmError({
      reason: 'ContainerdConfigWrongType',
      summary: `SystemdCgroup of the runtime ${name} is ${JSON.stringify(value)} and not true or false: no pod would start`,
      remedy: 'Remove it from containerRuntime.containerd.settings: cgroupDriver sets it for every runtime.',
    });
  }
}

/** Fields of the document that the installed containerd does not support; it would ignore most of them silently. */
export function tooNewFor(model: ContainerdModel, version: Version): readonly UnmetRequirement[] {
  const endpoints = model.registries.flatMap(({ server, mirrors }) => [server, ...mirrors]);
  const fields: readonly (readonly [field: string, used: boolean, since: readonly [number, number]])[] = [
    ['cdi', model.cdi?.enabled === true || (model.cdi?.specDirectories.length ?? 0) > 0, [1, 7]],
    ['runtimes.*.snapshotter', model.runtimes.some(({ snapshotter }) => snapshotter !== undefined), [1, 7]],
    ['cni.binaryDirectories with more than one', model.cni.binaryDirectories.length > 1, [2, 1]],
    ['registries.*.dialTimeout', endpoints.some(({ dialTimeoutMs }) => dialTimeoutMs !== undefined), [2, 0]],
    // An unknown capability makes older versions ignore the whole file.
    ['the capability referrers', endpoints.some(({ capabilities }) => capabilities.includes('referrers')), [2, 2]],
  ];
  return fields.flatMap(([field, used, [major, minor]]): readonly UnmetRequirement[] => {
    if (!used || compareVersions(version, { major, minor, patch: 0, text: '' }) >= 0) return [];
    return [
      {
        reason: 'ContainerdTooOld',
        what: `containerd ${version.text} is too old: containerRuntime.containerd needs ${major}.${minor} or newer for ${field}`,
        remedy: 'Install a newer containerd, or remove that field from the document.',
      },
    ];
  });
}
