import { windowsPath } from '../windows/paths.ts';

/**
 * The path of one of our files (`/run/machineadm/…`) on the running machine, for code that opens files without a host:
 * the lock, the journal and the status of a run.
 */
export function localPath(path: string): string {
  return process.platform === 'win32' ? windowsPath(path) : path;
}
