/**
 * Builds the npm package of the library into `dist/npm`: `npm run library`; a release has it as an archive. Its
 * entries are `machineadm/document` (schema and validator) and `machineadm/convert`. What they need is inside, for every place that
 * has the web's own interfaces: no package is installed with it, and nothing of Node is needed.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { buildInfo } from '../src/cli/build-info.ts';
import { licenses } from './build/licenses.ts';
import { tarOfFiles } from './build/tar.ts';

/** Entries of the package, and the sources that they are. */
const ENTRIES = { document: 'packages/document/src/library.ts', convert: 'packages/convert/src/library.ts' } as const;

/** Builds the package into `directory`, which is emptied first. */
export async function buildLibrary(root: string, directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.entries(ENTRIES).map(([out, source]) => ({ in: source, out })),
    outdir: directory,
    bundle: true,
    splitting: true,
    // Not a single module of Node can be resolved so.
    platform: 'neutral',
    mainFields: ['module', 'main'],
    // yaml's own build for browsers; that of Node asks for Buffer and process.
    conditions: ['browser', 'import'],
    target: 'es2022',
    format: 'esm',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  await declarations(root, directory);
  await writeFile(join(directory, 'LICENSES.txt'), await licenses(root, metafile, undefined));
  await writeFile(join(directory, 'LICENSE'), await readFile(join(root, 'LICENSE')));
  await writeFile(join(directory, 'README.md'), await readFile(join(root, 'docs/library.md')));
  const entry = (name: keyof typeof ENTRIES) => ({
    types: `./${name}.d.ts`,
    default: `./${name}.js`,
  });
  const manifest = {
    name: 'machineadm',
    version: buildInfo().version,
    description:
      "The document of machineadm: its schema, validator and converter from Cluster API's kubeadm configurations.",
    license: 'Apache-2.0',
    type: 'module',
    sideEffects: false,
    exports: { './document': entry('document'), './convert': entry('convert') },
  };
  await writeFile(join(directory, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/**
 * Packs a built library as npm takes it (`npm install FILE`), into `output`: below `package/`, without times and owners, so that
 * the same sources make the same bytes. Gives the path.
 */
export async function packLibrary(directory: string, output: string): Promise<string> {
  const files: Record<string, { content: Buffer; mode: number }> = {};
  for (const name of (await readdir(directory)).sort()) {
    files[`package/${name}`] = { content: await readFile(join(directory, name)), mode: 0o644 };
  }
  const file = join(output, `machineadm-library-${buildInfo().version}.tgz`);
  await writeFile(file, gzipSync(tarOfFiles(files), { level: 9 }));
  return file;
}

/** The types of the entries. They name nothing of another file, so that the inside may change. */
async function declarations(root: string, directory: string): Promise<void> {
  const work = await mkdtemp(join(directory, '.types-'));
  const project = join(work, 'tsconfig.json');
  // Without the types of Node: what names something of it does not compile.
  const files = Object.values(ENTRIES).map((file) => join(root, file));
  await writeFile(
    project,
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions: { types: [] }, files, include: [] }),
  );
  const emit = ['--noEmit', 'false', '--emitDeclarationOnly', '--declaration'];
  const places = ['--rootDir', root, '--outDir', work];
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['--project', project, ...emit, ...places], {
    cwd: root,
    stdio: 'inherit',
  });
  for (const [name, source] of Object.entries(ENTRIES)) {
    const text = await readFile(join(work, source.replace(/\.ts$/, '.d.ts')), 'utf8');
    if (/^(?:import|export) .* from |\bimport\(/m.test(text)) throw new Error(`the types of ${name} name another file`);
    await writeFile(join(directory, `${name}.d.ts`), text);
  }
  await rm(work, { recursive: true });
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..');
  await buildLibrary(root, join(root, 'dist/npm'));
  console.log('built dist/npm');
}
