/**
 * Builds the npm package of the library into `dist/npm`: `npm run library`; a release has it as an archive. Its entry points
 * are the workspaces that export `.`, as `machineadm/NAME`, and `machineadm/wrap` and `machineadm/render`. All dependencies
 * are bundled. The package needs only web APIs and works without Node.
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

/** Entry points whose name differs from their workspace. */
const PARTS = { wrap: 'packages/user-data/src/library.ts', render: 'packages/kubeadm/src/library.ts' } as const;

const Workspace = z.object({ exports: z.record(z.string(), z.string()) });

/** The source of each entry point of the package, by name. */
async function entriesOf(root: string): Promise<ReadonlyMap<string, string>> {
  const entries = new Map<string, string>(Object.entries(PARTS));
  for (const file of globSync('packages/*/package.json', { cwd: root }).sort()) {
    const main = Workspace.parse(JSON.parse(await readFile(join(root, file), 'utf8'))).exports['.'];
    if (main !== undefined) entries.set(basename(dirname(file)), join(dirname(file), main));
  }
  return entries;
}

/** The fields that the package copies from the manifest of the project. */
const Manifest = z.object({ name: z.string(), version: z.string(), license: z.string() });

/** Builds the package into `directory`, and deletes the previous content. */
export async function buildLibrary(root: string, directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const entries = await entriesOf(root);
  const { metafile } = await build({
    absWorkingDir: root,
    // Each export is an entry point of its own and thus a separate chunk, which a bundler can leave out.
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
    // With this platform, imports of Node modules cannot be resolved.
    platform: 'neutral',
    mainFields: ['module', 'main'],
    // The browser build of yaml; the one for Node uses Buffer and process.
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

/** The README: docs/library.md without its links to other pages, which are not in the package. */
async function readme(root: string): Promise<string> {
  const page = await readFile(join(root, 'docs/library.md'), 'utf8');
  return page.replace(/\[([^\]]*)\]\((?!https?:|#)[^)]*\)/g, '$1');
}

/**
 * Packs a built library for `npm install FILE` into `output`, with all files below `package/`. The archive has no times and
 * owners, so that it is reproducible. Returns its path.
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

/** Writes the type declarations of the entry points and of the files that they import. They may not import other packages. */
async function declarations(root: string, directory: string, entries: ReadonlyMap<string, string>): Promise<void> {
  const work = await mkdtemp(join(directory, '.types-'));
  const project = join(work, 'tsconfig.json');
  // Without the types of Node, so that a use of a Node API does not compile.
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
    // Generated types are already declarations, which the compiler does not emit.
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
