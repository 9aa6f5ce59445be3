import { windowsPath } from './windows/paths.ts';

/**
 * Where this very machine has a path of ours (`/run/machineadm/…`), for what opens files without a host: the lock, the
 * journal and the status of a run.
 */
export function localPath(path: string): string {
  return process.platform === 'win32' ? windowsPath(path) : path;
}
