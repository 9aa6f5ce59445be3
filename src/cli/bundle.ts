import { exitCode } from '@machineadm/document/exit-codes.ts';
import { makeBundle } from '../pipeline/bundle.ts';
import { writeOutputFile } from '../pipeline/output-file.ts';
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
  writeOutputFile(options.output, bytes, '-o, or - for standard output');
  printNotice(`wrote ${options.output} (${Math.ceil(bytes.length / 1024)} KiB); look through it before you hand it on`);
  return exitCode('Success');
}
