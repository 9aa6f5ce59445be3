import { join } from 'node:path';
import { MachineadmError } from '@machineadm/document/errors.ts';
import { exitCode } from '@machineadm/document/exit-codes.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { type OutputFormat, printData, printNotice } from '../../cli/output.ts';
import { makeOutputDirectory, writeOutputFile } from '../../host/files/output-file.ts';
import { makeBundle } from './run.ts';

export interface BundleOptions {
  readonly document?: readonly string[];
  readonly output: OutputFormat;
  readonly outputFile?: string;
  readonly outputDir?: string;
}

const FILE_NAME = 'machineadm-bundle.tar.gz';

/** `machineadm bundle`: collects what a bug report needs, without secrets, in one file that only its owner may read. */
export async function bundle(options: BundleOptions): Promise<number> {
  const { output, outputFile, outputDir } = options;
  if (outputFile !== undefined && outputDir !== undefined) {
    throw usage('--output-file and --output-dir exclude each other', 'Give one of them.');
  }
  if (outputFile === '-' && output !== 'text') {
    throw usage(`-o ${output} and --output-file - both print to stdout`, 'Write the bundle into a file.');
  }
  const bytes = await makeBundle(options.document ?? [], buildInfo().version);
  if (outputFile === '-') {
    process.stdout.write(bytes);
    return exitCode('Success');
  }
  if (outputDir !== undefined) makeOutputDirectory(outputDir, '--output-dir');
  const path = outputFile ?? join(outputDir ?? '', FILE_NAME);
  writeOutputFile(path, bytes, '--output-file, or - for stdout');
  if (output !== 'text') await printData(output, 'Bundle', { path, bytes: bytes.length });
  printNotice(`wrote ${path} (${Math.ceil(bytes.length / 1024)} KiB); read it before you share it`);
  return exitCode('Success');
}

function usage(summary: string, remedy: string): MachineadmError {
  return new MachineadmError({ reason: 'UsageInvalid', summary, remedy });
}
