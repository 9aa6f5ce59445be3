import { Verbatim } from '@machineadm/document/verbatim.ts';

/** A mapping of an input; no bytes, and no number that is kept as it was written. */
export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !ArrayBuffer.isView(value) && !(value instanceof Verbatim);
}
