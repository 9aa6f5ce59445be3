import type { TomlTable, TomlValue } from '@machineadm/document/model/index.ts';
import { Verbatim } from '@machineadm/document/values/verbatim.ts';

/** A scalar or array of a TOML tree, with its key path. */
export interface Leaf {
  readonly path: readonly string[];
  readonly value: TomlValue;
}

export function isTable(value: TomlValue | undefined): value is TomlTable {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Verbatim);
}

/** Merges tables key by key and replaces everything else: `over` takes precedence. */
export function mergeTables(base: TomlTable, over: TomlTable): TomlTable {
  const merged: Record<string, TomlValue> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = Object.hasOwn(base, key) ? base[key] : undefined;
    merged[key] = isTable(before) && isTable(value) ? mergeTables(before, value) : value;
  }
  return merged;
}

export function valueAt(table: TomlTable, path: readonly string[]): TomlValue | undefined {
  let value: TomlValue | undefined = table;
  for (const key of path) {
    if (!isTable(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

export function tableAt(table: TomlTable, path: readonly string[]): TomlTable {
  const value = valueAt(table, path);
  return isTable(value) ? value : {};
}

export function stringAt(table: TomlTable, path: readonly string[]): string | undefined {
  const value = valueAt(table, path);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function stringsAt(table: TomlTable, path: readonly string[]): readonly string[] {
  const value = valueAt(table, path);
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

export function leavesOf(table: TomlTable, path: readonly string[] = []): readonly Leaf[] {
  return Object.entries(table).flatMap(([key, value]): readonly Leaf[] =>
    isTable(value) ? leavesOf(value, [...path, key]) : [{ path: [...path, key], value }],
  );
}

/** In TOML's notation: `plugins."io.containerd.grpc.v1.cri".sandbox_image`. */
export function dottedKey(path: readonly string[]): string {
  return path.map((key) => (/^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key))).join('.');
}

/** One key, or none without a value. */
export function defined(key: string, value: TomlValue | undefined): TomlTable {
  return value === undefined ? {} : { [key]: value };
}

/** One table, or none where it would be empty. */
export function table(key: string, content: TomlTable): TomlTable {
  return Object.keys(content).length === 0 ? {} : { [key]: content };
}

export function without(content: TomlTable, keys: readonly string[]): TomlTable {
  return Object.fromEntries(Object.entries(content).filter(([key]) => !keys.includes(key)));
}

/** Equal tables, with keys in any order. */
export function sameTables(a: TomlTable, b: TomlTable): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

/** Equal values; numbers as written. */
export function same(a: TomlValue | undefined, b: TomlValue | undefined): boolean {
  if (isTable(a) && isTable(b)) return sameTables(a, b);
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item: TomlValue, index) => same(item, b[index]));
  }
  return a instanceof Verbatim && b instanceof Verbatim ? a.text === b.text : a === b;
}
