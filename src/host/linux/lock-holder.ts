import type { QueryHost } from '../seam/host.ts';

/** The process that holds a lock on a file now, by proc_locks(5); undefined if none does, or it cannot be seen. */
export async function lockHolder(
  host: Pick<QueryHost, 'stat' | 'readText'>,
  path: string,
): Promise<{ readonly pid: number; readonly name: string } | undefined> {
  const inode = (await host.stat(path))?.fingerprint?.split(':')[1];
  const locks = (await host.readText('/proc/locks')) ?? '';
  for (const line of inode === undefined ? [] : locks.split('\n')) {
    // Lines with an arrow wait for a lock.
    const [, pid, of] = /^\d+: \w+ +\w+ +\w+ +(\d+) [\da-f]+:[\da-f]+:(\d+) /.exec(line) ?? [];
    if (pid === undefined || of !== inode) continue;
    const name = (await host.readText(`/proc/${pid}/comm`))?.trim();
    if (name !== undefined) return { pid: Number(pid), name };
  }
  return undefined;
}
