import type { UserModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Secret } from '@machineadm/document/secrets/secret.ts';

/** A crypt(5) hash with a method, or a marker that no password matches. DES hashes have no "$" and are not accepted. */
const HASH = /^(?:\$[a-z0-9-]+\$[^:\s]+|[*!])$/i;

/** No password matches it, but the account is not locked: sshd accepts keys even without PAM. */
const NO_PASSWORD = '*';

/**
 * The required second field of shadow(5), and how to get there. `lock` and `unlock` keep the existing hash, as
 * usermod(8) does: a lock is an exclamation mark before it.
 */
export type PasswordChange =
  | { readonly kind: 'none' }
  | { readonly kind: 'lock' }
  | { readonly kind: 'unlock' }
  | { readonly kind: 'set'; readonly field: string };

/** `hash` undefined: the document has none. Throws `PasswordHashInvalid`. */
export function passwordChange(
  user: Pick<UserModel, 'name' | 'locked'>,
  hash: Secret | undefined,
  current: Secret,
): PasswordChange {
  const now = current.reveal();
  if (hash !== undefined) {
    const given = hash.reveal();
    if (!HASH.test(given)) throw notAHash(user.name);
    const field = user.locked && given !== '!' ? `!${given}` : given;
    return field === now ? { kind: 'none' } : { kind: 'set', field };
  }
  const isLocked = now.startsWith('!');
  // "*" also disables the password.
  if (user.locked) return isLocked || now.startsWith('*') ? { kind: 'none' } : { kind: 'lock' };
  if (!isLocked) return { kind: 'none' };
  const unlocked = now.replace(/^!+/, '');
  // usermod rightly refuses to unlock an empty password; and it removes one mark where RHEL sets two.
  if (!HASH.test(unlocked)) return { kind: 'set', field: NO_PASSWORD };
  return now === `!${unlocked}` ? { kind: 'unlock' } : { kind: 'set', field: unlocked };
}

function notAHash(user: string): MachineadmError {
  return new MachineadmError({
    reason: 'PasswordHashInvalid',
    summary: `the password hash of the user ${user} is not in a format of crypt(5)`,
    remedy: 'Use a hash such as "mkpasswd" or "openssl passwd -6" prints, never the password itself.',
  });
}
