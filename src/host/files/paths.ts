import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { windowsPath } from '../windows/paths.ts';
import { errnoOf } from './file-error.ts';

/** Held by whoever changes this machine or says in its status file how a run ended. */
export const LOCK_PATH = '/run/machineadm/lock';

/**
 * Where this very machine has a path of ours (`/run/machineadm/…`), for what opens files without a host: the lock, the
 * journal and the status of a run.
 */
export function localPath(path: string): string {
  return process.platform === 'win32' ? windowsPath(path) : path;
}

/**
 * The place that an absolute path names, with the symbolic links of its directories followed as far as those exist. The
 * last part stays: a link at the path itself is another file than its target.
 */
export async function realPath(path: string): Promise<string> {
  const directory = dirname(path);
  return directory === path ? path : join(await realDirectory(directory), basename(path));
}

async function realDirectory(directory: string): Promise<string> {
  try {
    return await realpath(directory);
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
    return [path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))];
  });
}

/**
 * Names of descriptors that the caller has opened: `/dev/stdin`, `<(command)` of a shell. They are links without a target
 * that could be followed (proc_pid_fd(5)), and lead nowhere but to what this process has open already.
 */
export function isOwnDescriptor(path: string): boolean {
  return /^(?:\/dev\/(?:stdin|stdout|stderr|fd\/\d+)|\/proc\/self\/fd\/\d+)$/.test(path);
}
