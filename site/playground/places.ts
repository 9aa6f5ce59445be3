import type { Diagnostic, Place } from '@machineadm/document/diagnostics/index.ts';
import type { Tree } from '@machineadm/document/trees/tree.ts';
import { parseYaml } from '@machineadm/document/yaml/parse.ts';

/** A place in a text, counted from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

interface InputPart {
  /** `KubeadmConfig clusters/a`, as the converter calls it; the name of the input for user data. */
  readonly title: string;
  readonly tree: Tree;
  /** Lines before the YAML document that the tree was parsed from. */
  readonly before: number;
}

/**
 * Finds the places that the converter names in its input: `KubeadmConfig clusters/a: spec.files[0].path`, also inside of a
 * YAML text that the object holds (`… additionalConfig: systemd.units[0]`), or `input:12` for a line.
 */
export class InputPlaces {
  readonly #name: string;
  readonly #parts: readonly InputPart[];
  readonly #lines: readonly string[];

  constructor(name: string, text: string) {
    this.#name = name;
    this.#lines = text.split('\n');
    this.#parts = partsOf(name, text);
  }

  /** The place of the nearest part that exists; the beginning of the text where nothing of it does. */
  find(at: string): TextPlace {
    const line = at.startsWith(`${this.#name}:`) ? Number(at.slice(this.#name.length + 1)) : Number.NaN;
    if (Number.isInteger(line) && line > 0) return { line: Math.min(line, this.#lines.length), column: 1 };
    const matching = this.#parts.filter(({ title }) => at === title || at.startsWith(`${title}: `));
    const [part] = matching.sort((a, b) => b.title.length - a.title.length);
    if (part === undefined) return { line: 1, column: 1 };
    const paths = at === part.title ? [] : at.slice(part.title.length + 2).split(': ');
    return this.#findIn(part.tree, part.before, paths);
  }

  #findIn(tree: Tree, before: number, [path, ...inner]: readonly string[]): TextPlace {
    const { place, value } = walk(tree, segmentsOf(path ?? ''));
    const found = { line: place.line + before, column: place.column };
    if (value?.kind !== 'scalar' || typeof value.value !== 'string' || inner.length === 0) return found;
    // Only the lines of a literal block are those of the text within.
    const first = value.at.line + before;
    if (this.#lines[first - 1]?.[value.at.column - 1] !== '|') return found;
    const text = parsed(value.value);
    if (text === undefined) return found;
    const within = this.#findIn(text, 0, inner);
    const line = first + within.line;
    return { line, column: (this.#lines[line - 1]?.search(/\S/) ?? 0) + 1 };
  }
}

function parsed(text: string): Tree | undefined {
  const problems: Diagnostic[] = [];
  return parseYaml('', text, problems);
}

function partsOf(name: string, text: string): readonly InputPart[] {
  const parts: InputPart[] = [];
  let before = 0;
  for (const piece of text.split(/^(?=---(?:\s|$))/m)) {
    const tree = parsed(piece);
    for (const one of tree === undefined ? [] : objectsOf(tree)) {
      parts.push({ title: titleOf(one) ?? name, tree: one, before });
    }
    before += piece.split('\n').length - 1;
  }
  return parts;
}

/** The objects of a List, or the object itself. */
function objectsOf(tree: Tree): readonly Tree[] {
  const items = property(tree, 'items');
  return textOf(property(tree, 'kind')) === 'List' && items?.kind === 'list' ? items.items.flatMap(objectsOf) : [tree];
}

/** Undefined for what is no object of the Kubernetes API. */
function titleOf(tree: Tree): string | undefined {
  const kind = textOf(property(tree, 'kind'));
  if (kind === undefined || textOf(property(tree, 'apiVersion')) === undefined) return undefined;
  const metadata = property(tree, 'metadata');
  const namespace = textOf(property(metadata, 'namespace'));
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${textOf(property(metadata, 'name')) ?? 'unnamed'}`;
}

function property(tree: Tree | undefined, key: string): Tree | undefined {
  return tree?.kind === 'map' ? tree.entries.get(key)?.value : undefined;
}

function textOf(tree: Tree | undefined): string | undefined {
  return tree?.kind === 'scalar' && typeof tree.value === 'string' ? tree.value : undefined;
}

/** The keys and indexes of a path such as `host.files[2]["a b"]`. */
function segmentsOf(path: string): readonly (string | number)[] {
  const segments: (string | number)[] = [];
  for (const [, word, index, quoted] of path.matchAll(/\.?([A-Za-z_][\w-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)) {
    if (word !== undefined) segments.push(word);
    else if (index !== undefined) segments.push(Number(index));
    else segments.push(String(JSON.parse(quoted ?? '""')));
  }
  return segments;
}

/** The key or item at a path, or the last that exists on the way to it, and its value where the whole path exists. */
function walk(tree: Tree, segments: readonly (string | number)[]): { readonly place: Place; readonly value?: Tree } {
  let place = tree.at;
  let value = tree;
  for (const segment of segments) {
    const entry = value.kind === 'map' ? value.entries.get(String(segment)) : undefined;
    const item = value.kind === 'list' && typeof segment === 'number' ? value.items[segment] : undefined;
    const next: Tree | undefined = entry?.value ?? item;
    if (next === undefined) return { place };
    place = entry?.keyAt ?? next.at;
    value = next;
  }
  return { place, value };
}
