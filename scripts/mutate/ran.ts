/**
 * Imported by sources with probes (blocks.ts): records each block immediately when it runs for the first time, because many
 * of these processes are killed. V8 would write its coverage only when a process exits, and for the bundle.
 */
import { openSync, writeSync } from 'node:fs';

/** A directory below /dev, which the disposable machines of the tests share. The bundler inserts its value here. */
const DIRECTORY = process.env.MACHINEADM_RAN;

let file: number | undefined;

function write(line: string): void {
  try {
    file ??= openSync(`${DIRECTORY}/${process.pid}-${process.hrtime.bigint()}`, 'a', 0o600);
    writeSync(file, line);
  } catch {
    // A process that cannot write to this directory records nothing: the blocks that only it runs count as not covered.
  }
}

/** Returns the function that the probes of a source call with the offset of their block. */
export function ran(source: string): (block: number) => void {
  const seen = new Set<number>();
  return (block) => {
    if (seen.has(block)) return;
    seen.add(block);
    write(`${source} ${block}\n`);
  };
}
