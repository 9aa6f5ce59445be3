import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { errnoOf } from '../files/file-error.ts';

/**
 * Ranges of user ids that no account has: one that systemd's table of user ids calls unused, then that of its dynamic users,
 * for containers that map only 65,536 ids, then nobody (systemd docs/UIDS-GIDS.md).
 */
const RANGES: readonly (readonly [number, number])[] = [
  [0x7000_0000, 0x7fff_fffe],
  [61_184, 65_519],
  [65_534, 65_535],
];

/**
 * Makes this process one of a user that has no account, no group, no file and no capability, for good: a random one, so
 * that two such processes cannot reach each other either. Nothing where the process is not root's. Throws where it cannot:
 * what follows must not happen as root.
 */
export function leaveRoot(): void {
  if (process.getuid?.() !== 0) return;
  try {
    process.setgroups?.([]);
    if (!RANGES.some(([first, last]) => becomes(randomInt(first, last))))
      throw new Error('no such user id is mapped here');
    assertLeft();
  } catch (error) {
    const why = `as root nothing is sent, and this process cannot become another user: ${errorMessage(error)}`;
    throw new Error(why, { cause: error });
  }
}

/** False where the ids do not exist in this user namespace (setuid(2), EINVAL). */
function becomes(id: number): boolean {
  try {
    process.setgid?.(id);
    process.setuid?.(id);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EINVAL') return false;
    throw error;
  }
}

/** A security bit can keep capabilities across setuid(2) (capabilities(7), SECBIT_NO_SETUID_FIXUP). */
function assertLeft(): void {
  const ids = [process.getuid?.(), process.geteuid?.(), process.getgid?.(), process.getegid?.()];
  const capabilities = [
    ...readFileSync('/proc/thread-self/status', 'utf8').matchAll(/^Cap(?:Inh|Prm|Eff|Amb):\s*(\w+)$/gm),
  ];
  const isLeft =
    !ids.includes(0) &&
    process.getgroups?.().every((id) => id === ids[2]) === true &&
    capabilities.length === 4 &&
    capabilities.every(([, bits]) => /^0+$/.test(bits ?? ''));
  if (!isLeft) throw new Error('this process kept rights of root');
}
