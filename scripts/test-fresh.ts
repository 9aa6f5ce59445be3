/**
 * Runs the tests as on a new machine: `npm run test:fresh [-- --needing-programs] [-- FILE.test.ts...]`, by default all of
 * `npm test`. Their root file system has Debian's required packages, this system's Node and npm, and this checkout;
 * everything that they write is discarded. A test that uses an optional program without declaring it
 * (test/support/needs.ts) fails here.
 *
 * --needing-programs selects the tests that can run programs, which `.ci/run` needs. It needs root, unshare and apt on
 * Debian; without them nothing runs. The root file system is built once, into the cache of the lab.
 */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { buildFreshImage, LAB_DIRECTORY } from './lab/artefacts.ts';
import { readOptions } from './options.ts';

const root = resolve(import.meta.dirname, '..');

/**
 * Arguments: the new root, the checkout, a directory for what is written to the checkout, Node, the directory of npm, the
 * command. The last shell stays: as process 1, it reaps orphaned processes.
 */
const ENTER = `
set -e
root=$1 checkout=$2 written=$3 node=$4 npm=$5
shift 5
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 none "$root/run"
mkdir -p "$root$checkout" "$root/usr/local/lib/node_modules"
mount -t overlay -o "lowerdir=$checkout,upperdir=$written/upper,workdir=$written/work" none "$root$checkout"
cp "$node" "$root/usr/local/bin/node"
cp -a "$npm" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
mkdir "$root/outside"
cd "$root"
pivot_root . outside
cd "$checkout"
umount -l /outside
rmdir /outside
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@" </dev/null || status=$?
exit \${status:-0}
`;

/** The first of a name in the search path that is of this system, and not one that `npm ci` installed. */
function ofSystem(name: string): string {
  const directories = (process.env.PATH ?? '').split(':').filter((directory) => !directory.includes('node_modules'));
  const found = directories.map((directory) => join(directory, name)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${name} is not in the search path`);
  return realpathSync(found);
}

/** The tests that can run programs: those of whole runs, and others whose modules start processes, or look for programs. */
function testsThatRunPrograms(): readonly string[] {
  const whole = globSync('test/{integration,attacks}/**/*.test.ts', { cwd: root });
  const others = globSync('test/{unit,repository}/**/*.test.ts', { cwd: root });
  return [...whole, ...others.filter((file) => runsPrograms(file, new Set()))].sort();
}

function runsPrograms(file: string, seen: Set<string>): boolean {
  // A test of scripts may have the text of an import of its own.
  if (seen.has(file) || !existsSync(join(root, file))) return false;
  seen.add(file);
  const text = readFileSync(join(root, file), 'utf8');
  if (/from 'node:child_process'/.test(text)) return true;
  const imported = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, path = '']) =>
    relative(root, resolve(root, dirname(file), path)),
  );
  return imported.some((path) => /^test\/|^src\/host\/linux\//.test(path) && runsPrograms(path, seen));
}

async function main(): Promise<number> {
  const { values, positionals } = readOptions(import.meta.filename, {
    allowPositionals: true,
    options: { summary: { type: 'string' }, 'needing-programs': { type: 'boolean', default: false } },
  });
  const isPossible =
    process.getuid?.() === 0 &&
    existsSync('/usr/bin/apt-get') &&
    spawnSync('unshare', ['-m', '-u', '-p', '-f', 'true']).status === 0;
  if (!isPossible) {
    if (values.summary !== undefined) appendFileSync(values.summary, '{"passed":0,"failed":0,"skipped":1}\n');
    console.log('skipped: a new machine needs root, unshare and apt on Debian\n0 passed, 0 failed, 1 skipped');
    return 0;
  }
  const image = await buildFreshImage((line) => console.error(line));
  const directory = mkdtempSync(join(LAB_DIRECTORY, 'fresh.partial-'));
  try {
    const machine = join(directory, 'root');
    const written = join(directory, 'written');
    for (const name of ['upper', 'work']) mkdirSync(join(written, name), { recursive: true });
    spawnSync('cp', ['-a', image, machine], { stdio: 'inherit' });
    const files = values['needing-programs'] ? testsThatRunPrograms() : positionals;
    const command = ['npm', 'test', '--', '--summary', '/var/summary', ...files];
    const npm = dirname(dirname(ofSystem('npm')));
    const inside = [ENTER, 'sh', machine, root, written, ofSystem('node'), npm, ...command];
    const { status } = spawnSync('unshare', ['-m', '-u', '-p', '-f', '--kill-child', 'sh', '-c', ...inside], {
      stdio: 'inherit',
    });
    const summary = join(machine, 'var/summary');
    if (values.summary !== undefined && existsSync(summary)) appendFileSync(values.summary, readFileSync(summary));
    return status ?? 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

process.exitCode = await main();
