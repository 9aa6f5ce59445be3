import { dirname } from 'node:path/posix';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import type { Memory } from '../../step/memory.ts';

/** The change that writes it; its note has the path. */
export const FILE_CHANGE = 'sentinel/file';

/** The contract of Cluster API's bootstrap providers (docs/book/src/developer/providers/contracts/bootstrap-config.md). */
const SENTINEL_CONTENT = 'success\n';
const FILE_MODE = 0o644;
const DIRECTORY_MODE = 0o755;

/** Writes the sentinel with the owner, modes and content of the contract, whatever the umask. */
export async function writeSentinel(host: Host, path: string): Promise<void> {
  const directory = dirname(path);
  const mode = (await host.stat(directory))?.mode;
  if (mode === undefined) await host.makeDirectory(directory, DIRECTORY_MODE);
  // Whoever made it before may have had an umask that takes away what its readers need. A wider one is left.
  else if (!mayBeRead(mode)) await host.chmod(directory, DIRECTORY_MODE);
  await host.writeFile({ path, content: SENTINEL_CONTENT, mode: FILE_MODE, directoryMode: DIRECTORY_MODE });
}

export async function inspectSentinel(host: QueryHost, path: string): Promise<'right' | 'wrong' | 'absent'> {
  const stat = await host.stat(path);
  if (stat === undefined) return 'absent';
  if (stat.type !== 'file' || stat.mode !== FILE_MODE) return 'wrong';
  return (await host.readText(path)) === SENTINEL_CONTENT ? 'right' : 'wrong';
}

export function mayBeRead(directoryMode: number | undefined): boolean {
  return directoryMode !== undefined && (directoryMode & DIRECTORY_MODE) === DIRECTORY_MODE;
}

/** Where the sentinel of this machine is; undefined: there was none. */
export function sentinelPath(made: Pick<Memory, 'note'>): string | undefined {
  return text(member(made.note('sentinel', FILE_CHANGE), 'path'));
}
