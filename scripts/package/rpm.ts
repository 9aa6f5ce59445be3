import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { maintainerScript, type PackageSource, writeContents } from './contents.ts';

/**
 * Builds `machineadm-VERSION-1.ARCHITECTURE.rpm` in `output` with rpmbuild, without root. The database and the directories
 * of rpmbuild are in `work`. The package is reproducible.
 *
 * @param work an empty directory
 * @param level compression level of xz: 6 for a release, 0 for speed
 */
export async function buildRpm(
  source: PackageSource,
  architecture: 'x86_64' | 'aarch64',
  work: string,
  output: string,
  level: number,
): Promise<string> {
  const tree = join(work, 'rpm-contents');
  const top = join(work, 'rpmbuild');
  for (const directory of [tree, top]) await rm(directory, { recursive: true, force: true });
  await writeContents(source, tree, 'site-functions');
  await mkdir(top);
  const spec = join(top, 'machineadm.spec');
  // rpmbuild expands macros in scriptlets: percent signs in shell code are doubled.
  const template = await maintainerScript(source.root, 'packaging/rpm/machineadm.spec', (text) =>
    text.replaceAll('%', '%%'),
  );
  await writeFile(spec, template.replace('@VERSION@', source.version));
  const definitions = [
    `_topdir ${top}`,
    `_dbpath ${join(top, 'db')}`,
    `_tmppath ${join(top, 'tmp')}`,
    `content ${tree}`,
    `_binary_payload w${level}.xzdio`,
    `_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm`,
    // Otherwise the header contains the build directory.
    `_buildrootdir ${join(top, 'root')}`,
  ];
  const defined = definitions.flatMap((definition) => ['--define', definition]);
  execFileSync('rpmbuild', ['-bb', '--quiet', '--target', `${architecture}-linux`, ...defined, spec], {
    env: { PATH: process.env.PATH ?? '', HOME: top, LC_ALL: 'C', SOURCE_DATE_EPOCH: `${source.epoch}` },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const name = `machineadm-${source.version}-1.${architecture}.rpm`;
  await copyFile(join(top, 'RPMS', name), join(output, name));
  for (const directory of [tree, top]) await rm(directory, { recursive: true });
  return join(output, name);
}
