import { readText } from '../linux/read.ts';

/**
 * cloud-init: cloudinit/helpers.py (Paths) and doc/rtd/explanation/instance-data.rst; the first file is complete and
 * readable by root only.
 */
export const INSTANCE_DATA_PATHS: readonly string[] = [
  '/run/cloud-init/instance-data-sensitive.json',
  '/run/cloud-init/instance-data.json',
];

/** The placeholder of cloud-init for a value that the reader may not see. */
const REDACTED = /^redacted for non-root user$/;

export interface InstanceDataAnswer {
  readonly value: string | undefined;
  /** Dotted paths that exist at the deepest level that was reached. */
  readonly known: readonly string[];
}

/**
 * A value of cloud-init's instance data by its dotted path: `v1.local_hostname`, `ds.meta_data.rack`. As in
 * cloud-init's own templates (cloudinit/handlers/jinja_template.py) "-" and "_" in names are the same, and the
 * standardized names below `v1` may be used alone: `local_hostname`. A list or map has no value.
 */
export async function lookUpInstanceData(
  path: string,
  files: readonly string[] = INSTANCE_DATA_PATHS,
): Promise<InstanceDataAnswer> {
  for (const file of files) {
    const text = await readText(file);
    if (text === undefined) continue;
    return lookUp(parse(text), path);
  }
  return { value: undefined, known: [] };
}

/** The list is limited: some clouds put whole documents there. */
const MOST_PATHS = 500;

/** The dotted paths with a value in cloud-init's instance data, sorted; empty where this user may not read it. */
export async function instanceDataPaths(files: readonly string[] = INSTANCE_DATA_PATHS): Promise<readonly string[]> {
  for (const file of files) {
    const text = await readText(file).catch(() => undefined);
    if (text !== undefined) return leavesOf(parse(text), []).toSorted().slice(0, MOST_PATHS);
  }
  return [];
}

function leavesOf(node: unknown, reached: readonly string[]): readonly string[] {
  if (typeof node === 'string') return REDACTED.test(node) ? [] : [reached.join('.')];
  if (typeof node === 'number' || typeof node === 'boolean') return [reached.join('.')];
  // A variable cannot take a value from a list, nor from a name that contains a dot.
  if (node === null || typeof node !== 'object' || Array.isArray(node)) return [];
  return Object.entries(node).flatMap(([name, value]) =>
    name.includes('.') ? [] : leavesOf(value, [...reached, name]),
  );
}

/**
 * cloudbase-init leaves no instance data. But it sets the machine's host name before it reads user data
 * (cloudbaseinit/plugins/common/sethostname.py), so the name is known.
 */
export function hostNameAsInstanceData(hostname: string, path: string): InstanceDataAnswer {
  const name = hostname.toLowerCase();
  return lookUp({ v1: { local_hostname: name }, ds: { meta_data: { hostname: name, local_hostname: name } } }, path);
}

function lookUp(data: unknown, path: string): InstanceDataAnswer {
  const found = walk(data, path);
  return found.value === undefined && !path.startsWith('v1.') ? preferred(walk(data, `v1.${path}`), found) : found;
}

function preferred(alias: InstanceDataAnswer, direct: InstanceDataAnswer): InstanceDataAnswer {
  return alias.value === undefined ? direct : alias;
}

function walk(data: unknown, path: string): InstanceDataAnswer {
  let node = data;
  const reached: string[] = [];
  for (const name of path.split('.')) {
    const entry = childOf(node, name);
    if (entry === undefined) return { value: undefined, known: pathsBelow(node, reached) };
    reached.push(entry.name);
    node = entry.value;
  }
  if (typeof node === 'string' && !REDACTED.test(node)) return { value: node, known: [] };
  if (typeof node === 'number' || typeof node === 'boolean') return { value: String(node), known: [] };
  return { value: undefined, known: pathsBelow(node, reached) };
}

function childOf(node: unknown, wanted: string): { readonly name: string; readonly value: unknown } | undefined {
  if (node === null || typeof node !== 'object') return undefined;
  const same = (name: string): string => name.replaceAll('-', '_');
  const entries = Object.entries(node) as (readonly [string, unknown])[];
  const entry = entries.find(([name]) => name === wanted) ?? entries.find(([name]) => same(name) === same(wanted));
  return entry === undefined ? undefined : { name: entry[0], value: entry[1] };
}

function pathsBelow(node: unknown, reached: readonly string[]): readonly string[] {
  if (node === null || typeof node !== 'object') return [];
  return Object.keys(node).map((name) => [...reached, name].join('.'));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Truncated by a killed cloud-init: treated as unknown.
    return undefined;
  }
}
