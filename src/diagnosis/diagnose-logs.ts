import { basename } from 'node:path';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { ObservedLine } from '@machineadm/failures/observed-line.ts';
import { readSavedLog } from '@machineadm/failures/saved-log.ts';
import { TellingLines } from '@machineadm/failures/telling-lines.ts';
import { type Verdict, verdict } from '@machineadm/failures/verdict.ts';
import { readPieces } from '../host/local-files/input-file.ts';

/**
 * A log up to this size is analysed whole. Of a longer one, only lines that can match an entry of the catalogue are
 * kept.
 */
const MOST_WHOLE_BYTES = 2 * 1024 * 1024;

/**
 * Judges saved logs, all of them of one machine and one bootstrap. They may be of any length: they are read as streams, in
 * memory that does not grow with them. Throws `LogUnreadable` for a file that cannot be read.
 * @param exitStatus of kubeadm, where it is known
 */
export async function diagnoseLogs(paths: readonly string[], exitStatus?: number): Promise<Verdict> {
  const lines: ObservedLine[] = [];
  for (const path of paths) {
    const name = basename(path);
    for (const line of readLog(path)) {
      lines.push(paths.length === 1 ? line : { ...line, origin: `${line.origin} (${name})` });
    }
  }
  return verdict({ lines, exitStatus });
}

/** `-` is standard input. */
function readLog(path: string): readonly ObservedLine[] {
  const telling = new TellingLines(path);
  const whole: Uint8Array[] = [];
  let size = 0;
  try {
    for (const chunk of readPieces(path)) {
      size += chunk.length;
      if (size <= MOST_WHOLE_BYTES) whole.push(chunk);
      else for (const held of [...whole.splice(0), chunk]) telling.add(held);
    }
  } catch (error) {
    throw new MachineadmError({
      reason: 'LogUnreadable',
      summary: `the log ${path} cannot be read: ${causeOf(error)}`,
      remedy: 'Use a file that exists and that you may read, or - for stdin.',
      cause: error,
    });
  }
  if (size > MOST_WHOLE_BYTES) return telling.lines();
  return readSavedLog(new TextDecoder().decode(Buffer.concat(whole)), path);
}

const CAUSES: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
};

function causeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return CAUSES[code] ?? errorMessage(error);
}
