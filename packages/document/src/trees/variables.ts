import { choices, type Finding, nearestName, type PathSegment } from '../diagnostics/index.ts';
import { isPlainWord } from '../text/quotable.ts';
import type { Tree } from './tree.ts';

/** The source of a variable's value. */
export type VariableSource =
  | { readonly kind: 'value'; readonly value: string }
  | { readonly kind: 'env'; readonly variable: string }
  /** A key in a file of KEY=value lines, as written by afterburn and Flatcar. */
  | { readonly kind: 'envFile'; readonly path: string; readonly key: string }
  | { readonly kind: 'file'; readonly path: string }
  /** A dotted path into cloud-init's instance data: `ds.meta_data.rack`, `v1.instance_id`. */
  | { readonly kind: 'instanceData'; readonly path: string }
  | { readonly kind: 'metadata'; readonly provider: MetadataProvider; readonly path: string };

export type MetadataProvider = 'aws' | 'gcp' | 'azure' | 'openstack';

/**
 * Resolves a variable. Passed by the caller, because this room has no side effects. `value` is undefined for a missing
 * one; `known` lists the existing ones of the same source.
 */
export type VariableResolver = (
  name: string,
  source: VariableSource,
) => Promise<{ readonly value: string | undefined; readonly known?: readonly string[] }>;

/** Variables may repeat long values; more text than this is a mistake or an attack. */
const MOST_EXPANDED = 8 * 1024 * 1024;

/** `${name}`; `$${name}` stands for the text `${name}`. */
const REFERENCE = /\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

export interface Expansion {
  readonly tree: Tree;
  readonly findings: readonly Finding[];
  /** Paths with an unknown text, because no resolver was given: their format must not be checked. */
  readonly unknown: readonly (readonly PathSegment[])[];
}

/**
 * Replaces `${name}` by the values of variables in the strings that `allowed` names; elsewhere such text is literal.
 * Values are inserted as they are: they are never parsed as YAML or expanded again. In shell text, a value is refused
 * if the shell would interpret it: an answer of a metadata service must not become a command of root. Without a
 * resolver only variables with a literal value are replaced.
 */
export async function expandVariables(
  tree: Tree,
  sources: ReadonlyMap<string, VariableSource>,
  allowed: (path: readonly PathSegment[]) => 'text' | 'shell' | undefined,
  resolve: VariableResolver | undefined,
): Promise<Expansion> {
  const findings: Finding[] = [];
  const unknown: (readonly PathSegment[])[] = [];
  const values = new Map<string, Promise<string | undefined>>();
  let inserted = 0;

  const lookUp = (name: string, source: VariableSource, path: readonly PathSegment[]): Promise<string | undefined> => {
    const known = values.get(name);
    if (known !== undefined) return known;
    const found = find(name, source, path);
    values.set(name, found);
    return found;
  };
  const find = async (name: string, source: VariableSource, path: readonly PathSegment[]) => {
    if (source.kind === 'value') return source.value;
    if (resolve === undefined) return undefined;
    const { value, known } = await resolve(name, source);
    if (value === undefined) {
      const exists =
        known === undefined || known.length === 0 ? 'nothing is there' : `there is ${choices(known, name)}`;
      findings.push({
        code: 'UnknownReference',
        path,
        message: `the variable "${name}" has no value: ${describe(source)} does not exist`,
        hint: exists,
      });
    }
    return value;
  };
  const expand = async (text: string, path: readonly PathSegment[]): Promise<string> => {
    let expanded = '';
    let end = 0;
    for (const match of text.matchAll(REFERENCE)) {
      const [whole, name = ''] = match;
      expanded += text.slice(end, match.index);
      end = match.index + whole.length;
      if (whole.startsWith('$$')) {
        expanded += whole.slice(1);
        continue;
      }
      const source = sources.get(name);
      if (source === undefined) {
        findings.push({ path, ...missing(name, [...sources.keys()]) });
        unknown.push(path);
        continue;
      }
      const value = await lookUp(name, source, path);
      if (value === undefined) unknown.push(path);
      inserted += value?.length ?? 0;
      if (inserted > MOST_EXPANDED) {
        const message = 'the values of variables make the document larger than 8 MiB';
        if (inserted - (value?.length ?? 0) <= MOST_EXPANDED)
          findings.push({ code: 'InvalidValue', path, message, hint: 'use files' });
        return '';
      }
      if (value !== undefined && source.kind !== 'value' && allowed(path) === 'shell' && !isShellSafe(value))
        findings.push(interpreted(name, path));
      expanded += value ?? whole;
    }
    return expanded + text.slice(end);
  };
  const walk = async (node: Tree, path: readonly PathSegment[]): Promise<Tree> => {
    switch (node.kind) {
      case 'scalar':
        if (typeof node.value !== 'string' || !node.value.includes('${') || allowed(path) === undefined) return node;
        return { ...node, value: await expand(node.value, path) };
      case 'list': {
        const items: Tree[] = [];
        for (const [index, item] of node.items.entries()) items.push(await walk(item, [...path, index]));
        return { ...node, items };
      }
      case 'map': {
        const entries = new Map(node.entries);
        for (const [key, entry] of node.entries) {
          entries.set(key, { ...entry, value: await walk(entry.value, [...path, key]) });
        }
        return { ...node, entries };
      }
    }
  };
  return { tree: await walk(tree, []), findings, unknown };
}

/** No character that sh, bash, PowerShell or cmd interpret, in any position. */
function isShellSafe(value: string): boolean {
  return /^[A-Za-z0-9_.,:/@+=-]*$/.test(value) && !value.startsWith('-');
}

function interpreted(name: string, path: readonly PathSegment[]): Finding {
  return {
    path,
    message: `the value of the variable "${name}" has a character that a shell interprets`,
    hint: `set an environment variable to it (environment: {VALUE: $\{${name}}}) and write "$VALUE" in the command`,
  };
}

/** The name is quoted if it is a word; any other is found at the place given. */
function missing(name: string, known: readonly string[]): Pick<Finding, 'code' | 'message' | 'hint'> {
  const near = nearestName(name, known);
  if (near !== undefined)
    return { code: 'UnknownReference', message: `there is no variable "${name}"`, hint: `did you mean "${near}"?` };
  const hint = known.length === 0 ? 'add it under "variables"' : `"variables" has ${choices(known, name)}`;
  const message = isPlainWord(name) ? `there is no variable "${name}"` : 'there is no variable of this name';
  return { code: 'UnknownReference', message, hint };
}

function describe(source: VariableSource): string {
  switch (source.kind) {
    case 'value':
      return 'its value';
    case 'env':
      return `the environment variable ${source.variable}`;
    case 'envFile':
      return `${source.key} in ${source.path}`;
    case 'file':
      return source.path;
    case 'instanceData':
      return `${source.path} in cloud-init's instance data`;
    case 'metadata':
      return `${source.path} at the metadata service of ${source.provider}`;
  }
}
