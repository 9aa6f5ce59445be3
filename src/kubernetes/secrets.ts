import type { Secret, SecretValue } from '../document/secret.ts';
import type { QueryHost } from '../host/host.ts';

/**
 * Resolves secrets now, for the pure functions that need their values: what comes back looks up what was resolved.
 *
 * @throws MachineadmError `SecretUnavailable`
 */
export async function resolveSecrets(
  host: QueryHost,
  wanted: Iterable<SecretValue>,
): Promise<(value: SecretValue) => string> {
  const resolved = new Map<SecretValue, Secret>();
  for (const value of wanted) {
    if (!resolved.has(value)) resolved.set(value, await host.secret(value));
  }
  return (value) => {
    const secret = resolved.get(value);
    if (secret === undefined) throw new Error(`the secret ${value.name} was not resolved beforehand`);
    return secret.reveal();
  };
}
