import { lastLine } from '@machineadm/document/text/printable.ts';
import type { QueryHost } from '../host/seam/host.ts';

/** What is free on the file system that a path is on, or will be; undefined where findmnt(8) does not tell. */
export async function freeBytes(host: QueryHost, path: string): Promise<number | undefined> {
  for (let at = path; ; at = at.slice(0, at.lastIndexOf('/')) || '/') {
    const args = ['-n', '-r', '-b', '-o', 'AVAIL', '--target', `${at === '/' ? '' : at}/.`];
    const { status, stdout } = await host.query({ program: 'findmnt', args, timeoutMs: 5000 });
    // The last line is the file system on top.
    const free = Number(lastLine(stdout) || Number.NaN);
    if (status === 0 && !Number.isNaN(free)) return free;
    if (at === '/') return undefined;
  }
}
