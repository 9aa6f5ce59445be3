import type { TomlTable, TomlValue } from '@machineadm/document/model/index.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { fullId } from '../../container-runtime/plugin-ids.ts';
import { dottedKey, isTable, same, valueAt } from '../../container-runtime/toml-tree.ts';
import { convertToVersion } from './migrate.ts';

/** An existing configuration, with the place of each of its values (`placesOf`): tables of equal structure. */
export interface FoundConfiguration {
  readonly tree: TomlTable;
  readonly places: TomlTable;
}

/** A scalar, or an item of a list. */
interface FoundValue {
  readonly path: readonly string[];
  readonly value: TomlValue;
  /** The places of all its scalars; they are unique. */
  readonly places: readonly string[];
}

/** One file, or a file with its drop-ins folded in. */
export interface FoundFiles {
  readonly files: readonly FoundConfiguration[];
  /** The places of all values that containerd reads. */
  readonly places: TomlTable;
}

/**
 * Existing values that are not in the new configuration, as `key (file:line)`. A value's path through the migration is
 * not implemented twice: its place goes through the same migration.
 *
 * @param effective containerd's result for our configuration, where its defaults count as kept (Managed)
 */
export function changedValues(
  found: FoundFiles,
  wanted: TomlTable,
  version: Version,
  effective?: TomlTable,
): readonly string[] {
  const moved = new Map<string, readonly string[]>();
  const after = convertToVersion(found.places, version);
  for (const { path, places } of valuesOf(after, after)) for (const place of places) moved.set(place, path);
  const keeps = ({ value, places }: FoundValue): boolean => {
    const path = moved.get(places[0] ?? '');
    return path !== undefined && [wanted, effective ?? {}].some((tree) => holds(valueAt(tree, path), value, path));
  };
  const isManaged = effective !== undefined;
  return found.files
    .flatMap(({ tree, places }) => valuesOf(tree, places))
    .filter((one) => !isOurs(one, isManaged) && !keeps(one) && !(isManaged && isZero(one.value)))
    .map(({ path, places }) => `${dottedKey(path)} (${linesOf(places)})`);
}

/** `file:line`; for a table in a list every line of it. */
function linesOf(places: readonly string[]): string {
  return [...new Set(places.map((place) => place.replace(/:\d+$/, '')))].join(', ');
}

function valuesOf(table: TomlTable, places: TomlTable, path: readonly string[] = []): readonly FoundValue[] {
  return Object.entries(table).flatMap(([key, value]): readonly FoundValue[] => {
    const at = [...path, key];
    const place = places[key];
    if (isTable(value)) return valuesOf(value, isTable(place) ? place : {}, at);
    if (!Array.isArray(value)) return [{ path: at, value, places: textsOf(place) }];
    const items = Array.isArray(place) ? place : [];
    return value
      .map((item: TomlValue, index) => ({ path: at, value: item, places: textsOf(items[index]) }))
      .filter((item) => item.places.length > 0);
  });
}

function textsOf(place: TomlValue | undefined): readonly string[] {
  if (typeof place === 'string') return [place];
  if (Array.isArray(place)) return place.flatMap((part: TomlValue) => textsOf(part));
  return isTable(place) ? Object.values(place).flatMap((part) => textsOf(part)) : [];
}

/** A single value may have become a list item (bin_dir, bin_dirs). */
function holds(now: TomlValue | undefined, value: TomlValue, [list]: readonly string[]): boolean {
  const isOfPlugins = list === 'disabled_plugins' || list === 'required_plugins';
  const wanted = isOfPlugins && typeof value === 'string' ? fullId(value) : value;
  if (Array.isArray(now)) return now.some((item: TomlValue) => same(item, wanted));
  return same(now, wanted);
}

/** Reported separately: by the header, by the messages about invalid values, or as a merged drop-in. */
function isOurs({ path: [key], path }: FoundValue, isManaged: boolean): boolean {
  if (path.length > 1) return false;
  return key === 'version' || key === 'imports' || (isManaged && /^(?:disabled|required)_plugins$/.test(key ?? ''));
}

function isZero(value: TomlValue): boolean {
  return value === '' || value === 0 || value === false;
}
