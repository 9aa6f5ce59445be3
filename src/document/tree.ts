import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments, type YAMLMap } from 'yaml';
import type { Diagnostic, PathSegment, Place } from './diagnostics.ts';
import { formatPath } from './diagnostics.ts';

/** A parsed document that remembers where each part stands; several sources merge into one. */
export type Tree = MapTree | ListTree | ScalarTree;

export interface MapTree {
  readonly kind: 'map';
  readonly at: Place;
  readonly entries: ReadonlyMap<string, { readonly keyAt: Place; readonly value: Tree }>;
}

export interface ListTree {
  readonly kind: 'list';
  readonly at: Place;
  readonly items: readonly Tree[];
}

export interface ScalarTree {
  readonly kind: 'scalar';
  readonly at: Place;
  readonly value: string | number | boolean | null;
}

/** Aliases may repeat parts of a document; past this many nodes it is an attack or a mistake ("billion laughs"). */
const MAX_NODES = 200_000;
/** Deeper than any document: what lies deeper would exhaust the stack of everything that walks it. */
const MAX_DEPTH = 200;

/**
 * Parses one source as YAML 1.2 core (JSON is a subset of it). Every problem is added to `problems`; the tree is
 * undefined when nothing useful could be read.
 */
export function parseTree(file: string, text: string, problems: Diagnostic[]): Tree | undefined {
  const counter = new LineCounter();
  const documents = parseAllDocuments(text, {
    version: '1.2',
    schema: 'core',
    lineCounter: counter,
    prettyErrors: false,
  });
  const place = (offset: number): Place => {
    const { line, col } = counter.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const problem = (offset: number, path: readonly PathSegment[], message: string, hint?: string) => {
    problems.push({ place: place(offset), path: formatPath(path), message, hint });
  };
  if (!Array.isArray(documents) || documents[0] === undefined || documents[0].contents === null) {
    problem(0, [], 'the document is empty', '`machineadm example --role Worker` prints one to start from');
    return undefined;
  }
  const [document, second] = documents;
  for (const error of [...document.errors, ...document.warnings]) {
    // Duplicate keys are found below, where the path is known.
    if (error.code === 'DUPLICATE_KEY') continue;
    // The parser reports its own exhausted stack as one mistake or several of the text.
    if (/stack/i.test(error.message)) {
      problem(error.pos[0], [], 'nested too deeply');
      return undefined;
    }
    problem(error.pos[0], [], `not YAML: ${firstLine(error.message)}`, yamlHint(error.code));
  }
  if (second !== undefined) {
    problem(
      second.range[0],
      [],
      'more than one YAML document in one source',
      'merge them, or give each in its own file',
    );
  }
  if (document.errors.some((error) => error.code !== 'DUPLICATE_KEY')) return undefined;

  let nodes = 0;
  let tooDeep = false;
  /** The maps and lists around the part that is walked. */
  const around = new Set<Node>();
  const walk = (node: Node | null | undefined, offset: number, path: readonly PathSegment[]): Tree => {
    nodes++;
    const start = node?.range?.[0] ?? offset;
    const nothing: Tree = { kind: 'scalar', at: place(start), value: null };
    if (path.length > MAX_DEPTH) {
      if (!tooDeep) problem(start, path.slice(0, 3), 'nested too deeply');
      tooDeep = true;
      return nothing;
    }
    if (nodes > MAX_NODES) {
      if (nodes === MAX_NODES + 1) problem(start, path, 'the document expands to too many parts', 'remove aliases');
      return nothing;
    }
    if (isAlias(node)) {
      const target = node.resolve(document);
      if (target === undefined || !around.has(target)) return walk(target, start, path);
      problem(start, path, `the alias *${node.source} stands inside of what it names`, 'write out what is meant');
      return nothing;
    }
    if (isMap(node) || isSeq(node)) {
      around.add(node);
      const tree: Tree = isMap(node)
        ? { kind: 'map', at: place(start), entries: walkMap(node, start, path) }
        : {
            kind: 'list',
            at: place(start),
            items: node.items.map((item, index) => walk(nodeOf(item), start, [...path, index])),
          };
      around.delete(node);
      return tree;
    }
    const value: unknown = isScalar(node) ? node.value : null;
    if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      return { kind: 'scalar', at: place(start), value };
    }
    problem(start, path, 'a value of a type that JSON does not have', 'write it as a string in quotes');
    return { kind: 'scalar', at: place(start), value: null };
  };
  const walkMap = (map: YAMLMap, offset: number, path: readonly PathSegment[]): MapTree['entries'] => {
    const entries = new Map<string, { keyAt: Place; value: Tree }>();
    for (const pair of map.items) {
      const key = nodeOf(pair.key);
      const keyOffset = key?.range?.[0] ?? offset;
      const name = isScalar(key) ? key.value : undefined;
      if (typeof name !== 'string') {
        problem(keyOffset, path, 'a key that is not a string', 'write the key in quotes');
        continue;
      }
      const first = entries.get(name);
      if (first !== undefined) {
        problem(
          keyOffset,
          [...path, name],
          'the key is given twice',
          `it is first given in line ${first.keyAt.line}; keep one`,
        );
        continue;
      }
      entries.set(name, { keyAt: place(keyOffset), value: walk(nodeOf(pair.value), keyOffset, [...path, name]) });
    }
    return entries;
  };
  return walk(document.contents, 0, []);
}

