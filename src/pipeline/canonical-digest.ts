import { createHash } from 'node:crypto';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';

/** The digest of a value with sorted keys, and with sets and maps as lists. `ofSecret`: what stands for a secret in it. */
export function canonicalDigest(value: unknown, ofSecret: (secret: Secret) => unknown): string {
  return sha256(JSON.stringify(canonical(value, ofSecret)) ?? 'undefined');
}

function canonical(value: unknown, ofSecret: (secret: Secret) => unknown): unknown {
  const inner = (one: unknown): unknown => canonical(one, ofSecret);
  if (value instanceof Secret) return ofSecret(value);
  if (value instanceof Uint8Array) return sha256(value);
  if (value instanceof Map || value instanceof Set) return [...value].map(inner);
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return value.map(inner);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, inner(value[key])]),
  );
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
