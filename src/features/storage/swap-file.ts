import { posix } from 'node:path';
import type { SourceMount } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import { placeOf } from '../../block-devices/mounted.ts';
import type { Host } from '../../host/seam/host.ts';
import type { Execution } from '../../step/index.ts';

const MEBIBYTE = 2 ** 20;

/** Programs that create a swap file. */
export const SWAP_FILE_PROGRAMS = ['install', 'dd', 'mkswap', 'mv', 'swapon'];

/** The name of a swap file until it is complete. */
export function unfinished(file: string): string {
  return `${file}.machineadm`;
}

/**
 * Creates a swap file under another name and renames it when it is complete: what a killed run leaves is never mistaken
 * for a swap file, and is replaced by the next one. Written with zeros, as swapon(8) advises for every file system.
 *
 * @param place where the document has it
 */
export async function createSwapFile(
  host: Host,
  { source, sizeBytes = 0 }: SourceMount,
  place: string,
  execution: Execution,
): Promise<void> {
  const directory = posix.dirname(source);
  const file = unfinished(source);
  const run = async (program: string, ...args: readonly string[]): Promise<void> => {
    const changes = [`swap-file:${file}`, ...(program === 'mv' ? ([`swap-file:${source}`] as const) : [])] as const;
    const { status, stderr } = await host.run({ program, args, signal: execution.signal, changes });
    if (status === 0) return;
    const text = lastLine(stderr);
    // It may have filled the file system.
    await host.run({ program: 'rm', args: ['-f', '--', file], changes: [`swap-file:${file}`] });
    throw notCreated(source, place, program, text);
  };
  await host.makeDirectory(directory, 0o755);
  await run('install', '-m', '0600', '/dev/null', file);
  // swapon(2) refuses a file with copy-on-write (btrfs(5), SWAPFILE SUPPORT); only an empty one can be changed.
  if ((await placeOf(host, directory))?.type === 'btrfs') await run('chattr', '+C', file);
  execution.waitingFor(`${sizeBytes / MEBIBYTE} MiB of zeros to be written to ${source}`);
  await run('dd', 'if=/dev/zero', `of=${file}`, 'bs=1M', `count=${sizeBytes / MEBIBYTE}`, 'conv=notrunc,fsync');
  execution.waitingFor(undefined);
  await run('mkswap', file);
  await run('mv', '-f', '--', file, source);
  await host.sync(directory);
}

function notCreated(file: string, place: string, program: string, text: string): MachineadmError {
  return new MachineadmError({
    reason: 'MountFailed',
    summary: `The swap file ${file} could not be created (${place}).`,
    remedy: `Check the free space and the type of the file system ("findmnt --target ${posix.dirname(file)} -o FSTYPE,AVAIL").`,
    evidence: [{ source: program, text }],
    retryable: true,
  });
}
