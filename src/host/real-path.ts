import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errnoOf } from './file-error.ts';

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
