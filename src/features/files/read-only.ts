import { unescapeOctal } from '../../host/files/paths.ts';
import type { QueryHost } from '../../host/seam/host.ts';

/** The mount points of file systems that are mounted read-only, and all others, from proc_pid_mountinfo(5). */
async function mounts(host: QueryHost): Promise<ReadonlyMap<string, 'ro' | 'rw'>> {
  const lines = ((await host.readText('/proc/self/mountinfo')) ?? '').split('\n');
  return new Map(
    lines.flatMap((line) => {
      const [, , , , path, options] = line.split(' ');
      const superOptions = line.split(' - ')[1]?.split(' ')[2] ?? '';
      if (path === undefined || options === undefined) return [];
      const isReadOnly = [options, superOptions].some((list) => list.split(',').includes('ro'));
      return [[unescapeOctal(path), isReadOnly ? 'ro' : 'rw'] as const];
    }),
  );
}

/** The mount point because of which each of these paths cannot be written, by path. */
export async function readOnlyMounts(host: QueryHost, paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const mounted = await mounts(host);
  const found = new Map<string, string>();
  for (const path of paths) {
    const closest = [...mounted.keys()]
      .filter((point) => point === '/' || path.startsWith(`${point}/`))
      .reduce((longest, point) => (point.length >= longest.length ? point : longest), '');
    if (mounted.get(closest) === 'ro') found.set(path, closest);
  }
  return found;
}

/** The mount point of the file system that has a path. */
export function closestMountPoint(mountPoints: readonly string[], path: string): string {
  const above = mountPoints.filter((point) => point === '/' || path.startsWith(`${point}/`));
  return above.reduce((closest, point) => (point.length > closest.length ? point : closest), '/');
}
