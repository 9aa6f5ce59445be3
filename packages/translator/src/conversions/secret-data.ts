import type { SecretObject } from '../cluster/objects.ts';
import { Kept } from '../handover/kept.ts';

/** The format of the Secret: cloud-config where it says nothing (cluster-api docs, bootstrap-config contract). */
export type SecretFormat = 'cloud-config' | 'ignition';

/** The format that a Secret names. Throws `Kept` for one that is neither of those that the provider writes. */
export function formatOf({ data }: SecretObject): SecretFormat {
  const format = decoded(data?.format) ?? 'cloud-config';
  if (format === 'cloud-config' || format === 'ignition') return format;
  throw new Kept('ConversionFailed', `the Secret's format is neither cloud-config nor ignition`);
}

/** Text in base64. */
export function decoded(base64: string | undefined): string | undefined {
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString('utf8');
}
