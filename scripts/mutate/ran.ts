/**
 * Imported by the sources of a test whose coverage is recorded (blocks.ts): writes down each block when it runs for the first
 * time, at once, because many of these processes are killed. V8 would write its coverage when a process ends, and of a bundle.
 */
import { openSync, writeSync } from 'node:fs';

/** Below /dev, which the throw-away machines of the tests share. The bundler writes its value here. */
const DIRECTORY = process.env.MACHINEADM_RAN;

let file: number | undefined;

function write(line: string): void {
  try {
    file ??= openSync(`${DIRECTORY}/${process.pid}-${process.hrtime.bigint()}`, 'a', 0o600);
    writeSync(file, line);
  } catch {
    // A test without this directory is not shown the mutants of what runs there alone.
  }
}

/** What the blocks of a source call, each with its place. */
export function ran(source: string): (block: number) => void {
  const seen = new Set<number>();
  return (block) => {
    if (seen.has(block)) return;
    seen.add(block);
    write(`${source} ${block}\n`);
  };
}
