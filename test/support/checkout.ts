import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** A need of tests (`needs.ts`): an archive of the sources has no list of what belongs to them. */
export const CHECKOUT = existsSync(resolve(ROOT, '.git')) ? {} : { unavailable: 'a checkout of git' };

/** What git prints in this checkout. */
export function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
}
