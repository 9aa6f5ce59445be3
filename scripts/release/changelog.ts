import { execFileSync } from 'node:child_process';
import { compareReleases, isReleaseVersion } from '../../src/trust/release-version.ts';

interface Commit {
  readonly hash: string;
  readonly subject: string;
  readonly body: string;
  readonly files: readonly string[];
}

/** The sections in their order. A commit belongs to the first section that matches. */
const SECTIONS: readonly (readonly [heading: string, holds: (commit: Commit) => boolean])[] = [
  ['Breaking changes', ({ subject, body }) => /^\w+(\([^)]*\))?!:/.test(subject) || /^BREAKING[ -]CHANGE:/m.test(body)],
  ['Features', ({ subject }) => /^feat[(:]/.test(subject)],
  ['Fixes', ({ subject }) => /^fix[(:]/.test(subject)],
  ['The document', touches('src/document/', 'packages/document/', 'contract/schema/')],
  ['Kubernetes', touches('src/kubernetes/', 'packages/hardening/', 'packages/kubeadm/')],
  [
    'Steps on the machine',
    touches(
      'src/steps/',
      'src/features/',
      'src/accounts/',
      'src/block-devices/',
      'src/container-runtime/',
      'src/content-checks/',
      'src/kernel/',
      'src/owned-files/',
      'src/prior-state/',
      'src/shell/',
      'src/step/',
      'src/undo/',
      'src/host/',
      'src/pipeline/',
      'packages/archives/',
    ),
  ],
  ['Diagnosis', touches('src/diagnosis/', 'packages/failures/')],
  ['Reports', touches('src/reporting/', 'packages/status/')],
  ['Conversion', touches('src/convert/', 'packages/convert/')],
  ['User data and downloads', touches('src/carriers/', 'packages/user-data/', 'src/trust/')],
  ['Commands', touches('src/cli/', 'src/commands/', 'src/')],
  ['Packages and releases', touches('packaging/', 'scripts/package', 'scripts/release', 'scripts/build')],
  ['Documentation', touches('docs/', 'README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'contract/')],
  ['Tests and tools', () => true],
];

/** Whether most files of a commit are in these places. Tests and documentation count only in a commit without other files. */
function touches(...places: readonly string[]): (commit: Commit) => boolean {
  return ({ files }) => {
    const code = files.filter((file) => /^(src|packages|packaging)\//.test(file));
    const counted = code.length > 0 ? code : files;
    return counted.filter((file) => places.some((place) => file.startsWith(place))).length * 2 > counted.length;
  };
}

/** The changes of a release and of its predecessors, as Markdown. */
export interface Changes {
  /** Of this release alone. */
  readonly notes: string;
  readonly changelog: string;
}

/**
 * The changes between the tags `v1.2.3` of a checkout, for a release of this version from HEAD. Commits are grouped by
 * their Conventional Commits type, or, without one, by the part of the project that they change. The same history makes
 * the same text. Throws for a shallow clone, whose history is cut off.
 */
export function changesOf(checkout: string, version: string, createdAt: Date): Changes {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { cwd: checkout, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 });
  if (git('rev-parse', '--is-shallow-repository').trim() === 'true') {
    throw new Error('this clone has a part of the history only: git fetch --unshallow --tags');
  }
  const tagged = git('tag', '--merged', 'HEAD', '--list', 'v*')
    .split('\n')
    .map((tag) => tag.slice(1))
    .filter((name) => isReleaseVersion(name) && compareReleases(name, version) < 0)
    .sort(compareReleases);
  const day = (revision: string): string => git('show', '-s', '--format=%cs', revision).trim();
  const sections: string[] = [];
  let before: string | undefined;
  for (const name of [...tagged, undefined]) {
    const revision = name === undefined ? 'HEAD' : `v${name}`;
    const range = before === undefined ? revision : `${before}..${revision}`;
    const date = name === undefined ? createdAt.toISOString().slice(0, 10) : day(`${revision}^{commit}`);
    sections.unshift(sectionOf(name ?? version, date, commitsOf(git, range)));
    before = revision;
  }
  const [notes = ''] = sections;
  return { notes, changelog: `# Changelog\n\n${sections.join('\n')}` };
}

function commitsOf(git: (...args: readonly string[]) => string, range: string): readonly Commit[] {
  // Neither a message nor a file name can contain NUL. \x01 marks the start of a record.
  const log = git('log', '--no-merges', '--format=%x01%H%x00%s%x00%b%x00', '--name-only', '-z', range);
  return log
    .split('\x01')
    .slice(1)
    .map((record) => {
      const [hash = '', subject = '', body = '', ...files] = record.split('\0').map((part) => part.replace(/^\n+/, ''));
      return { hash, subject, body, files: files.filter((file) => file !== '') };
    });
}

function sectionOf(version: string, date: string, commits: readonly Commit[]): string {
  const lines = [`## ${version} (${date})`, ''];
  const left = new Set(commits);
  for (const [heading, holds] of SECTIONS) {
    const taken = [...left].filter(holds);
    if (taken.length === 0) continue;
    lines.push(
      `### ${heading}`,
      '',
      ...taken.map(({ subject, hash }) => `- ${textOf(subject)} (${hash.slice(0, 12)})`),
      '',
    );
    for (const commit of taken) left.delete(commit);
  }
  if (commits.length === 0) lines.push('No changes.', '');
  return lines.join('\n');
}

/** A subject without its type, with Markdown and HTML escaped. */
function textOf(subject: string): string {
  return subject.replace(/^(feat|fix)(\([^)]*\))?!?:\s*/, '').replace(/[\\`*_<>[\]|~]/g, '\\$&');
}
