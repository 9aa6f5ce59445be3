import { CONTROL_PLANE_VECTORS } from './vectors/control-plane.ts';
import { HOST_VECTORS } from './vectors/host.ts';
import { KUBERNETES_VECTORS } from './vectors/kubernetes.ts';
import { REPORTING_VECTORS } from './vectors/reporting.ts';
import { RUNTIME_VECTORS } from './vectors/runtime.ts';
import { MARK, type Source } from './vectors/source.ts';
import { TEXT_VECTORS } from './vectors/text.ts';
import { TYPE_VECTORS } from './vectors/types.ts';
import { VARIABLE_VECTORS } from './vectors/variables.ts';

/** A document with the expected result of its validation: `contract/vectors/README.md`. */
export interface Vector {
  readonly name: string;
  readonly document: string;
  readonly verdict: 'valid' | 'invalid';
  /** The result of validation with the JSON Schema: the same, or `cannot judge` if it cannot check the rule. */
  readonly schema: 'valid' | 'invalid' | 'cannot judge';
  /** A problem that must be reported. Others may be reported as well. Lines and columns count from 1. */
  readonly problem?: { readonly code: string; readonly line: number; readonly column: number };
}

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: node-1}\n';

/** Every vector, by its file below contract/vectors. */
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

/** Removes the mark from the text. Its position is that of the problem. */
function toVector({ name, code, text, judgeable }: Source, header: string): Vector {
  const marked = `${header}${text}\n`;
  const document = marked.replace(MARK, '');
  if (code === undefined) return { name, document, verdict: 'valid', schema: 'valid' };
  const before = marked.slice(0, marked.indexOf(MARK)).split('\n');
  if (before.length === 1 && !marked.includes(MARK)) throw new TypeError(`${name}: no mark`);
  const problem = { code, line: before.length, column: (before.at(-1) ?? '').length + 1 };
  return { name, document, verdict: 'invalid', schema: judgeable ? 'invalid' : 'cannot judge', problem };
}
