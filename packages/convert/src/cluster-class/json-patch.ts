import { isMap } from '../values/map.ts';

/** A patch that cannot be applied, and why. Cluster API refuses the whole topology then. */
export class PatchError extends Error {}

/** An operation of RFC 6902, of those that a ClusterClass may have. */
export interface Operation {
  readonly op: 'add' | 'replace' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

/** The document after an operation, as github.com/evanphx/json-patch applies it: no parent is created. */
export function applyOperation(document: unknown, operation: Operation): unknown {
  const { path } = operation;
  if (!path.startsWith('/')) throw new PatchError('a path that does not begin with "/"');
  const names = path
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  return changed(document, names, operation);
}

function changed(value: unknown, [name = '', ...below]: readonly string[], operation: Operation): unknown {
  if (Array.isArray(value)) return changedList(value, name, below, operation);
  if (!isMap(value)) throw missing(operation);
  const isThere = Object.hasOwn(value, name);
  if (below.length > 0) {
    if (!isThere) throw missing(operation);
    return { ...value, [name]: changed(value[name], below, operation) };
  }
  if (operation.op !== 'add' && !isThere) throw missing(operation);
  if (operation.op !== 'remove') return { ...value, [name]: operation.value };
  return Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));
}

function changedList(
  list: readonly unknown[],
  name: string,
  below: readonly string[],
  operation: Operation,
): readonly unknown[] {
  const isAdded = below.length === 0 && operation.op === 'add';
  const index = isAdded && name === '-' ? list.length : /^(?:0|[1-9]\d*)$/.test(name) ? Number(name) : -1;
  if (index < 0 || index > (isAdded ? list.length : list.length - 1)) throw missing(operation);
  if (below.length > 0) return list.with(index, changed(list[index], below, operation));
  if (isAdded) return list.toSpliced(index, 0, operation.value);
  return operation.op === 'remove' ? list.toSpliced(index, 1) : list.with(index, operation.value);
}

function missing({ op, path }: Operation): PatchError {
  return new PatchError(`${op} ${path}: there is no such path`);
}
