import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { importsOf, resolveImport } from '../../test/unit/import-graph.ts';

/** Added to the distance of tests of another room; greater than any distance. */
const OTHER_ROOM = 100;
/** Tests of whole commands. */
const COMMANDS = /^test\/unit\/commands\/.*transcripts\.test\.ts$/;

/** Finds the unit tests for a source file in the graph of imports. */
export class TestsByImport {
  /** The importers of each file, without type imports. */
  readonly #importers = new Map<string, Set<string>>();
  /** The other way round. */
  readonly #imports = new Map<string, Set<string>>();

  constructor(root: string) {
    const files = new Set(globSync('{src,packages/*/src,scripts,test/{unit,thorough,support}}/**/*.ts', { cwd: root }));
    for (const file of files) {
      for (const { specifier, kind } of importsOf(readFileSync(join(root, file), 'utf8'))) {
        const target = kind === 'type' ? undefined : resolveImport(file, specifier);
        // A test may contain the text of another module.
        if (target === undefined || !files.has(target)) continue;
        this.#importers.set(target, (this.#importers.get(target) ?? new Set()).add(file));
        this.#imports.set(file, (this.#imports.get(file) ?? new Set()).add(target));
      }
    }
  }

  /** A file and all files that it imports directly or indirectly, sorted. */
  closureOf(file: string): readonly string[] {
    const closure = new Set([file]);
    // The loop adds entries to the set that it iterates over.
    for (const at of closure) for (const imported of this.#imports.get(at) ?? []) closure.add(imported);
    return [...closure].sort();
  }

  /**
   * The test files that import it directly or indirectly: first those with its name, then those of its room, then the
   * others, each group by distance. Many tests of other rooms import a file only for their setup.
   */
  of(file: string): readonly string[] {
    const name = basename(file, '.ts');
    const distance = new Map([[file, 0]]);
    // The loop adds entries to the map that it iterates over (breadth-first search).
    for (const [at, steps] of distance) {
      for (const importer of this.#importers.get(at) ?? [])
        if (!distance.has(importer)) distance.set(importer, steps + 1);
    }
    const rooms = ['unit', 'thorough'].map((part) => `test/${part}/${file.split('/')[1]}/`);
    const rank = (test: string): number => {
      const own = basename(test);
      if (own === `${name}.test.ts`) return 0;
      // Their output depends on almost every source, so that they precede those of other rooms.
      if (COMMANDS.test(test)) return OTHER_ROOM - 1;
      // The generated files contain text from almost every source, so their test detects many changes at any distance.
      return own === 'generate.test.ts'
        ? 1.5
        : (distance.get(test) ?? 0) + (rooms.some((room) => test.startsWith(room)) ? 0 : OTHER_ROOM);
    };
    return [...distance.keys()]
      .filter((one) => /^test\/(?:unit|thorough)\/.*\.test\.ts$/.test(one))
      .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  }
}
