import type { RegistryModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { OWN_FILE_PREFIX, REGISTRY_HOSTS_FILE, registryDirectories } from '@machineadm/document/ownership/paths.ts';
import type { FileStat, Host, QueryHost } from '../../host/seam/host.ts';
import { attributeDifference } from '../../owned-files/difference.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import type { Change } from '../../step/index.ts';
import { HOSTS_ORIGINAL, isOurHostsFile, type RegistryFile, registryFiles, secretsOf } from './hosts-file.ts';
import { maskedToml } from './masked.ts';

/** A registry of the document, and its present files. */
export interface RegistryActual {
  readonly registry: RegistryModel;
  readonly directory: string;
  /** undefined: a secret does not exist yet, or only a run may resolve it. */
  readonly wanted: readonly RegistryFile[] | undefined;
  /** By name, only wanted ones. */
  readonly present: ReadonlyMap<string, FileStat & { readonly text: string }>;
  /** Our files that are no longer wanted. */
  readonly stale: readonly string[];
  /** True: hosts.toml is foreign. */
  readonly isForeign: boolean;
  /** True: a run was killed while it wrote them; earlier proofs of the registry are invalid. */
  readonly wasInterrupted: boolean;
}

/** A registry that we configured and the document no longer names. */
export interface ForgottenRegistry {
  readonly host: string;
  readonly directory: string;
}

export type RegistryPayload =
  | { readonly kind: 'registry'; readonly actual: RegistryActual }
  | { readonly kind: 'forget'; readonly forgotten: ForgottenRegistry };

/** Each registry of the document, with the present state of its directory below `root`. */
export async function inspectRegistries(
  host: QueryHost,
  registries: readonly RegistryModel[],
  root: string,
  interrupted: ReadonlySet<string>,
): Promise<{ readonly registries: readonly RegistryActual[]; readonly forgotten: readonly ForgottenRegistry[] }> {
  const names = (await host.list(root)) ?? [];
  const actual: RegistryActual[] = [];
  for (const registry of registries) {
    const found = await inspectRegistry(host, registry, `${root}/${directoryOf(registry.host, names)}`);
    actual.push({ ...found, wasInterrupted: interrupted.has(changeId(registry)) });
  }
  const used = new Set(actual.map(({ directory }) => directory));
  const forgotten: ForgottenRegistry[] = [];
  for (const name of names) {
    const directory = `${root}/${name}`;
    if (used.has(directory) || (await host.stat(directory))?.type !== 'directory') continue;
    const text = await host.readText(`${directory}/${REGISTRY_HOSTS_FILE}`);
    if (text !== undefined && isOurHostsFile(text)) forgotten.push({ host: name, directory });
  }
  return { registries: actual, forgotten };
}

/** containerd uses the first existing directory, whatever its content. */
function directoryOf(host: string, names: readonly string[]): string {
  return registryDirectories(host).find((name) => names.includes(name)) ?? host;
}

function changeId({ host }: RegistryModel): string {
  return `containerd/registries/${host}`;
}

async function inspectRegistry(
  host: QueryHost,
  registry: RegistryModel,
  directory: string,
): Promise<Omit<RegistryActual, 'wasInterrupted'>> {
  const wanted = await unlessUnavailable(() => registryFiles(registry, (value) => host.secret(value)));
  const present = new Map<string, FileStat & { readonly text: string }>();
  const stale: string[] = [];
  for (const name of (await host.list(directory)) ?? []) {
    const path = `${directory}/${name}`;
    if (name !== REGISTRY_HOSTS_FILE && !name.startsWith(OWN_FILE_PREFIX)) continue;
    if (wanted !== undefined && !wanted.some((file) => file.name === name)) stale.push(name);
    else {
      const [text, stat] = [await host.readText(path), await host.stat(path)];
      if (text !== undefined && stat !== undefined) present.set(name, { text, ...stat });
    }
  }
  const hosts = present.get(REGISTRY_HOSTS_FILE);
  return { registry, directory, wanted, present, stale, isForeign: hosts !== undefined && !isOurHostsFile(hosts.text) };
}

/** `apply` reports a secret that does not exist yet. */
async function unlessUnavailable<Found>(find: () => Promise<Found>): Promise<Found | undefined> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof MachineadmError && error.reason === 'SecretUnavailable') return undefined;
    throw error;
  }
}

/** The changes for registries. containerd reads these files with every pull: none of them needs a restart. */
export function planRegistries(
  registries: readonly RegistryActual[],
  forgotten: readonly ForgottenRegistry[],
): readonly Change<RegistryPayload>[] {
  return [...registries.flatMap(registryChange), ...forgotten.map(forgetChange)];
}

