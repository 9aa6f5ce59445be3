import type { Secret, SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';

/** Looks a resolved secret up. */
export type SecretLookup = (value: SecretValue) => string;

/**
 * Resolves secrets now, for the pure functions that need their values: what comes back looks up what was resolved.
 * undefined: one of them has effects to find out, and this machine may only be asked.
 *
 * @throws MachineadmError `SecretUnavailable`
 */
export async function resolveSecrets(host: Host, wanted: Iterable<SecretValue>): Promise<SecretLookup>;
export async function resolveSecrets(host: QueryHost, wanted: Iterable<SecretValue>): Promise<SecretLookup | undefined>;
export async function resolveSecrets(
  host: QueryHost,
  wanted: Iterable<SecretValue>,
): Promise<SecretLookup | undefined> {
  const resolved = new Map<SecretValue, Secret>();
  for (const value of wanted) {
    if (resolved.has(value)) continue;
    const secret = await host.secret(value);
    if (secret === undefined) return undefined;
    resolved.set(value, secret);
  }
  return (value) => {
    const secret = resolved.get(value);
    if (secret === undefined) throw new Error(`the secret ${value.name} was not resolved beforehand`);
    return secret.reveal();
  };
}
