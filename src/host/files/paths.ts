import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { RUN_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { errnoOf } from './file-error.ts';

/** Held while a process changes this machine or records the end of a run in its status file. */
export const LOCK_PATH = `${RUN_DIRECTORY}/lock`;

/**
 * The real location of an absolute path: the symbolic links of its existing directories are resolved. The last
 * component is kept: a link at the path itself is a different file than its target.
 */
export async function realPath(path: string): Promise<string> {
  const directory = dirname(path);
  return directory === path ? path : join(await realDirectory(directory), basename(path));
}

async function realDirectory(directory: string): Promise<string> {
  try {
    // Not through Node's thread pool, which takes eight times the CPU.
    return realpathSync.native(directory);
  } catch (error) {
    const code = errnoOf(error);
    if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'ELOOP') throw error;
    return await realPath(directory);
  }
}

/** The mount points in proc_pid_mountinfo(5), in its order. */
export function mountPointsOf(mountinfo: string): readonly string[] {
  return mountinfo.split('\n').flatMap((line) => {
    const path = line.split(' ')[4];
    if (path === undefined) return [];
    return [unescapeOctal(path)];
  });
}

/** A field of fstab(5), /proc/swaps or mountinfo, which write a blank as `\\040`. */
export function unescapeOctal(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/**
 * Names of descriptors that the caller has opened: `/dev/stdin`, `<(command)` of a shell. Their links have no target
 * that could be resolved (proc_pid_fd(5)), and refer only to what this process has open already.
 */
export function isOwnDescriptor(path: string): boolean {
  return /^(?:\/dev\/(?:stdin|stdout|stderr|fd\/\d+)|\/proc\/self\/fd\/\d+)$/.test(path);
}
