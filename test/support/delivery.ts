import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import type { DeliveryContext } from '../../src/reporting/remote/remote-sink.ts';

/** A secret that is written down. */
export function literal(value: string, name = 'test'): SecretValue {
  return { name, source: { kind: 'value', secret: new Secret(value) } };
}

/** What a delivery of a test may use: secrets that are written down, and neither programs nor HTTP clients. */
export function deliveryContext(over: Partial<DeliveryContext> = {}): DeliveryContext {
  return {
    signal: AbortSignal.timeout(60_000),
    certificateAuthorities: [],
    http: () => Promise.reject(new TypeError('no HTTP client in this test')),
    secret: async ({ name, source }) => {
      if (source.kind !== 'value') throw new TypeError(`${name} is not written down`);
      return source.secret;
    },
    run: () => Promise.reject(new TypeError('no programs in this test')),
    clock: () => ({ time: Date.now(), sinceBootMs: 0 }),
    ...over,
  };
}
