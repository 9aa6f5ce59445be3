import { resolve } from 'node:path';
import { isSea } from 'node:sea';

/**
 * How this program is started again by someone else (a unit): the absolute path of the single binary, or of Node and the
 * script where it runs from source.
 */
export function selfCommand(): readonly string[] {
  const [, script] = process.argv;
  return isSea() || script === undefined ? [process.execPath] : [process.execPath, resolve(script)];
}
