import { spawnSync } from 'node:child_process';

/** The branch that the origin has checked out, as git-clone(1) records it. */
const LANDED = 'refs/remotes/origin/HEAD';

/**
 * The base of the present changes: the merge base with the main branch of the origin. If HEAD is on that branch, or without
 * an origin, it is the parent of HEAD.
 */
export function landedLast(root: string): string {
  const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim();
  const base = git('merge-base', 'HEAD', LANDED);
  return base === '' || base === git('rev-parse', 'HEAD') ? 'HEAD~1' : base;
}
