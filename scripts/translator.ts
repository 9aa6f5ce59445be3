/**
 * Builds the bootstrap translator into `dist/`: its container image, manifests, Helm chart, licences and bill of materials.
 * `npm run translator` for this machine, `-- --all` one image for amd64 and arm64. No daemon is needed.
 *
 * The image has no base image. It contains an unmodified Node, the libraries that Node loads, and the bundled program.
 */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildInfo } from '../src/cli/build-info.ts';
import { billOfMaterials } from './build/bill-of-materials.ts';
import { commitTime, gitCommit } from './build/inputs.ts';
import { licenses } from './build/licenses.ts';
import { nativeTarget, nodeExecutable, TARGETS } from './build/runtime.ts';
import { ARCHITECTURES, type ArchitectureImage, imageArchive, librariesOf, libraryFiles } from './image.ts';
import { readOptions } from './options.ts';
import { bundleTranslator } from './translator/bundle.ts';
import {
  TRANSLATOR_ARCHIVE,
  TRANSLATOR_DIRECTORY,
  TRANSLATOR_IMAGE,
  TRANSLATOR_NODE,
  TRANSLATOR_PROGRAMS,
} from './translator/image.ts';
import {
  BOOTSTRAP_COMPONENTS,
  bootstrapComponents,
  COMPONENTS,
  chartArchive,
  chartFile,
  clusterctlMetadata,
  components,
  METADATA,
  TRANSLATOR_LICENSES,
} from './translator/manifests.ts';

/** Builds into `directory` and returns the names of the written files. */
export async function buildTranslator(root: string, directory: string, isForAll: boolean): Promise<readonly string[]> {
  const native = nativeTarget();
  if (native.platform !== 'linux') throw new Error('an image is built on Linux only');
  const { version } = buildInfo();
  const commit = gitCommit(root);
  const epoch = commitTime(root);
  mkdirSync(directory, { recursive: true });
  const work = mkdtempSync(join(directory, '.translator-'));
  const written: string[] = [];
  const write = (name: string, content: string | Buffer): void => {
    writeFileSync(join(work, name), content);
    renameSync(join(work, name), join(directory, name));
    written.push(name);
  };
  try {
    const metafile = await bundleTranslator(root, work);
    const programs = TRANSLATOR_PROGRAMS.map((name) => ({
      name,
      content: readFileSync(join(work, name)),
      mode: 0o644,
    }));
    const terms = await licenses(root, metafile, native.package);
    const nativeNode = await nodeExecutable(root, native);
    const libraries = librariesOf(nativeNode);
    const images: ArchitectureImage[] = [];
    const targets = TARGETS.filter(({ platform }) => platform === 'linux');
    // The architecture of the build machine comes first: Docker's older archive format has only one.
    const ordered = [native, ...(isForAll ? targets.filter((one) => one.architecture !== native.architecture) : [])];
    for (const target of ordered) {
      const architecture = ARCHITECTURES[target.architecture];
      const executable = await nodeExecutable(root, target);
      const runtime = { package: target.package, executable };
      const inputs = { root, program: 'machineadm-translator', metafile, nativeNode, commit, epoch };
      const bill = await billOfMaterials({ ...inputs, binary: join(work, TRANSLATOR_PROGRAMS[0]), runtime });
      write(`machineadm-translator-linux-${architecture}.cdx.json`, bill);
      const files = {
        [TRANSLATOR_NODE]: { content: readFileSync(executable), mode: 0o755 },
        ...Object.fromEntries(programs.map(({ name, ...file }) => [`${TRANSLATOR_DIRECTORY}/${name}`, file])),
        'usr/share/doc/machineadm-translator/LICENSES.txt': { content: Buffer.from(terms), mode: 0o644 },
        ...libraryFiles(architecture, ARCHITECTURES[native.architecture], libraries),
      };
      images.push({ architecture, files });
    }
    const origin = { version, commit, createdAt: new Date(epoch * 1000) };
    const archive = isForAll
      ? TRANSLATOR_ARCHIVE
      : TRANSLATOR_ARCHIVE.replace('.tar', `-${ARCHITECTURES[native.architecture]}.tar`);
    write(archive, imageArchive(`machineadm-translator:${version}`, images, origin, TRANSLATOR_IMAGE));
    write(TRANSLATOR_LICENSES, terms);
    write(COMPONENTS, components(root, version));
    write(BOOTSTRAP_COMPONENTS, bootstrapComponents(root, version));
    write(METADATA, clusterctlMetadata(version));
    write(chartFile(version), chartArchive(root, version));
    return written;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { values } = readOptions(import.meta.filename, { options: { all: { type: 'boolean', default: false } } });
  const root = resolve(import.meta.dirname, '..');
  const written = await buildTranslator(root, join(root, 'dist'), values.all);
  console.log(`built ${written.map((file) => `dist/${file}`).join(', ')}`);
}
