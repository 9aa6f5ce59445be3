import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { type Mutant, mutated } from './mutants.ts';

/** An error such as `src/a.ts(3,7): error TS2345: …`. Indented lines after it continue the message. */
const ERROR = /^(?<file>[^\s(][^(]*)\(\d+,\d+\): error (?<what>.*)$/;

/**
 * The mutants that the compiler refuses. They do not count, as with Stryker's checker of types
 * (https://stryker-mutator.io/docs/stryker-js/typescript-checker/): `npm test` would not run a test of such a program.
 *
 * One run of the compiler checks all of them. In a copy of the sources, each mutant is a separate file next to its original.
 * Only errors count that an unchanged copy of the original does not have (in a copy, a class with private fields is a
 * different type).
 */
export async function refusedByTypes(root: string, mutants: readonly Mutant[]): Promise<ReadonlySet<Mutant>> {
  if (mutants.length === 0) return new Set();
  await using directory = await mkdtempDisposable(join(tmpdir(), 'machineadm-types-'));
  copySources(root, directory.path);
  const unchanged = new Map<string, string>();
  const copies = new Map<string, Mutant>();
  for (const mutant of mutants) {
    const text = readFileSync(join(root, mutant.file), 'utf8');
    const copy = (name: string, content: string): string => {
      const path = join(dirname(mutant.file), `${basename(mutant.file, '.ts')}.${name}.ts`);
      writeFileSync(join(directory.path, path), content);
      return path;
    };
    if (!unchanged.has(mutant.file)) unchanged.set(mutant.file, copy('unchanged', text));
    copies.set(copy(`mutant-${copies.size}`, mutated(text, mutant)), mutant);
  }
  writeConfiguration(root, directory.path, [...unchanged.values(), ...copies.keys()]);
  const errors = await errorsBelow(root, directory.path);
  const refused = new Set<Mutant>();
  for (const [path, mutant] of copies) {
    const known = [...(errors.get(unchanged.get(mutant.file) ?? '') ?? [])];
    for (const error of errors.get(path) ?? []) {
      const at = known.indexOf(error);
      if (at < 0) refused.add(mutant);
      else known.splice(at, 1);
    }
  }
  return refused;
}

/** Copies the sources, with links to their dependencies: workspaces in the copy, and the installed npm packages. */
function copySources(root: string, to: string): void {
  for (const path of globSync('{src,packages/*/{src,package.json}}', { cwd: root }))
    cpSync(join(root, path), join(to, path), { recursive: true });
  cpSync(join(root, 'package.json'), join(to, 'package.json'));
  const modules = join(to, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '@machineadm') symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  symlinkSync('../packages', join(modules, '@machineadm'));
}

/**
 * The options of the project, except that unused code after a change is not an error, as in Stryker's checker
 * (packages/typescript-checker/src/tsconfig-helpers.ts in stryker-mutator/stryker-js).
 */
function writeConfiguration(root: string, to: string, files: readonly string[]): void {
  const configuration: { compilerOptions: object } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'));
  const overridden = { allowUnreachableCode: true, noUnusedLocals: false, noUnusedParameters: false };
  const compilerOptions = { ...configuration.compilerOptions, ...overridden };
  writeFileSync(join(to, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
}

/** The messages of the compiler by file, without positions, which a change can move. */
async function errorsBelow(root: string, directory: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const compiler = spawn(
    process.execPath,
    [join(root, 'node_modules/typescript/lib/tsc.js'), '--noEmit', '--pretty', 'false'],
    {
      cwd: directory,
      // Fewer garbage collections: see TYPES in scripts/test.ts.
      env: { ...process.env, GOGC: '400' },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const [output] = await Promise.all([textOf(compiler.stdout), once(compiler, 'close')]);
  const errors = new Map<string, string[]>();
  for (const line of output.split('\n')) {
    const { file, what } = ERROR.exec(line)?.groups ?? {};
    if (file === undefined || what === undefined) continue;
    // A message contains the file name if two classes have the same name.
    const said = what.replaceAll(file.replace(/\.ts$/, ''), '');
    errors.set(file, [...(errors.get(file) ?? []), said]);
  }
  if (errors.size === 0 && compiler.exitCode !== 0)
    throw new Error(`the compiler cannot be run: ${output.slice(0, 500)}`);
  return errors;
}
