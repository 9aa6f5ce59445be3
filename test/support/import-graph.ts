import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** One import in a source file, as written. */
export interface Import {
  readonly specifier: string;
  /** `static` runs with its importer, `dynamic` at its first use, `type` never. */
  readonly kind: 'static' | 'dynamic' | 'type';
}

/** Every file of a tree with its imports; the names are relative to the root. */
export type ImportGraph = ReadonlyMap<string, readonly Import[]>;

/** Reads the sources of the agent and of the packages of the workspace, without mere declarations (`.d.ts`), of which nothing runs. */
export function readImportGraph(root: string): ImportGraph {
  const graph = new Map<string, readonly Import[]>();
  for (const file of globSync('{src,packages/*/src}/**/*.ts', { cwd: root, exclude: ['**/*.d.ts'] }).sort()) {
    graph.set(file, importsOf(readFileSync(join(root, file), 'utf8')));
  }
  return graph;
}

/**
 * The imports of a text that biome has formatted: statements start a line and quotes are single. `architecture.test.ts`
 * compares the result with esbuild's, so that an import this does not see is found out.
 */
export function importsOf(text: string): readonly Import[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  const imports: Import[] = [];
  for (const match of code.matchAll(/^(?:import|export)\s(type\s)?[^;'"`]*?\sfrom '([^']+)'/gm)) {
    imports.push({ specifier: match[2] ?? '', kind: match[1] === undefined ? 'static' : 'type' });
  }
  for (const match of code.matchAll(/^import '([^']+)'/gm)) imports.push({ specifier: match[1] ?? '', kind: 'static' });
  for (const match of code.matchAll(/(typeof\s+)?\bimport\(\s*'([^']+)'\s*\)/g)) {
    imports.push({ specifier: match[2] ?? '', kind: match[1] === undefined ? 'dynamic' : 'type' });
  }
  return imports;
}

/** Where the packages of the workspace export their files from. */
const OWN_PACKAGE = /^@machineadm\/([^/]+)\//;

/** The file that an import of our own names; undefined for packages of others and Node's own modules. */
export function resolveImport(importer: string, specifier: string): string | undefined {
  if (OWN_PACKAGE.test(specifier)) return specifier.replace(OWN_PACKAGE, 'packages/$1/src/');
  return specifier.startsWith('.') ? normalize(join(dirname(importer), specifier)) : undefined;
}

/** The package of the workspace that an import names; undefined for all others. */
export function ownPackageOf(specifier: string): string | undefined {
  return OWN_PACKAGE.exec(specifier)?.[0].slice(0, -1);
}

/** The npm package of others that an import names; undefined for our own files and Node's own modules. */
export function packageOf(specifier: string): string | undefined {
  if (OWN_PACKAGE.test(specifier)) return undefined;
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined;
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : parts[0];
}

/** All circles among the files, each as the list of its files, found by depth-first search; [] when there are none. */
export function circles(graph: ImportGraph): readonly (readonly string[])[] {
  const found: string[][] = [];
  const finished = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) {
      found.push([...path.slice(at), file]);
      return;
    }
    if (finished.has(file)) return;
    path.push(file);
    for (const { specifier } of graph.get(file) ?? []) {
      const target = resolveImport(file, specifier);
      if (target !== undefined && graph.has(target)) visit(target);
    }
    path.pop();
    finished.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return found;
}

/**
 * The imports between the folders of each directory, as a graph for `circles`: `src/host/linux` imports `./files` where a
 * file of it imports one of `src/host/files`. A file beside the folders stands for itself.
 */
export function folderGraph(graph: ImportGraph): ImportGraph {
  const folders = new Map<string, Import[]>();
  for (const [file, imports] of graph) {
    for (const { specifier, kind } of imports) {
      const target = resolveImport(file, specifier);
      if (target === undefined || !graph.has(target) || target === file) continue;
      const [from, to] = [file.split('/'), target.split('/')];
      const depth = from.findIndex((name, index) => name !== to[index]);
      const [importer, imported] = [from.slice(0, depth + 1).join('/'), to.slice(0, depth + 1).join('/')];
      const known = folders.get(importer) ?? [];
      const sibling = `./${to[depth]}`;
      if (!known.some((one) => one.specifier === sibling)) known.push({ specifier: sibling, kind });
      folders.set(importer, known);
      folders.set(imported, folders.get(imported) ?? []);
    }
  }
  return folders;
}

/** Everything that runs when `entry` starts: the files and packages reached by static imports alone. */
export function startupClosure(graph: ImportGraph, entry: string): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const { specifier, kind } of graph.get(file) ?? []) {
      if (kind !== 'static') continue;
      const name = packageOf(specifier);
      if (name !== undefined) packages.add(name);
      const target = resolveImport(file, specifier);
      if (target !== undefined) visit(target);
    }
  };
  visit(entry);
  return { files, packages };
}
