import { open } from 'node:fs/promises';
import { MachineadmError } from '../document/errors.ts';
import { exitCode } from '../document/exit-codes.ts';
import { makeBundle } from '../pipeline/bundle.ts';
import { buildInfo } from './build-info.ts';
import { printNotice } from './output.ts';

/** `machineadm bundle`: what a bug report needs, without secrets, in one file that only its owner may read. */
export async function bundle(options: {
  readonly document?: readonly string[];
  readonly output: string;
}): Promise<number> {
  const bytes = await makeBundle(options.document ?? [], buildInfo().version);
  if (options.output === '-') {
    process.stdout.write(bytes);
    return exitCode('Success');
  }
  await write(options.output, bytes);
  printNotice(`wrote ${options.output} (${Math.ceil(bytes.length / 1024)} KiB); look through it before you hand it on`);
  return exitCode('Success');
}

async function write(path: string, bytes: Uint8Array): Promise<void> {
  try {
    const file = await open(path, 'w', 0o600);
    try {
      await file.chmod(0o600);
      await file.writeFile(bytes);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new MachineadmError({
      reason: 'FileNotWritten',
      exit: 'Refused',
      summary: `the bundle cannot be written to ${path}: ${error instanceof Error ? error.message : String(error)}`,
      remedy: 'Name another file with -o, or - for standard output.',
      cause: error,
    });
  }
}
