import { refusal } from './refusals.ts';
import type { TrustRoot } from './store.ts';

/** Throws `SignatureExpired`. A clock before the root itself is wrong, and causes a warning only. */
export function expiryOfRoot({ name, version, createdAt, expiresAt }: TrustRoot, now: Date): readonly string[] {
  if (expiresAt === undefined) return [];
  if (now < createdAt) {
    return [`the clock (${now.toISOString()}) is before the root "${name}" was made: its expiry was not checked`];
  }
  if (now <= expiresAt) return [];
  throw refusal(
    'SignatureExpired',
    `version ${version} of the root "${name}" expired at ${expiresAt.toISOString()}`,
    [{ source: 'clock of this machine', text: now.toISOString() }],
    'Install the next root (machineadm trust install FILE), or correct the clock of this machine.',
  );
}