function registryChange(actual: RegistryActual): readonly Change<RegistryPayload>[] {
  const { registry, directory, wanted, present, stale, wasInterrupted } = actual;
  const path = `${directory}/${REGISTRY_HOSTS_FILE}`;
  const common = {
    id: changeId(registry),
    // Content with a secret belongs to the instance.
    scope: secretsOf(registry).length === 0 ? ('base' as const) : ('node' as const),
    // Proofs of registries (features/registries) were for other files.
    repeatable: false,
    undoes: ['registries'] as const,
    ineffective: 'ContainerdConfigNotEffective' as const,
    payload: { kind: 'registry' as const, actual },
  };
  if (wanted === undefined) {
    const summary = `compare ${path} with the secrets of ${registry.host}`;
    return [{ ...common, summary, knownAfter: 'secrets' }];
  }
  const different = wanted.filter(({ name, content, mode }) => {
    const now = present.get(name);
    return now?.text !== content || attributeDifference(now, { mode }) !== undefined;
  });
  if (different.length === 0 && stale.length === 0 && !wasInterrupted) return [];
  const others = different.filter(({ name }) => name !== REGISTRY_HOSTS_FILE).map(({ name }) => name);
  const words = [
    ...(different.length > others.length || wasInterrupted ? [`write ${path}`] : []),
    ...(others.length > 0 ? [`${others.length === different.length ? 'write' : 'with'} ${others.join(', ')}`] : []),
    ...(stale.length > 0 ? [`without ${stale.join(', ')}`] : []),
  ];
  const diff = hostsDiff(actual, wanted);
  if (diff === '' && words.length === 1)
    words.push(wasInterrupted ? 'again' : 'with other headers, another mode or owner');
  return [{ ...common, summary: words.join(' '), diff: diff || undefined }];
}

function hostsDiff({ present }: RegistryActual, wanted: readonly RegistryFile[]): string | undefined {
  const before = maskedToml(present.get(REGISTRY_HOSTS_FILE)?.text ?? '');
  const after = maskedToml(wanted.find(({ name }) => name === REGISTRY_HOSTS_FILE)?.content ?? '');
  return before === undefined || after === undefined ? undefined : textDiff(before, after);
}

function forgetChange(forgotten: ForgottenRegistry): Change<RegistryPayload> {
  return {
    id: `containerd/registries/remove/${forgotten.host}`,
    summary: `remove ${forgotten.directory}/${REGISTRY_HOSTS_FILE}: the document no longer names ${forgotten.host}`,
    scope: 'base',
    ineffective: 'ContainerdConfigNotEffective',
    payload: { kind: 'forget', forgotten },
  };
}

/** Makes one change of registries. Throws `SecretUnavailable`. */
export async function applyRegistry(host: Host, payload: RegistryPayload): Promise<void> {
  if (payload.kind === 'forget') return await forget(host, payload.forgotten);
  const { registry, directory, isForeign, present, stale } = payload.actual;
  const files = (await registryFiles(registry, (value) => host.secret(value))) ?? unknownSecret();
  const hosts = present.get(REGISTRY_HOSTS_FILE);
  const original = `${directory}/${HOSTS_ORIGINAL}`;
  if (isForeign && hosts !== undefined && (await host.stat(original)) === undefined) {
    await host.writeFile({ path: original, content: hosts.text, mode: hosts.mode });
  }
  // Created separately, so that a reset knows it as ours and removes it: an empty one would keep containerd from
  // `_default`.
  if ((await host.stat(directory)) === undefined) await host.makeDirectory(directory, 0o755);
  for (const { name, content, mode } of files) {
    await host.writeFile({ path: `${directory}/${name}`, content, mode });
  }
  for (const name of stale.filter((old) => !files.some((file) => file.name === old))) {
    await host.removeFile(`${directory}/${name}`);
  }
}

/** An empty directory would keep containerd from `_default`: it uses the first that exists. */
async function forget(host: Host, { directory }: ForgottenRegistry): Promise<void> {
  const original = `${directory}/${HOSTS_ORIGINAL}`;
  const [text, stat] = [await host.readText(original), await host.stat(original)];
  if (text !== undefined && stat !== undefined) {
    await host.writeFile({ path: `${directory}/${REGISTRY_HOSTS_FILE}`, content: text, mode: stat.mode });
    await host.removeFile(original);
  } else {
    await host.removeFile(`${directory}/${REGISTRY_HOSTS_FILE}`);
  }
  for (const name of (await host.list(directory)) ?? []) {
    if (name.startsWith(OWN_FILE_PREFIX)) await host.removeFile(`${directory}/${name}`);
  }
  await host.run({ program: 'rmdir', args: ['--ignore-fail-on-non-empty', '--', directory] });
}

function unknownSecret(): never {
  throw new Error('a host that may change the machine finds every secret out');
}
