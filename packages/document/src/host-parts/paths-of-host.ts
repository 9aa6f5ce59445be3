import type { Finding } from '../diagnostics/index.ts';
import { field } from '../fields/field.ts';
import { isCriticalPath, unitName } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import { trimmedEnd } from '../text/trim.ts';
import type { MountModel } from './storage-model.ts';

/** What files, directories and links of the document have in common. */

/** A path that is not to be there. */
export interface AbsentModel {
  readonly kind: 'file' | 'directory' | 'link';
  readonly path: string;
  /** With all that is in it. */
  readonly recursive: boolean;
  /** What must follow. */
  readonly owes?: readonly OwedByDocument[];
  /** Of the entry that says so, below `host`. */
  readonly field: readonly (string | number)[];
}

/** Something that has a name instead of a path, and is not to be there. A mount and a swap file are named by their paths. */
export interface AbsentNameModel {
  readonly kind: 'user' | 'group' | 'service' | 'mount' | 'swap-file';
  readonly name: string;
  /** What is mounted there, of a mount. */
  readonly mount?: MountModel;
  /** Of the entry that says so, below `host`. */
  readonly field: readonly (string | number)[];
}

export const owner = z
  .string()
  .regex(/^[A-Za-z0-9_.-]+(?::[A-Za-z0-9_.-]+)?$/, 'not an owner: write "user:group", "user" or numeric ids');

/** `user:group`, or a user with the group of the same name. */
export function ownerOf(owner: string): { readonly user: string; readonly group: string } {
  const [user = owner, group = user] = owner.split(':');
  return { user, group };
}

export function absentField(description = 'Whether the path is removed. Excludes all other settings of it.') {
  return field(z.boolean(), description, { default: false, example: true });
}

const units = z
  .array(z.string().regex(/^[A-Za-z0-9:_.@\\-]+$/, 'not the name of a service'))
  .min(1, 'no service is named');

/** Fields of whatever services read. */
export const FOLLOW_UPS = {
  restarts: field(units, 'Services that are restarted after a change, once all changes are made, if they run.', {
    absent: 'none',
    example: ['ssh.service'],
  }),
  reloads: field(units, 'Services that reload their configuration after a change, if they run.', {
    absent: 'none',
    example: ['nginx.service'],
  }),
};

/** What must follow a change: by the full names of units. */
export type OwedByDocument = `restart:${string}` | `reload:${string}`;

/** The same as a part of a model. */
export function owedBy(section: {
  readonly restarts?: readonly string[] | undefined;
  readonly reloads?: readonly string[] | undefined;
}): { readonly owes?: readonly OwedByDocument[] } {
  const { restarts = [], reloads = [] } = section;
  const owes = [
    ...restarts.map((name) => `restart:${unitName(name)}` as const),
    ...reloads.filter((name) => !restarts.includes(name)).map((name) => `reload:${unitName(name)}` as const),
  ];
  return owes.length === 0 ? {} : { owes };
}

/** Without the slash at its end. */
export function plainPath(path: string): string {
  return trimmedEnd(path, '/') || path.slice(0, 1);
}

interface Absentable {
  readonly absent?: boolean | undefined;
}

interface Entry extends Absentable {
  readonly path: string;
}

/** Entries that are to be there, each with its place in the list where others stand before it. */
export function presentOf<Section extends Absentable>(
  section: readonly Section[],
  isMeant: (entry: Section) => boolean = () => true,
): readonly { readonly entry: Section; readonly place: { readonly at?: number } }[] {
  return section
    .map((entry, at) => ({ entry, at }))
    .filter(({ entry }) => entry.absent !== true && isMeant(entry))
    .map(({ entry, at }, index) => ({ entry, place: at === index ? {} : { at } }));
}

export function absentOf(
  kind: AbsentModel['kind'],
  name: string,
  section: readonly (Entry & { readonly recursive?: unknown } & Parameters<typeof owedBy>[0])[],
): readonly AbsentModel[] {
  return section.flatMap((entry, index) => {
    const { path, absent, recursive } = entry;
    if (absent !== true) return [];
    return [
      { kind, path: plainPath(path), recursive: recursive === true, ...owedBy(entry), field: [name, index, 'path'] },
    ];
  });
}

/** Mistakes of entries that are to be removed: what else they say, and what no machine can be without. */
export function checkAbsent(section: readonly Entry[], also: readonly string[] = []): Finding[] {
  return section.flatMap((entry, index): Finding[] => {
    if (entry.absent !== true) return [];
    const more = Object.keys(entry).find((key) => !['path', 'absent', 'restarts', 'reloads', ...also].includes(key));
    if (more !== undefined) {
      const message = 'describes the path, but absent: true removes it';
      return [{ path: [index, more], message, hint: 'keep one of them' }];
    }
    if (!isCriticalPath(entry.path)) return [];
    return [{ path: [index, 'path'], message: `${entry.path} is part of the system and never removed` }];
  });
}

/** The same of a list whose entries have names. */
export function absentNames(
  kind: AbsentNameModel['kind'],
  list: string,
  section: readonly (Absentable & { readonly name: string })[],
): readonly AbsentNameModel[] {
  return section.flatMap(({ name, absent }, index) =>
    absent === true ? [{ kind, name, field: [list, index, 'name'] }] : [],
  );
}

/** What else entries say that are to be removed. */
export function checkAbsentNames(section: readonly Absentable[]): Finding[] {
  return section.flatMap((entry, index): Finding[] => {
    const more =
      entry.absent === true ? Object.keys(entry).find((key) => key !== 'name' && key !== 'absent') : undefined;
    const message = 'describes what must exist, but absent: true removes it';
    return more === undefined ? [] : [{ path: [index, more], message, hint: 'keep one of them' }];
  });
}
