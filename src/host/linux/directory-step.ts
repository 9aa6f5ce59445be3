import type { Stats } from 'node:fs';

/** The properties that decide who may change the entries of a directory, or an entry itself. */
export type Ownership = Pick<Stats, 'uid' | 'gid' | 'mode'>;

const GROUP_MAY_WRITE = 0o020;
const OTHERS_MAY_WRITE = 0o002;
const STICKY = 0o1000;

/** Trusted users: root, the user of this process, and the owner of the root directory. */
export function isTrusted(uid: number): boolean {
  return uid === 0 || uid === process.geteuid?.() || uid === ownerOfRoot;
}

/**
 * In a user namespace without a mapping for root, `/` belongs to the overflow user (user_namespaces(7)). That owner can
 * replace every path of the system, so trusting it loses nothing.
 */
let ownerOfRoot = 0;
export function trustOwnerOfRoot(uid: number): void {
  ownerOfRoot = uid;
}

/** Whether only trusted users can change a file or the entries of a directory. */
export function isClosed({ uid, mode }: Ownership): boolean {
  return isTrusted(uid) && (mode & (GROUP_MAY_WRITE | OTHERS_MAY_WRITE)) === 0;
}

/**
 * Whether only trusted users can replace this entry: the sticky bit protects entries of other users (unlink(2), EPERM).
 */
export function isFixed(directory: Ownership, entry: Ownership): boolean {
  if (isClosed(directory)) return true;
  return isTrusted(directory.uid) && (directory.mode & STICKY) !== 0 && isTrusted(entry.uid);
}

/**
 * Why a path must not lead from a directory to this directory; undefined when it may. This is the rule CHASE_SAFE of
 * systemd (src/basic/chase.c, unsafe_transition): never from a directory of an unprivileged user to one of another
 * user, because the first user could have put the second there.
 * It is stricter than systemd in a world-writable directory without the sticky bit. A group-writable directory
 * (`/usr/local` and `/var/local` on Debian, `/var/log` on Ubuntu) is accepted: while its descriptor is open, a group
 * member can only exchange one subdirectory for a sibling, because rename(2) needs write permission on a directory that
 * it moves to another parent.
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

/** Why a symbolic link is not followed; undefined when only trusted users can have created it. */
export function whyNotThrough(directory: Ownership, link: Ownership): string | undefined {
  if (!isTrusted(link.uid)) return `is a symbolic link that belongs to the user ${link.uid}`;
  if (isFixed(directory, link)) return undefined;
  return 'is a symbolic link in a directory that unprivileged users may write to';
}

/**
 * Why an existing file is neither read nor changed; undefined when it may be. A file with a second name may be a hard
 * link to a file of another user. A file of another user with a single name can only have been put there by a trusted
 * user, for example by a document that writes a file of root into a home directory.
 */
export function whyNotFile(directory: Ownership, file: Ownership & Pick<Stats, 'nlink'>): string | undefined {
  if (isFixed(directory, file) || file.nlink <= 1) return undefined;
  if (file.uid === directory.uid && !isTrusted(file.uid)) return undefined;
  return `has ${file.nlink} names (hard links), in a directory that unprivileged users may write to`;
}
