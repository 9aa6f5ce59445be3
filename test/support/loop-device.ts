import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DeviceSelector } from '@machineadm/document/model/index.ts';

/** A real block device of a test's own, on a sparse file. */
export interface LoopDevice extends Disposable {
  /** `/dev/loop3` */
  readonly path: string;
  /** `/dev/loop3p1` */
  partition(number: number): string;
}

/** Makes a loop device; `using` detaches it, whatever its test did. Loop devices are those of the one kernel. */
export function loopDevice(mebibytes: number): LoopDevice {
  const directory = mkdtempSync(join(tmpdir(), 'loop-'));
  const file = join(directory, 'disk');
  writeFileSync(file, '');
  truncateSync(file, mebibytes * 2 ** 20);
  const attach = (): string => execFileSync('losetup', ['--find', '--show', file], { encoding: 'utf8' }).trim();
  let path = attach();
  if (path === '/dev/loop1') {
    // A /dev/loop11, which another test may add at any moment, would be its first partition to cloud-init
    // (cc_mounts.py, _get_nth_partition_for_device). It is held until another one is found.
    path = attach();
    spawnSync('losetup', ['--detach', '/dev/loop1']);
  }
  return {
    path,
    partition: (number) => `${path}p${number}`,
    [Symbol.dispose]() {
      for (const device of mountedFrom(path)) spawnSync('umount', ['--lazy', device]);
      spawnSync('partx', ['--delete', path]);
      spawnSync('losetup', ['--detach', path]);
      rmSync(directory, { recursive: true });
    },
  };
}

/**
 * Shell text that gives a device a partition table, and waits half a minute for its first partition. Agents of other tests
 * look at all block devices, and a partition that is open cannot be removed and added again. Where it does not come, what
 * the kernel knows is in the error.
 *
 * @param script of sfdisk(8), in the notation of printf(1)
 */
export function partitionCommand(path: string, script: string): string {
  const isThere = `partx -u ${path} && [ -b ${path}p1 ]`;
  const told = `cat /proc/partitions; partx -s ${path}; losetup -l; ls -l ${path}*`;
  const wait = `n=0; until ${isThere}; do n=$((n+1)); if [ $n -gt 60 ]; then (${told}) >&2; exit 1; fi; sleep 0.5; done`;
  return `printf '${script}' | sfdisk -q ${path} 2>&1; ${wait}`;
}

/** The device of a path in a document, with a short wait. */
export function at(path: string, partition?: number): DeviceSelector {
  return { by: { kind: 'path', path }, partition, waitMs: 2_000 };
}

function mountedFrom(path: string): string[] {
  const { stdout } = spawnSync('lsblk', ['-n', '-l', '-o', 'MOUNTPOINT', path], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('/'))
    .reverse();
}
