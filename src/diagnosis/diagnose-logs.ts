import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { MachineadmError } from '../document/errors.ts';
import type { ObservedLine } from './observed-line.ts';
import { readSavedLog } from './saved-log.ts';
import { judge, type Verdict } from './verdict.ts';

/** The end of a log tells how it ended; of a longer one, what lies before this is left out. */
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * Judges saved logs, all of them of one machine and one bootstrap. Throws `LogUnreadable` for a file that cannot be read.
 * @param exitStatus of kubeadm, where it is known
 */
export async function diagnoseLogs(paths: readonly string[], exitStatus?: number): Promise<Verdict> {
  const lines: ObservedLine[] = [];
  for (const path of paths) {
    const read = readSavedLog(await lastPart(path), path);
    const name = basename(path);
    lines.push(...(paths.length === 1 ? read : read.map((line) => ({ ...line, origin: `${line.origin} (${name})` }))));
  }
  return judge(lines, exitStatus);
}

/** `-` is standard input, as everywhere. */
async function lastPart(path: string): Promise<string> {
  try {
    const file = await open(path === '-' ? '/dev/stdin' : path, 'r');
    try {
      const { size } = await file.stat();
      if (size <= MOST_BYTES) return new TextDecoder().decode(await file.readFile());
      const buffer = Buffer.alloc(MOST_BYTES);
      const { bytesRead } = await file.read(buffer, 0, MOST_BYTES, size - MOST_BYTES);
      return new TextDecoder().decode(buffer.subarray(0, bytesRead));
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new MachineadmError({
      reason: 'LogUnreadable',
      summary: `the log ${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      remedy: 'Name a file that exists and that you may read, or - for standard input.',
      cause: error,
    });
  }
}
