import type { SecretValue } from '../secrets/secret.ts';
import { parseDuration } from '../text/units.ts';
import type { SecretField } from './types.ts';

/** Turns a field that holds a secret into where its value comes from. `path` names a secret written in place. */
export type ResolveSecret = (field: SecretField, path: string) => SecretValue;

/** Header values may be secrets: an Authorization is one. */
export function headersOf(
  headers: Readonly<Record<string, SecretField>> | undefined,
  resolve: ResolveSecret,
  owner: string,
): Readonly<Record<string, SecretValue>> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, field]) => [name, resolve(field, `${owner} header ${name}`)]),
  );
}

/** Milliseconds of a duration that the schema accepted. */
export function milliseconds(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseDuration(text);
}
