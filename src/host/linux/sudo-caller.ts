import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { basename } from 'node:path';

const SETUID = 0o4000;
/** More processes are not between a shell and this one. */
const MOST_PARENTS = 64;

interface Parentage {
  readonly parent: number;
  /** The real user, who started it. */
  readonly user: number;
  readonly isRoot: boolean;
}

/**
 * The user who called sudo(8) to start this process, or a shell that started it. `SUDO_UID` says nothing: a service, a
 * terminal multiplexer or a script may have it from another day. A parent of this process must be the sudo of this
 * machine, and the parent of that one belongs to its caller.
 */
export function sudoCaller(): number | undefined {
  let isSudo = false;
  for (let at = process.pid, count = 0; at > 1 && count < MOST_PARENTS; count += 1) {
    const own = parentageOf(at);
    if (own === undefined) return undefined;
    const above = own.parent > 1 ? parentageOf(own.parent) : undefined;
    // A parent that has ended is replaced by another one, and its number is free for any process.
    if (above === undefined || parentageOf(at)?.parent !== own.parent) return undefined;
    const isSudoAbove = above.isRoot && isSudoProgram(own.parent);
    // Under a terminal of its own, sudo has a second process.
    if (isSudo && !isSudoAbove) return above.user === 0 ? undefined : above.user;
    isSudo = isSudoAbove;
    at = own.parent;
  }
  return undefined;
}

/** proc_pid_status(5). */
function parentageOf(pid: number): Parentage | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const parent = /^PPid:\t(\d+)$/m.exec(status)?.[1];
    const [, user, effective] = /^Uid:\t(\d+)\t(\d+)\t/m.exec(status) ?? [];
    if (parent === undefined || user === undefined) return undefined;
    return { parent: Number(parent), user: Number(user), isRoot: effective === '0' };
  } catch {
    return undefined;
  }
}

/** A file of root with the name and the right of sudo: no user can make one. */
function isSudoProgram(pid: number): boolean {
  try {
    const file = statSync(`/proc/${pid}/exe`);
    const name = basename(readlinkSync(`/proc/${pid}/exe`));
    return /^sudo(?:-rs)?$/.test(name) && file.uid === 0 && (file.mode & SETUID) !== 0;
  } catch {
    return false;
  }
}
