import { lastLine } from '@machineadm/document/text/printable.ts';
import type { QueryHost } from '../seam/host.ts';

const MIB = 1024 * 1024;

/** The file system that a path is on, or will be. */
export interface FileSystemSpace {
  /** Where it is mounted. */
  readonly target: string;
  readonly sizeMiB: number;
  readonly freeMiB: number;
  readonly freeBytes: number;
  readonly readOnly: boolean;
}

/** undefined where findmnt(8) reports no size. */
export async function spaceOf(host: Pick<QueryHost, 'query'>, path: string): Promise<FileSystemSpace | undefined> {
  for (let at = path; ; at = at.slice(0, at.lastIndexOf('/')) || '/') {
    const args = ['-n', '-r', '-b', '-o', 'TARGET,SIZE,AVAIL,OPTIONS', '--target', at];
    const { status, stdout } = await host.query({ program: 'findmnt', args, timeoutMs: 5000 });
    // The last line is the file system that is mounted on top.
    const [target, size, free, options] = lastLine(stdout).split(' ');
    if (status === 0 && target !== undefined && Number(size) > 0) {
      return {
        target,
        sizeMiB: Math.floor(Number(size) / MIB),
        freeMiB: Math.floor(Number(free) / MIB),
        freeBytes: Number(free),
        readOnly: options?.split(',').includes('ro') ?? false,
      };
    }
    if (at === '/') return undefined;
  }
}
