import { Verbatim } from '@machineadm/document/verbatim.ts';

/** A mapping of an input, as opposed to bytes and verbatim numbers. */
export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !ArrayBuffer.isView(value) && !(value instanceof Verbatim);
}
