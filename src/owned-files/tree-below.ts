import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { mountPointsOf } from '../host/files/paths.ts';
import type { FileStat, QueryHost } from '../host/seam/host.ts';

/** A document should not change a tree of more entries one by one. */
const MOST_ENTRIES = 100_000;

export interface TreeEntry {
  readonly path: string;
  readonly stat: FileStat;
}

/**
 * All that is in a directory, each directory before what is in it. A link is an entry and never followed, and what is mounted
 * below is neither entered nor named.
 *
 * @param skips whether the entry at a path is left out with all that is in it
 */
export async function entriesBelow(
  host: QueryHost,
  directory: string,
  skips: (path: string) => boolean = () => false,
): Promise<readonly TreeEntry[]> {
  const mounted = new Set(await mountsBelow(host, directory));
  const found: TreeEntry[] = [];
  const enter = async (within: string): Promise<void> => {
    for (const name of (await host.list(within)) ?? []) {
      const path = `${within === '/' ? '' : within}/${name}`;
      if (mounted.has(path) || skips(path)) continue;
      const stat = await host.stat(path);
      if (stat === undefined) continue;
      if (found.length >= MOST_ENTRIES) throw tooMany(directory);
      found.push({ path, stat });
      if (stat.type === 'directory') await enter(path);
    }
  };
  await enter(directory);
  return found;
}

/** Mount points at and below a directory, by the path that leads to them through it. */
export async function mountsBelow(host: QueryHost, directory: string): Promise<readonly string[]> {
  const mountinfo = await host.readText('/proc/self/mountinfo');
  const real = await host.realPath(directory);
  return mountPointsOf(mountinfo ?? '')
    .filter((point) => point === real || point.startsWith(`${real}/`))
    .map((point) => `${directory}${point.slice(real.length)}`);
}

function tooMany(directory: string): MachineadmError {
  return new MachineadmError({
    reason: 'FileNotWritten',
    summary: `${directory} holds more than ${MOST_ENTRIES} entries, which are not changed one by one`,
    remedy: 'Use a subdirectory, or do it in a hook.',
  });
}
