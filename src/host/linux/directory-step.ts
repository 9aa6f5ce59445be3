import type { Stats } from 'node:fs';

/** What decides who may change the entries of a directory, or an entry itself. */
export type Ownership = Pick<Stats, 'uid' | 'gid' | 'mode'>;

const GROUP_MAY_WRITE = 0o020;
const OTHERS_MAY_WRITE = 0o002;
const STICKY = 0o1000;

/** Users whose files are not attacks: root, the user of this process, and the owner of the root directory. */
export function isTrusted(uid: number): boolean {
  return uid === 0 || uid === process.geteuid?.() || uid === ownerOfRoot;
}

/**
 * In a user namespace that maps no root, `/` belongs to the overflow user (user_namespaces(7)). Its owner can exchange
 * every path of the system, so nothing is lost by trusting it.
 */
let ownerOfRoot = 0;
export function trustOwnerOfRoot(uid: number): void {
  ownerOfRoot = uid;
}

/** Whether none but trusted users can change a file or the entries of a directory. */
export function isClosed({ uid, mode }: Ownership): boolean {
  return isTrusted(uid) && (mode & (GROUP_MAY_WRITE | OTHERS_MAY_WRITE)) === 0;
}

/** Whether none but trusted users can replace this entry: the sticky bit keeps other users' entries (unlink(2), EPERM). */
export function isFixed(directory: Ownership, entry: Ownership): boolean {
  if (isClosed(directory)) return true;
  return isTrusted(directory.uid) && (directory.mode & STICKY) !== 0 && isTrusted(entry.uid);
}

/**
 * Why a path may not lead from a directory to this directory; undefined when it may. It is the rule CHASE_SAFE of systemd
 * (src/basic/chase.c, unsafe_transition): never from what an unprivileged user owns to what another user owns, since the
 * first could have put the second there.
 *
 * Stricter than systemd in a directory that all may write to and that has no sticky bit. A directory that a group may
 * write to (`/usr/local` and `/var/local` on Debian, `/var/log` on Ubuntu) passes: with its descriptor open, a member can
 * only exchange one subdirectory for a sibling, because rename(2) needs write permission on a directory that it moves
 * to another parent.
 */
export function whyNotInto(directory: Ownership, entry: Ownership): string | undefined {
  if (isFixed(directory, entry)) return undefined;
  if (!isTrusted(directory.uid)) {
    if (entry.uid === directory.uid) return undefined;
    return `belongs to the user ${entry.uid}, in a directory of the user ${directory.uid}, who can replace it`;
  }
  if ((directory.mode & OTHERS_MAY_WRITE) !== 0 && (directory.mode & STICKY) === 0) {
    return 'is in a directory that every user may write to and that has no sticky bit';
  }
  return undefined;
}

/** Why a symbolic link is not followed; undefined when only trusted users can have put it there. */
export function whyNotThrough(directory: Ownership, link: Ownership): string | undefined {
  if (!isTrusted(link.uid)) return `is a symbolic link that belongs to the user ${link.uid}`;
  if (isFixed(directory, link)) return undefined;
  return 'is a symbolic link in a directory that unprivileged users may write to';
}

/**
 * Why a file that is there is neither read nor changed; undefined when it is. One with a second name may be a hard link
 * to a file of another user. A file of another user with one name can only have been put there by a trusted user, as
 * the document does that writes a file of root into a home directory.
 */
export function whyNotFile(directory: Ownership, file: Ownership & Pick<Stats, 'nlink'>): string | undefined {
  if (isFixed(directory, file) || file.nlink <= 1) return undefined;
  if (file.uid === directory.uid && !isTrusted(file.uid)) return undefined;
  return `has ${file.nlink} names (hard links), in a directory that unprivileged users may write to`;
}
