import { chmodSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from './file-error.ts';

/**
 * Makes a directory that all may enter, and its parents, whatever the umask; one that exists is left as it is. Throws
 * the errno as it is. Not with Node's `recursive`, which calls a read-only file system ENOENT (24.21, measured).
 */
export function makeOpenDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o755 });
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return;
    if (errnoOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    makeOpenDirectory(dirname(path));
    mkdirSync(path, { mode: 0o755 });
  }
  chmodSync(path, 0o755);
}
