import type { QueryHost } from '../../host/seam/host.ts';

/** Where file systems are mounted below /proc/sys, with the options of each: in most containers it is read-only. */
export async function readOnlyMounts(host: QueryHost): Promise<ReadonlyMap<string, boolean>> {
  const mounts = new Map<string, boolean>();
  for (const line of ((await host.readText('/proc/self/mounts')) ?? '').split('\n')) {
    const [, point = '', , options = ''] = line.split(' ');
    // The last one is on top.
    if (point.startsWith('/proc')) mounts.set(point, options.split(',').includes('ro'));
  }
  return mounts;
}

/** Whether the file system that has a path is mounted read-only. */
export function isReadOnly(path: string, readOnly: ReadonlyMap<string, boolean>): boolean {
  const points = [...readOnly.keys()].filter((point) => path === point || path.startsWith(`${point}/`));
  const closest = points.toSorted((a, b) => b.length - a.length)[0];
  return closest !== undefined && readOnly.get(closest) === true;
}
