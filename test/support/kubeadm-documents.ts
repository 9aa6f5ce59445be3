import assert from 'node:assert/strict';
import { parseAllDocuments } from 'yaml';

export type Tree = Record<string, unknown>;

/** Documents by kind, without the empty structures that Go's marshalling leaves behind. */
export function byKind(text: string): Map<string, Tree> {
  return new Map(
    parseAllDocuments(text).map((document) => {
      const tree = withoutEmpty(document.toJS());
      assert.ok(isTree(tree) && typeof tree.kind === 'string');
      return [tree.kind, tree];
    }),
  );
}

/** `controlPlane` stays even when empty: its presence says what kind of join it is. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (!isTree(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, withoutEmpty(item)] as const)
      .filter(([key, item]) => key === 'controlPlane' || !isEmpty(item)),
  );
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (isTree(value) && Object.keys(value).length === 0);
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function valueAt(tree: Tree, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isTree(value) ? value[key] : undefined), tree);
}

export function setAt(tree: Tree, path: readonly string[], value: unknown): void {
  const parent = valueAt(tree, path.slice(0, -1));
  const last = path.at(-1);
  assert.ok(isTree(parent) && last !== undefined);
  parent[last] = value;
}
