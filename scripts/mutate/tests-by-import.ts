import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { importsOf, resolveImport } from '../../test/unit/import-graph.ts';

/** More than any file is away from a test. */
const OTHER_ROOM = 100;

/** Which unit tests run a source file, by who imports whom. */
export class TestsByImport {
  /** Who imports a file, types left out. */
  readonly #importers = new Map<string, Set<string>>();

  constructor(root: string) {
    for (const file of globSync('{src,packages/*/src,scripts,test/{unit,thorough,support}}/**/*.ts', { cwd: root })) {
      for (const { specifier, kind } of importsOf(readFileSync(join(root, file), 'utf8'))) {
        const target = kind === 'type' ? undefined : resolveImport(file, specifier);
        if (target !== undefined) this.#importers.set(target, (this.#importers.get(target) ?? new Set()).add(file));
      }
    }
  }

  /**
   * The test files that import it, at first those with its name, then those of its room, then the others, each with the fewest
   * files in between. Tests of other rooms are many, and import a field of the document to set up something else.
   */
  of(file: string): readonly string[] {
    const name = basename(file, '.ts');
    const distance = new Map([[file, 0]]);
    // Grows while it is walked through.
    for (const [at, steps] of distance) {
      for (const importer of this.#importers.get(at) ?? [])
        if (!distance.has(importer)) distance.set(importer, steps + 1);
    }
    const rooms = ['unit', 'thorough'].map((part) => `test/${part}/${file.split('/')[1]}/`);
    const rank = (test: string): number => {
      const own = basename(test);
      if (own === `${name}.test.ts`) return 0;
      // The generated files say of each field and reason what its source says, however far away their test is.
      return own === 'generate.test.ts'
        ? 1.5
        : (distance.get(test) ?? 0) + (rooms.some((room) => test.startsWith(room)) ? 0 : OTHER_ROOM);
    };
    return [...distance.keys()]
      .filter((one) => /^test\/(?:unit|thorough)\/.*\.test\.ts$/.test(one))
      .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  }
}
