import { MachineadmError } from '@machineadm/document/errors.ts';
import type { UserModel } from '@machineadm/document/model.ts';
import type { Secret } from '@machineadm/document/secret.ts';

/** A crypt(5) hash that names its method, or a mark that no password matches. DES hashes have no "$" and no place here. */
const HASH = /^(?:\$[a-z0-9-]+\$[^:\s]+|[*!])$/i;

/** No password matches it, and yet the account is not locked: sshd lets keys in even where it does not ask PAM. */
const NO_PASSWORD = '*';

/**
 * What the second field of shadow(5) must become, and how. `lock` and `unlock` keep the hash that is there, as
 * usermod(8) does: a lock is an exclamation mark before it.
 */
export type PasswordChange =
  | { readonly kind: 'none' }
  | { readonly kind: 'lock' }
  | { readonly kind: 'unlock' }
  | { readonly kind: 'set'; readonly field: string };

/** `hash` undefined: the document gives none. Throws `PasswordHashInvalid`. */
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
  // "*" bars the password as well.
  if (user.locked) return isLocked || now.startsWith('*') ? { kind: 'none' } : { kind: 'lock' };
  if (!isLocked) return { kind: 'none' };
  const unlocked = now.replace(/^!+/, '');
  // usermod refuses to unlock to an empty password, and rightly so; and it takes one mark away where RHEL sets two.
  if (!HASH.test(unlocked)) return { kind: 'set', field: NO_PASSWORD };
  return now === `!${unlocked}` ? { kind: 'unlock' } : { kind: 'set', field: unlocked };
}

function notAHash(user: string): MachineadmError {
  return new MachineadmError({
    reason: 'PasswordHashInvalid',
    summary: `the password hash of the user ${user} is none that crypt(5) would make`,
    remedy: 'Give a hash such as "mkpasswd" or "openssl passwd -6" prints, never the password itself.',
  });
}
