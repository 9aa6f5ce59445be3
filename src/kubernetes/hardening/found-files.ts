import { pathGlob } from '@machineadm/document/text/glob.ts';
import type { FoundFile } from '@machineadm/hardening/observed.ts';
import { FileError } from '../../host/files/file-error.ts';
import type { QueryHost } from '../../host/seam/host.ts';

const DEEPEST = 12;

/**
 * The existing paths that match a pattern: `*` is any part of a name, `**` everything below, directories included.
 * Symbolic links are not followed and not returned: they have no mode of their own.
 */
export async function expandPattern(host: QueryHost, pattern: string): Promise<readonly FoundFile[]> {
  // With a merged /usr, /lib is a link to /usr/lib, which other patterns cover.
  if (pattern.startsWith('/lib/') && (await host.stat('/lib'))?.type === 'symlink') return [];
  const segments = pattern.split('/').slice(1);
  return await walk(host, '', segments, DEEPEST);
}

async function walk(
  host: QueryHost,
  at: string,
  [segment, ...rest]: readonly string[],
  depth: number,
): Promise<readonly FoundFile[]> {
  if (segment === undefined || depth === 0) return [];
  const found: FoundFile[] = [];
  const names = segment.includes('*') ? await namesIn(host, at) : [segment];
  const wanted = pathGlob(segment);
  const matching = names.filter((name) => wanted.matches(name));
  // `**` also matches no directory at all: pki/**/*.crt matches pki/ca.crt.
  if (segment === '**' && rest.length > 0) found.push(...(await walk(host, at, rest, depth)));
  for (const name of matching) {
    const path = `${at}/${name}`;
    const stat = await host.stat(path);
    const type = stat?.type;
    if (stat === undefined || (type !== 'file' && type !== 'directory')) continue;
    const { mode, uid, gid } = stat;
    if (segment === '**') {
      const isUnread = type === 'directory' && !(await isReadable(host, path));
      if (rest.length === 0 || isUnread) {
        found.push({ path, type, mode, uid, gid, ...(isUnread ? ({ isUnread } as const) : {}) });
      }
      if (type === 'directory' && !isUnread) found.push(...(await walk(host, path, [segment, ...rest], depth - 1)));
    } else if (rest.length === 0) found.push({ path, type, mode, uid, gid });
    else found.push(...(await walk(host, path, rest, depth - 1)));
  }
  return found;
}

/** Whether a user other than root cannot have put this directory where it is. */
async function isReadable(host: QueryHost, directory: string): Promise<boolean> {
  try {
    await host.list(directory);
    return true;
  } catch (error) {
    if (error instanceof FileError && error.reason === 'UnsafePath') return false;
    throw error;
  }
}

async function namesIn(host: QueryHost, directory: string): Promise<readonly string[]> {
  const stat = await host.stat(directory);
  return stat?.type === 'directory' ? ((await host.list(directory)) ?? []) : [];
}
