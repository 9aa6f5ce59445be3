import type { Finding } from '../diagnostics/index.ts';
import type { ResolveSecret } from '../fields/convert-values.ts';
import type { Field } from '../fields/field.ts';
import type { Platform } from '../fields/platform.ts';
import type { Claim } from '../ownership/claim.ts';
import { canonicalPath } from '../ownership/collisions.ts';
import type { DocumentName } from '../ownership/drop-ins.ts';
import { HOSTS_FILE, unitPath } from '../ownership/paths.ts';
import { activeDirectory } from './active-directory.ts';
import { apparmor } from './apparmor.ts';
import { type ArchiveModel, archiveClaims, archivesOf } from './archives.ts';
import { certificateAuthorities } from './certificate-authorities.ts';
import { directories } from './directories.ts';
import { files } from './files.ts';
import { groups } from './groups.ts';
import { hooks } from './hooks.ts';
import { hostname } from './hostname.ts';
import { hosts } from './hosts.ts';
import { kernelModules } from './kernel-modules.ts';
import { limits } from './limits.ts';
import { links } from './links.ts';
import { network } from './network.ts';
import type { Beside, HostPart } from './part.ts';
import type { AbsentModel, AbsentNameModel } from './paths-of-host.ts';
import { proxy } from './proxy.ts';
import { prune } from './prune.ts';
import { selinux } from './selinux.ts';
import { services } from './services.ts';
import { storage } from './storage.ts';
import { swap } from './swap.ts';
import { sysctl } from './sysctl.ts';
import { time } from './time.ts';
import { timezone } from './timezone.ts';
import { users } from './users.ts';

/** The parts of `host` that are modules of their own, by their field, in reading order. */
export const HOST_PARTS = {
  hostname,
  hosts,
  network,
  timezone,
  selinux,
  apparmor,
  kernelModules,
  sysctl,
  limits,
  swap,
  groups,
  users,
  time,
  proxy,
  certificateAuthorities,
  activeDirectory,
  services,
  storage,
  directories,
  files,
  links,
  prune,
  hooks,
};

type Parts = typeof HOST_PARTS;
type PartName = keyof Parts;

/** What the parts become. */
export type HostPartModels = PartModels & {
  /** Paths that are not to be there. */
  readonly absent: readonly AbsentModel[];
  /** The same for users, groups, services and mounts. */
  readonly absentNames: readonly AbsentNameModel[];
  /** Entries of `files` that are unpacked. */
  readonly archives: readonly ArchiveModel[];
};

type PartModels = { readonly [Name in PartName]: Awaited<ReturnType<Parts[Name]['toModel']>> };

/** The sections of a document, by the name of their part. */
type PartSections = { readonly [Name in PartName]?: Parameters<Parts[Name]['toModel']>[0] };

/** Each part with its name. A part only gets back what it returned itself, which no type of a list can express. */
const EACH = Object.entries(HOST_PARTS) as unknown as readonly (readonly [
  PartName,
  HostPart & { check?(section: unknown, beside: Beside): readonly Finding[] | Promise<readonly Finding[]> },
])[];

/** The fields with the words of their parts. */
export function hostPartFields(): { [Name in PartName]: Field<ReturnType<Parts[Name]['schema']['optional']>> } {
  return Object.fromEntries(
    EACH.map(([name, part]) => [name, { schema: part.schema.optional(), text: part }]),
  ) as unknown as ReturnType<typeof hostPartFields>;
}

export async function hostPartModels(
  host: PartSections | undefined,
  resolve: ResolveSecret,
  platform: Platform,
): Promise<HostPartModels> {
  const each = EACH.map(async ([name, part]) => [name, await part.toModel(host?.[name], resolve, platform)] as const);
  const models = Object.fromEntries(await Promise.all(each)) as PartModels;
  const absent = ofAll(host, (part, section) => part.removes?.(section));
  const absentNames = ofAll(host, (part, section) => part.removesNames?.(section));
  const archives = await archivesOf(host?.files ?? [], resolve);
  const hosts = platform === 'windows' ? undefined : (models.hosts ?? ownName(models, absent));
  return { ...models, absent, absentNames, archives, hosts };
}

/** A machine that gets a name resolves it, unless another part of the document has all of /etc/hosts. */
function ownName({ hostname, files, links }: PartModels, absent: readonly AbsentModel[]): PartModels['hosts'] {
  const whole = [...files.filter(({ append }) => !append), ...links, ...absent];
  const isTaken = whole.some(({ path }) => canonicalPath(path) === HOSTS_FILE);
  return hostname === undefined || isTaken ? undefined : { entries: [], ownName: true };
}

/** What all parts say of their sections. */
function ofAll<Said>(
  host: PartSections | undefined,
  say: (part: HostPart, section: never) => readonly Said[] | undefined,
): readonly Said[] {
  return EACH.flatMap(([name, part]) => {
    const section = host?.[name];
    return section === undefined ? [] : (say(part, section as never) ?? []);
  });
}

export async function checkHostParts({
  host,
  secrets,
}: Beside & { readonly host?: PartSections | undefined }): Promise<Finding[]> {
  const checked = EACH.map(async ([name, { check }]) => {
    const section = host?.[name];
    const findings = section === undefined ? [] : ((await check?.(section, { host, secrets })) ?? []);
    const below = (path: Finding['path']) => ['host', name, ...path];
    return findings.map((finding) => ({
      ...finding,
      path: below(finding.path),
      ...(finding.other === undefined ? {} : { other: below(finding.other) }),
      ...(finding.about === undefined ? {} : { about: finding.about.map((path) => ['host', ...path]) }),
    }));
  });
  return (await Promise.all(checked)).flat();
}

export function hostPartClaims(host: HostPartModels, document: DocumentName): Claim[] {
  const removed = host.absent.map(
    ({ kind, path, field }): Claim => ({
      step: 'removals',
      field: ['host', ...field],
      path,
      kind: kind === 'directory' ? 'directory' : 'file',
    }),
  );
  const units = host.absentNames
    .filter(({ kind }) => kind === 'service')
    .map(
      ({ name, field }): Claim => ({ step: 'removals', field: ['host', ...field], path: unitPath(name), kind: 'file' }),
    );
  return removed.concat(
    units,
    archiveClaims(host.archives),
    EACH.flatMap(([name, { claims }]) =>
      (claims?.(host[name], document) ?? []).map((claim) => ({ ...claim, field: ['host', name, ...claim.field] })),
    ),
  );
}

/** The parts that only Linux has, and why. */
export const LINUX_ONLY_PARTS: Readonly<Record<string, string>> = Object.fromEntries(
  EACH.flatMap(([name, { linuxOnly }]) => (linuxOnly === undefined ? [] : [[name, linuxOnly]])),
);

/** What identifies the entries of their lists, by the path of the list. */
export const ENTRY_KEYS_OF_PARTS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  EACH.flatMap(([name, { entryKeys = {} }]) =>
    Object.entries(entryKeys).map(([below, keys]) => [below === '' ? `host.${name}` : `host.${name}.${below}`, keys]),
  ),
);
