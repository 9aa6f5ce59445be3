import { spawnSync } from 'node:child_process';

/** The changed and added lines of the sources, by file. */
export type ChangedLines = ReadonlyMap<string, ReadonlySet<number>>;

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

/**
 * The lines of src/ and packages/ that differ from a commit. Returns a message if there are none, or if git or the commit
 * is missing (for example in a shallow clone).
 */
export function changedLines(root: string, since: string): ChangedLines | string {
  const git = (...args: readonly string[]) =>
    spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (git('rev-parse', '--verify', '--quiet', `${since}^{commit}`).status !== 0)
    return `there is no commit ${since} here`;
  const { status, stdout } = git(
    'diff',
    '--unified=0',
    '--find-renames',
    '--no-color',
    '--no-ext-diff',
    since,
    '--',
    'src',
    'packages',
  );
  if (status !== 0) return 'git cannot tell what was changed';
  const lines = linesOfDiff(stdout);
  return lines.size === 0 ? `no source was changed since ${since}` : lines;
}

/** Reads a unified diff without context. */
export function linesOfDiff(diff: string): ChangedLines {
  const changed = new Map<string, Set<number>>();
  let file = '';
  for (const line of diff.split('\n')) {
    file = /^\+\+\+ (?:b\/)?(.*)$/.exec(line)?.[1] ?? file;
    const hunk = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (hunk === null || !/^(src|packages\/[^/]+\/src)\/.*\.ts$/.test(file)) continue;
    const lines = changed.get(file) ?? new Set<number>();
    const first = Number(hunk[1]);
    for (let at = first; at < first + Number(hunk[2] ?? 1); at += 1) lines.add(at);
    if (lines.size > 0) changed.set(file, lines);
  }
  return changed;
}
