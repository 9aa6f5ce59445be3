/**
 * Builds the npm package of the library into `dist/npm`: `npm run library`; a release has it as an archive. Its entries are
 * the workspaces that export a `.`, as `machineadm/NAME`, and the pure parts of the program: `machineadm/wrap` and
 * `machineadm/render`. What they need is inside, for every place that has the web's own interfaces: no package is
 * installed with it, and nothing of Node is needed.
 */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import * as z from 'zod';
import { buildInfo } from '../src/cli/build-info.ts';
import { licenses } from './build/licenses.ts';
import { tarOfFiles } from './build/tar.ts';
import { readOptions } from './options.ts';

/** Entries with another name than their workspace. */
const PARTS = { wrap: 'packages/user-data/src/library.ts', render: 'packages/kubeadm/src/library.ts' } as const;

const Workspace = z.object({ exports: z.record(z.string(), z.string()) });

/** Entries of the package by name, and the sources that they are. */
async function entriesOf(root: string): Promise<ReadonlyMap<string, string>> {
  const entries = new Map<string, string>(Object.entries(PARTS));
  for (const file of globSync('packages/*/package.json', { cwd: root }).sort()) {
    const main = Workspace.parse(JSON.parse(await readFile(join(root, file), 'utf8'))).exports['.'];
    if (main !== undefined) entries.set(basename(dirname(file)), join(dirname(file), main));
  }
  return entries;
}

/** What the package takes from the project's own manifest. */
const Manifest = z.object({ name: z.string(), version: z.string(), license: z.string() });

/** Builds the package into `directory`, which is emptied first. */
export async function buildLibrary(root: string, directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const entries = await entriesOf(root);
  const { metafile } = await build({
    absWorkingDir: root,
    // Each export of an entry has a file: so it becomes a chunk of its own, which a bundler can leave out.
    entryPoints: [
      ...[...entries].map(([out, source]) => ({ in: source, out })),
      ...globSync('packages/*/src/library/*.ts', { cwd: root }).map((source) => ({
        in: source,
        out: join('parts', source.split('/')[1] ?? '', basename(source, '.ts')),
      })),
    ],
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
  await declarations(root, directory, entries);
  await writeFile(join(directory, 'LICENSES.txt'), await licenses(root, metafile, undefined));
  await writeFile(join(directory, 'LICENSE'), await readFile(join(root, 'LICENSE')));
  await writeFile(join(directory, 'README.md'), await readme(root));
  const own = Manifest.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  const names = [...entries.keys()].sort();
  const manifest = {
    ...own,
    description: 'The document of machineadm for controllers and editors: schema, validator, converter, user data.',
    type: 'module',
    sideEffects: false,
    exports: Object.fromEntries(
      names.map((name) => [`./${name}`, { types: `./${name}.d.ts`, default: `./${name}.js` }]),
    ),
  };
  await writeFile(join(directory, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

/** The page of the library. Its links lead to other pages of the project, which are not in the package: their text stays. */
async function readme(root: string): Promise<string> {
  const page = await readFile(join(root, 'docs/library.md'), 'utf8');
  return page.replace(/\[([^\]]*)\]\((?!https?:|#)[^)]*\)/g, '$1');
}

/**
 * Packs a built library as npm takes it (`npm install FILE`), into `output`: below `package/`, without times and owners, so that
 * the same sources make the same bytes. Gives the path.
 */
export async function packLibrary(directory: string, output: string): Promise<string> {
  const files: Record<string, { content: Buffer; mode: number }> = {};
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files[`package/${relative(directory, path)}`] = { content: await readFile(path), mode: 0o644 };
  }
  const sorted = Object.fromEntries(Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1)));
  const file = join(output, `machineadm-library-${buildInfo().version}.tgz`);
  await writeFile(file, gzipSync(tarOfFiles(sorted), { level: 9 }));
  return file;
}

/** The types of the entries, and of the files that these name. They name no other package, so that the inside may change. */
async function declarations(root: string, directory: string, entries: ReadonlyMap<string, string>): Promise<void> {
  const work = await mkdtemp(join(directory, '.types-'));
  const project = join(work, 'tsconfig.json');
  // Without the types of Node: what names something of it does not compile.
  const ambient = globSync('src/**/*.d.ts', { cwd: root });
  const files = [...entries.values(), ...ambient].map((file) => join(root, file));
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
  const wanted = [...entries.values()];
  for (const source of wanted) {
    // Generated types are declarations already, which the compiler does not write again.
    const isDeclaration = source.endsWith('.d.ts');
    const declaration = isDeclaration ? source : source.replace(/\.ts$/, '.d.ts');
    const text = await readFile(join(isDeclaration ? root : work, declaration), 'utf8');
    const target = join(directory, 'types', declaration);
    if (/\bimport\(/.test(text)) throw new Error(`the types of ${source} name another file inline`);
    const written = text.replace(/^((?:import|export) .* from )'([^']+)'/gm, (_, word: string, specifier: string) => {
      const file = specifier.startsWith('@machineadm/')
        ? specifier.replace(/^@machineadm\/([^/]+)/, 'packages/$1/src')
        : join(dirname(source), specifier);
      if (!specifier.startsWith('@machineadm/') && !specifier.startsWith('.')) {
        throw new Error(`the types of ${source} name ${specifier}`);
      }
      if (!wanted.includes(file)) wanted.push(file);
      const path = relative(dirname(source), file).replace(/(?:\.d)?\.ts$/, '.js');
      return `${word}'${path.startsWith('.') ? path : `./${path}`}'`;
    });
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, written);
  }
  for (const [name, source] of entries) {
    await writeFile(
      join(directory, `${name}.d.ts`),
      `export * from './types/${source.replace(/\.ts$/, '.js')}';
`,
    );
  }
  await rm(work, { recursive: true });
}

if (import.meta.main) {
  readOptions(import.meta.filename, {});
  const root = resolve(import.meta.dirname, '..');
  await buildLibrary(root, join(root, 'dist/npm'));
  console.log('built dist/npm');
}
