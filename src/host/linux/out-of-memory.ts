import { readFileSync } from 'node:fs';
import type { Evidence } from '@machineadm/document/outcomes/errors.ts';

/** A counter of processes that the kernel killed for lack of memory. */
export interface OutOfMemoryCounter {
  readonly file: string;
  readonly kills: number;
}

/** The mount points of /proc and the control groups; a parameter for tests. */
export interface KernelFiles {
  readonly proc: string;
  readonly cgroups: string;
}

const KERNEL_FILES: KernelFiles = { proc: '/proc', cgroups: '/sys/fs/cgroup' };

/**
 * The number of processes in this process's control group, which includes its children, that the kernel killed for lack
 * of memory: `oom_kill` of memory.events counts kills "by any kind of OOM killer" (Linux
 * Documentation/admin-guide/cgroup-v2.rst), memory.oom_control has the same in version 1 (cgroup-v1/memory.rst).
 *
 * @returns undefined in a root control group and without the memory controller: nothing is counted there
 */
export function outOfMemoryKills(kernel: KernelFiles = KERNEL_FILES): OutOfMemoryCounter | undefined {
  for (const file of counterFiles(kernel)) {
    const kills = /^oom_kill (\d+)$/m.exec(readIfPossible(file) ?? '')?.[1];
    if (kills !== undefined) return { file, kills: Number(kills) };
  }
  return undefined;
}

/** The kills since the counter was read; undefined where there were none. */
export function outOfMemorySince(before: OutOfMemoryCounter | undefined): Evidence | undefined {
  if (before === undefined) return undefined;
  const kills = /^oom_kill (\d+)$/m.exec(readIfPossible(before.file) ?? '')?.[1];
  if (kills === undefined || Number(kills) <= before.kills) return undefined;
  return { source: before.file, text: `oom_kill ${kills}, before the command ${before.kills}` };
}

/** One `hierarchy:controllers:path` per line (cgroups(7)). The path is relative to the root of the cgroup namespace. */
function counterFiles({ proc, cgroups }: KernelFiles): readonly string[] {
  return (readIfPossible(`${proc}/self/cgroup`) ?? '').split('\n').flatMap((line) => {
    const [, controllers, ...rest] = line.split(':');
    const path = rest.join(':').replace(/\/$/, '');
    if (controllers === '') return ['', '/unified'].map((mount) => `${cgroups}${mount}${path}/memory.events`);
    return controllers?.split(',').includes('memory') === true ? [`${cgroups}/memory${path}/memory.oom_control`] : [];
  });
}

function readIfPossible(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