function nodeOf(value: unknown): Node | undefined {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value) ? value : undefined;
}

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? message).replace(/[.:]$/, '');
}

function yamlHint(code: string): string | undefined {
  if (code === 'TAB_AS_INDENT') return 'indent with spaces';
  if (code === 'BAD_INDENT') return 'indent the entries of one map alike';
  if (code === 'TAG_RESOLVE_FAILED') return 'remove the tag: only plain YAML 1.2 types are read';
  return undefined;
}

/** Lays a later source over an earlier one: maps merge key by key, anything else replaces, null removes. */
export function mergeTrees(base: MapTree, over: MapTree): MapTree;
export function mergeTrees(base: Tree, over: Tree): Tree;
export function mergeTrees(base: Tree, over: Tree): Tree {
  if (base.kind !== 'map' || over.kind !== 'map') return over;
  const entries = new Map(base.entries);
  for (const [key, entry] of over.entries) {
    const existing = entries.get(key);
    if (entry.value.kind === 'scalar' && entry.value.value === null && existing !== undefined) entries.delete(key);
    else if (existing === undefined) entries.set(key, entry);
    else entries.set(key, { keyAt: entry.keyAt, value: mergeTrees(existing.value, entry.value) });
  }
  return { kind: 'map', at: base.at, entries };
}

/** The tree as plain data. */
export function toPlain(tree: Tree): unknown {
  switch (tree.kind) {
    case 'scalar':
      return tree.value;
    case 'list':
      return tree.items.map(toPlain);
    case 'map':
      return Object.fromEntries([...tree.entries].map(([key, entry]) => [key, toPlain(entry.value)]));
  }
}

/** Where the value at a path stands; for a path that is not there, the nearest part above it. */
export function placeOf(tree: Tree, path: readonly PathSegment[]): Place {
  let current: Tree = tree;
  for (const segment of path) {
    const next: Tree | undefined =
      current.kind === 'map' && typeof segment === 'string'
        ? current.entries.get(segment)?.value
        : current.kind === 'list' && typeof segment === 'number'
          ? current.items[segment]
          : undefined;
    if (next === undefined) return current.at;
    current = next;
  }
  return current.at;
}

/** Where a key stands inside the map at a path. */
export function placeOfKey(tree: Tree, path: readonly PathSegment[], key: string): Place {
  let current: Tree | undefined = tree;
  for (const segment of path) {
    if (current?.kind === 'map' && typeof segment === 'string') current = current.entries.get(segment)?.value;
    else if (current?.kind === 'list' && typeof segment === 'number') current = current.items[segment];
    else current = undefined;
  }
  const entry = current?.kind === 'map' ? current.entries.get(key) : undefined;
  return entry?.keyAt ?? placeOf(tree, path);
}

/** Every leaf with its path and place, in document order: what `config show --origin` prints. */
export function leaves(
  tree: Tree,
): { readonly path: string; readonly value: ScalarTree['value'] | []; readonly at: Place }[] {
  const found: { path: string; value: ScalarTree['value'] | []; at: Place }[] = [];
  const visit = (node: Tree, path: readonly PathSegment[]) => {
    if (node.kind === 'scalar') found.push({ path: formatPath(path), value: node.value, at: node.at });
    else if (node.kind === 'list') {
      if (node.items.length === 0) found.push({ path: formatPath(path), value: [], at: node.at });
      node.items.forEach((item, index) => {
        visit(item, [...path, index]);
      });
    } else {
      for (const [key, entry] of node.entries) visit(entry.value, [...path, key]);
    }
  };
  visit(tree, []);
  return found;
}
