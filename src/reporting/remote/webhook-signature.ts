import { createHmac } from 'node:crypto';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Secret } from '@machineadm/document/secrets/secret.ts';

/** The prefix of a Standard Webhooks secret, which is not part of the key. */
const PREFIX = /^whsec_/;
/** The specification requires 24 to 64 random bytes. */
const SHORTEST_KEY_BYTES = 24;
const LONGEST_KEY_BYTES = 64;

/**
 * The headers of Standard Webhooks (standard-webhooks/standard-webhooks spec/standard-webhooks.md, "Signature scheme"):
 * HMAC-SHA256 of `id.timestamp.body`, one signature for each secret. Throws `SecretUnavailable` for an invalid secret.
 * @param seconds since the epoch; receivers accept a difference of five minutes to their own clock
 */
export function signatureHeaders(
  id: string,
  seconds: number,
  body: string,
  secrets: readonly Secret[],
): Readonly<Record<string, string>> {
  const signed = `${id}.${seconds}.${body}`;
  const signatures = secrets.map((secret) => {
    const signature = createHmac('sha256', keyOf(secret)).update(signed).digest('base64');
    return `v1,${signature}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': `${seconds}`,
    ...(signatures.length === 0 ? {} : { 'webhook-signature': signatures.join(' ') }),
  };
}

function keyOf(secret: Secret): Buffer {
  const text = secret.reveal().trim().replace(PREFIX, '');
  const key = Buffer.from(text, 'base64');
  const isBase64 = key.toString('base64').replace(/(?<!=)=+$/, '') === text.replace(/(?<!=)=+$/, '');
  if (isBase64 && key.length >= SHORTEST_KEY_BYTES && key.length <= LONGEST_KEY_BYTES) return key;
  throw new MachineadmError({
    reason: 'SecretUnavailable',
    summary: 'the secret of the webhook does not have the form of Standard Webhooks',
    remedy: 'Make one with: echo "whsec_$(openssl rand -base64 32)". The receiver needs the same.',
  });
}
