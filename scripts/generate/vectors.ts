import { CONTROL_PLANE_VECTORS } from './vectors/control-plane.ts';
import { HOST_VECTORS } from './vectors/host.ts';
import { KUBERNETES_VECTORS } from './vectors/kubernetes.ts';
import { REPORTING_VECTORS } from './vectors/reporting.ts';
import { RUNTIME_VECTORS } from './vectors/runtime.ts';
import { MARK, type Source } from './vectors/source.ts';
import { TEXT_VECTORS } from './vectors/text.ts';
import { TYPE_VECTORS } from './vectors/types.ts';
import { VARIABLE_VECTORS } from './vectors/variables.ts';

/** A document with what must be said of it: `contract/vectors/README.md`. */
export interface Vector {
  readonly name: string;
  readonly document: string;
  readonly verdict: 'valid' | 'invalid';
  /** What a JSON Schema says: the same, or nothing, because it cannot judge that. */
  readonly schema: 'valid' | 'invalid' | 'cannot judge';
  /** A problem that is reported, perhaps beside others. Lines and columns count from 1. */
  readonly problem?: { readonly code: string; readonly line: number; readonly column: number };
}

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: node-1}\n';

/** Every vector, by the file below contract/vectors that holds it. */
export function vectors(): Readonly<Record<string, readonly Vector[]>> {
  return {
    'text.json': TEXT_VECTORS.map((source) => toVector(source, '')),
    'types.json': TYPE_VECTORS.map((source) => toVector(source, HEADER)),
    'variables.json': VARIABLE_VECTORS.map((source) => toVector(source, HEADER)),
    'host.json': HOST_VECTORS.map((source) => toVector(source, HEADER)),
    'runtime.json': RUNTIME_VECTORS.map((source) => toVector(source, HEADER)),
    'kubernetes.json': KUBERNETES_VECTORS.map((source) => toVector(source, HEADER)),
    'control-plane.json': CONTROL_PLANE_VECTORS.map((source) => toVector(source, HEADER)),
    'reporting.json': REPORTING_VECTORS.map((source) => toVector(source, HEADER)),
  };
}

/** The mark in the text is where the problem stands. */
function toVector({ name, code, text, judgeable }: Source, header: string): Vector {
  const marked = `${header}${text}\n`;
  const document = marked.replace(MARK, '');
  if (code === undefined) return { name, document, verdict: 'valid', schema: 'valid' };
  const before = marked.slice(0, marked.indexOf(MARK)).split('\n');
  if (before.length === 1 && !marked.includes(MARK)) throw new TypeError(`${name}: no mark`);
  const problem = { code, line: before.length, column: (before.at(-1) ?? '').length + 1 };
  return { name, document, verdict: 'invalid', schema: judgeable ? 'invalid' : 'cannot judge', problem };
}
