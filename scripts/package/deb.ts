import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { maintainerScript, type PackageSource, pack, setModesAndTimes, writeContents } from './contents.ts';

/**
 * Builds `machineadm_VERSION_ARCHITECTURE.deb` in `output`, without root: dpkg-deb sets root as the owner of all files. The
 * package is reproducible.
 *
 * @param work an empty directory
 * @param level compression level of xz: 6 for a release, 0 for speed
 */
export async function buildDeb(
  source: PackageSource,
  architecture: 'amd64' | 'arm64',
  work: string,
  output: string,
  level: number,
): Promise<string> {
  const tree = join(work, 'deb');
  await rm(tree, { recursive: true, force: true });
  await writeContents(source, tree, 'vendor-completions');
  const packaging = join(source.root, 'packaging/deb');
  const documentation = join(tree, 'usr/share/doc/machineadm');
  await writeFile(join(documentation, 'copyright'), await readFile(join(packaging, 'copyright')));
  await writeFile(join(documentation, 'changelog.gz'), pack(changelog(source)));
  const overrides = (await readFile(join(packaging, 'lintian-overrides'), 'utf8')).replace(
    /^(?=[a-z])/gm,
    'machineadm: ',
  );
  await mkdir(join(tree, 'usr/share/lintian/overrides'), { recursive: true });
  await writeFile(join(tree, 'usr/share/lintian/overrides/machineadm'), overrides);

  const control = join(tree, 'DEBIAN');
  const sums = await checksums(tree);
  await mkdir(control);
  const template = await readFile(join(packaging, 'control'), 'utf8');
  const filled = template
    .replace('@VERSION@', source.version)
    .replace('@ARCHITECTURE@', architecture)
    .replace('@SIZE@', `${await sizeInKiB(tree)}`);
  await writeFile(join(control, 'control'), filled);
  await writeFile(join(control, 'md5sums'), sums);
  for (const script of ['postinst', 'prerm', 'postrm']) {
    await writeFile(join(control, script), await maintainerScript(source.root, `packaging/deb/${script}`));
  }
  await setModesAndTimes(tree, source.epoch);
  for (const script of ['postinst', 'prerm', 'postrm']) await chmod(join(control, script), 0o755);

  const file = join(output, `machineadm_${source.version}_${architecture}.deb`);
  execFileSync(
    'dpkg-deb',
    ['--root-owner-group', '--uniform-compression', '-Zxz', `-z${level}`, '--build', tree, file],
    {
      // One thread: the blocks of xz depend on the number of threads.
      env: {
        PATH: process.env.PATH ?? '',
        SOURCE_DATE_EPOCH: `${source.epoch}`,
        DPKG_DEB_THREADS_MAX: '1',
        LC_ALL: 'C',
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  await rm(tree, { recursive: true });
  return file;
}

/** The changelog (Debian Policy 4.4) of a native package, which has no Debian revision. */
function changelog({ version, epoch }: PackageSource): string {
  const date = new Date(epoch * 1000).toUTCString().replace('GMT', '+0000');
  return `machineadm (${version}) stable; urgency=medium

  * The release of this version.

 -- The machineadm authors <maintainers@machineadm.dev>  ${date}
`;
}

/** The md5sums file of the package, for `dpkg --verify`. */
async function checksums(tree: string): Promise<string> {
  const lines: string[] = [];
  for (const path of filesOf(tree)) {
    const sum = createHash('md5').update(await readFile(join(tree, path)));
    lines.push(`${sum.digest('hex')}  ${path}\n`);
  }
  return lines.join('');
}

/** Installed-Size (Debian Policy 5.6.20): the sizes of the files, each rounded up to 1 KiB. */
async function sizeInKiB(tree: string): Promise<number> {
  let size = 0;
  for (const path of filesOf(tree)) size += Math.ceil((await stat(join(tree, path))).size / 1024);
  return size;
}

function filesOf(tree: string): readonly string[] {
  return globSync('**', { cwd: tree, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(tree.length + 1))
    .filter((path) => !path.startsWith('DEBIAN/'))
    .sort();
}
