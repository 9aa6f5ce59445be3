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
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** The parts of a source that one process ran: the start and the end of each, in the order of the text. */
type RunParts = readonly number[];

/** Which places of the sources a test ran. */
export class Coverage {
  /** By source, each the parts that one process ran. */
  readonly #processes = new Map<string, readonly RunParts[]>();

  /** Reads all reports of a directory. Only files below the root count; their names are relative to it. */
  static read(directory: string, root: string): Coverage {
    const coverage = new Coverage();
    for (const name of globSync('*.json', { cwd: directory }))
      coverage.#add(readFileSync(join(directory, name), 'utf8'), root);
    return coverage;
  }

  /** From the result of `ran`. */
  static from(ran: Readonly<Record<string, readonly RunParts[]>>): Coverage {
    const coverage = new Coverage();
    for (const [file, processes] of Object.entries(ran)) coverage.#processes.set(file, processes);
    return coverage;
  }

  #add(text: string, root: string): void {
    for (const { url, functions } of Report.parse(JSON.parse(text)).result) {
      if (!url.startsWith('file://') || url.includes('/node_modules/')) continue;
      const path = fileURLToPath(url);
      if (!path.startsWith(`${root}/`)) continue;
      const file = path.slice(root.length + 1);
      const parts = runParts(functions.flatMap(({ ranges }) => ranges));
      this.#processes.set(file, [...(this.#processes.get(file) ?? []), parts]);
    }
  }

  /** Whether the test ran the code at this offset of a source. */
  has(file: string, offset: number): boolean {
    return (this.#processes.get(file) ?? []).some((parts) => {
      // Of the starts and ends up to the offset, an odd number means: within a part.
      const next = parts.findIndex((boundary) => boundary > offset);
      return next % 2 === 1;
    });
  }

  /** All of it, as data. */
  ran(): Record<string, readonly RunParts[]> {
    return Object.fromEntries(this.#processes);
  }
}

/** Resolves nested ranges. Of two ranges of the same extent, the later one applies. */
function runParts(ranges: readonly Range[]): RunParts {
  const parts: number[] = [];
  const open: Range[] = [];
  let at = 0;
  const goTo = (offset: number): void => {
    if ((open.at(-1)?.count ?? 0) > 0 && offset > at) {
      if (parts.at(-1) === at) parts[parts.length - 1] = offset;
      else parts.push(at, offset);
    }
    at = Math.max(at, offset);
  };
  for (const range of ranges.toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)) {
    for (let top = open.at(-1); top !== undefined && top.endOffset <= range.startOffset; top = open.at(-1)) {
      goTo(top.endOffset);
      open.pop();
    }
    goTo(range.startOffset);
    open.push(range);
  }
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    goTo(top.endOffset);
    open.pop();
  }
  return parts;
}
