import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';

/** The fields that are used of the report of a process (https://nodejs.org/api/cli.html#node_v8_coveragedir). */
const Report = z.object({
  result: z.array(
    z.object({
      url: z.string(),
      functions: z.array(
        z.object({
          ranges: z.array(z.object({ startOffset: z.int(), endOffset: z.int(), count: z.int() })),
        }),
      ),
    }),
  ),
});

/** A range of a source that ran or did not run. Ranges are nested, and the innermost one applies. */
interface Range {
  readonly start: number;
  readonly end: number;
  readonly isRun: boolean;
}

/** Which places of the sources a test ran. */
export class Coverage {
  /** By source, each the ranges of one process. */
  readonly #processes = new Map<string, (readonly Range[])[]>();

  /** Reads all reports of a directory. Only files below the root count; their names are relative to it. */
  static read(directory: string, root: string): Coverage {
    const coverage = new Coverage();
    for (const name of globSync('*.json', { cwd: directory }))
      coverage.#add(readFileSync(join(directory, name), 'utf8'), root);
    return coverage;
  }

  #add(text: string, root: string): void {
    for (const { url, functions } of Report.parse(JSON.parse(text)).result) {
      if (!url.startsWith('file://') || url.includes('/node_modules/')) continue;
      const path = fileURLToPath(url);
      if (!path.startsWith(`${root}/`)) continue;
      const file = path.slice(root.length + 1);
      const ranges = functions.flatMap((one) =>
        one.ranges.map(({ startOffset, endOffset, count }) => ({
          start: startOffset,
          end: endOffset,
          isRun: count > 0,
        })),
      );
      this.#processes.set(file, [...(this.#processes.get(file) ?? []), ranges]);
    }
  }

  /** Whether the test ran the code at this offset of a source. */
  has(file: string, offset: number): boolean {
    return (this.#processes.get(file) ?? []).some((ranges) => {
      let smallest: Range | undefined;
      for (const range of ranges) {
        const holds = range.start <= offset && offset < range.end;
        if (holds && (smallest === undefined || range.end - range.start <= smallest.end - smallest.start))
          smallest = range;
      }
      return smallest?.isRun === true;
    });
  }
}
