import type { Node } from 'acorn';

/** A field of a node that is a node itself. */
export function child(node: Node, name: string): Node | undefined {
  const value: unknown = Reflect.get(node, name);
  return isNode(value) ? value : undefined;
}

/** A field of a node that is text; "" where it is not. */
export function stringField(node: Node | undefined, name: string): string {
  const value: unknown = node === undefined ? undefined : Reflect.get(node, name);
  return typeof value === 'string' ? value : '';
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** Visits a node and all its descendants, each with its parent. */
export function visit(node: Node, parent: Node | undefined, see: (node: Node, parent: Node | undefined) => void): void {
  see(node, parent);
  // Module specifiers are not values.
  if (/^(Import|ExportAll)/.test(node.type) && node.type !== 'ImportExpression') return;
  for (const value of Object.values(node)) {
    for (const one of Array.isArray(value) ? value : [value]) if (isNode(one)) visit(one, node, see);
  }
}
