import { isMap } from '../values/map.ts';

/** How cloud-init merges a cloud-config into those before it (cloudinit/mergers, m_dict.py, m_list.py, m_str.py). */
export interface Mergers {
  readonly dict: ReadonlySet<string>;
  readonly list: ReadonlySet<string>;
  readonly str: ReadonlySet<string>;
}

/** cloudinit/handlers/cloud_config.py, DEF_MERGERS: a key takes the place of an earlier one. */
export const DEFAULT_MERGERS: Mergers = { dict: new Set(['replace']), list: new Set(), str: new Set() };

const OPTIONS: Readonly<Record<keyof Mergers, readonly string[]>> = {
  dict: ['replace', 'no_replace', 'allow_delete', 'recurse_str', 'recurse_dict', 'recurse_array', 'recurse_list'],
  list: ['append', 'prepend', 'replace', 'no_replace', 'recurse_str', 'recurse_dict', 'recurse_array', 'recurse_list'],
  str: ['append', 'replace', 'no_replace'],
};
const LONGEST_SETTING = 200;

/**
 * The value of `merge_how`: `list(append)+dict(no_replace,recurse_list)+str()`, or a list of {name, settings}. undefined for what
 * cloud-init does not know either.
 */
export function mergersOf(setting: unknown): Mergers | undefined {
  const named =
    typeof setting === 'string'
      ? setting.slice(0, LONGEST_SETTING).split('+').map(splitCall)
      : Array.isArray(setting)
        ? setting.map((one: unknown) =>
            isMap(one) && typeof one.name === 'string' && Array.isArray(one.settings)
              ? { name: one.name, settings: one.settings.map(String) }
              : undefined,
          )
        : [undefined];
  const result: Record<keyof Mergers, ReadonlySet<string>> = { dict: new Set(), list: new Set(), str: new Set() };
  for (const one of named) {
    if (one?.name !== 'dict' && one?.name !== 'list' && one?.name !== 'str') return undefined;
    const { name, settings } = one;
    if (settings.some((option) => !OPTIONS[name].includes(option))) return undefined;
    result[name] = new Set(settings);
  }
  return result;
}

function splitCall(text: string): { readonly name: string; readonly settings: readonly string[] } | undefined {
  const [, name = '', inner = ''] = /^\s?([a-z]{1,10})\(([a-z_, ]*)\)\s?$/.exec(text) ?? [];
  const settings = inner
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
  return name === '' ? undefined : { name, settings };
}

/**
 * The value of two configurations, as cloud-init merges them.
 *
 * @param lose called with the path of a value that another one replaces, or that has no effect
 */
export function mergedConfig(
  old: unknown,
  added: unknown,
  mergers: Mergers,
  lose: (path: readonly string[]) => void,
  path: readonly string[] = [],
): unknown {
  if (isMap(old) && isMap(added)) return mergedMaps(old, added, mergers, lose, path);
  if (Array.isArray(old)) return mergedLists(old, added, mergers, lose, path);
  if (typeof old === 'string' && typeof added === 'string' && mergers.str.has('append')) return old + added;
  lose(path);
  return mergers.str.has('no_replace') && typeof old === 'string' ? old : added;
}

function mergedMaps(
  old: Readonly<Record<string, unknown>>,
  added: Readonly<Record<string, unknown>>,
  mergers: Mergers,
  lose: (path: readonly string[]) => void,
  path: readonly string[],
): unknown {
  const result = new Map(Object.entries(old));
  const replaces = mergers.dict.has('replace');
  for (const [key, value] of Object.entries(added)) {
    const below = [...path, key];
    const before = result.get(key);
    if (!result.has(key)) result.set(key, value);
    else if (value === null && mergers.dict.has('allow_delete')) result.delete(key);
    else if (!replaces && recurses(value, mergers.dict)) {
      result.set(key, mergedConfig(before, value, mergers, lose, below));
    } else {
      lose(below);
      if (replaces) result.set(key, value);
    }
  }
  return Object.fromEntries(result);
}

/** Maps are always merged (m_dict.py and m_list.py, `_recurse_dict`), lists and texts where the setting says so. */
function recurses(value: unknown, settings: ReadonlySet<string>): boolean {
  if (Array.isArray(value)) return settings.has('recurse_array') || settings.has('recurse_list');
  return typeof value === 'string' ? settings.has('recurse_str') : isMap(value);
}

function mergedLists(
  old: readonly unknown[],
  added: unknown,
  mergers: Mergers,
  lose: (path: readonly string[]) => void,
  path: readonly string[],
): unknown {
  const { list } = mergers;
  if (!Array.isArray(added)) {
    lose(path);
    return list.has('no_replace') ? old : added;
  }
  if (list.has('append')) return [...old, ...(added as readonly unknown[])];
  if (list.has('prepend')) return [...(added as readonly unknown[]), ...old];
  lose(path);
  return old.map((item, index) => {
    if (index >= added.length || list.has('no_replace')) return item;
    const other: unknown = added[index];
    return recurses(other, list) ? mergedConfig(item, other, mergers, () => undefined, path) : other;
  });
}
