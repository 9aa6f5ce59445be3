/**
 * Packages the build: `npm run package` a deb and an rpm for this machine's architecture, `-- --all` those of every
 * platform, the ZIP for Windows, and the library. Needs dpkg-deb and rpmbuild (Debian: dpkg, rpm), but not root. The
 * packages are reproducible.
 */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { buildInfo } from '../src/cli/build-info.ts';
import { commitTime } from './build/inputs.ts';
import { billOfMaterialsFile, nativeTarget, TARGETS, type Target } from './build/runtime.ts';
import { buildLibrary, packLibrary } from './library.ts';
import { readOptions } from './options.ts';
import { buildDeb } from './package/deb.ts';
import { buildRpm } from './package/rpm.ts';
import { buildWindowsZip } from './package/windows.ts';

const NAMES = { x64: { deb: 'amd64', rpm: 'x86_64' }, arm64: { deb: 'arm64', rpm: 'aarch64' } } as const;

/** Builds the packages of these targets from the binaries in `dist`, into it. Returns their paths. */
export async function packageInto(
  dist: string,
  options: {
    readonly root: string;
    readonly targets: readonly Target[];
    readonly version: string;
    readonly epoch: number;
    /** The compression level of xz: 6 for a release, 0 for speed. */
    readonly level: number;
  },
): Promise<readonly string[]> {
  const work = await mkdtemp(join(dist, '.package-'));
  const written: string[] = [];
  try {
    for (const target of options.targets) {
      const { file, platform, architecture } = target;
      const source = {
        ...options,
        binary: join(dist, file),
        nativeBinary: join(dist, 'machineadm'),
        licenses: join(dist, 'LICENSES.txt'),
        billOfMaterials: join(dist, billOfMaterialsFile(target)),
      };
      if (platform === 'win32') {
        written.push(await buildWindowsZip(source, dist));
        continue;
      }
      const names = NAMES[architecture];
      written.push(await buildDeb(source, names.deb, work, dist, options.level));
      written.push(await buildRpm(source, names.rpm, work, dist, options.level));
    }
    return written;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const { values } = readOptions(import.meta.filename, { options: { all: { type: 'boolean', default: false } } });
  const root = resolve(import.meta.dirname, '..');
  execFileSync(process.execPath, ['scripts/build.ts', ...(values.all ? ['--all'] : [])], {
    cwd: root,
    stdio: 'inherit',
  });
  const targets = values.all ? TARGETS : [nativeTarget()];
  for (const program of ['dpkg-deb', 'rpmbuild']) {
    const found = (process.env.PATH ?? '').split(':').some((directory) => existsSync(join(directory, program)));
    if (!found) throw new Error(`${program} is not installed (Debian: apt-get install dpkg rpm)`);
  }
  const epoch = commitTime(root);
  const { version } = buildInfo();
  for (const file of await packageInto(join(root, 'dist'), { root, targets, version, epoch, level: 6 })) {
    console.log(`packed ${file.slice(root.length + 1)}`);
  }
  if (!values.all) return;
  await buildLibrary(root, join(root, 'dist/npm'));
  console.log(`packed ${(await packLibrary(join(root, 'dist/npm'), join(root, 'dist'))).slice(root.length + 1)}`);
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    console.error(`the packages could not be built: ${errorMessage(error)}`);
    process.exitCode = 1;
  }
}
