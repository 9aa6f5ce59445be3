import type { JsonSchema } from '@machineadm/document/sections/conditions.ts';
import { all, any, given, has, is, not, text, VARIABLE, when } from '@machineadm/document/sections/conditions.ts';

const LOOPBACK = /^http:\/\/(?:[^/?#@]*@)?(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d*)?(?:[/?#]|$)/;

/** A request whose answer is a secret needs TLS, unless the document permits it or nobody else can listen. */
export function secretOverTls(field: string): JsonSchema {
  return when(given(field, all(text(/^http:\/\//), not(VARIABLE), not(text(LOOPBACK)))), is('allowInsecure', true));
}

/** The same for a request that shows credentials: in its headers or its URL. */
export function credentialsOverTls(field: string): JsonSchema {
  const credentials = any(
    given('headers', { type: 'object', minProperties: 1 }),
    given(field, text(/^http:\/\/[^/?#@]+@/)),
  );
  return when(all(has(field), credentials), secretOverTls(field));
}
