import { chmod, writeFile } from 'node:fs/promises';
import { MachineadmError } from '../document/errors.ts';

/** Writes a file for its owner alone, one that was there included. Throws `FileNotWritten`. */
export async function writeSecretFile(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { mode: 0o600 });
    // One that was there keeps its mode otherwise.
    await chmod(path, 0o600);
  } catch (cause) {
    throw new MachineadmError({
      reason: 'FileNotWritten',
      summary: `${path} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`,
      remedy: 'Give another path with --to, or leave it out for standard output.',
      exit: 'Refused',
      cause,
    });
  }
}
