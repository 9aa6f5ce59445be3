import type { FileStat, Host, QueryHost } from '../host/seam/host.ts';
import type { Execution, OwnedPlace } from '../step/index.ts';
import { blockIn, type Comment, withoutBlock } from './marked-block.ts';
import { mountsBelow } from './tree-below.ts';

/** A value that changes with the content of a file, but not with a reboot: its size, inode and modification time. */
export function stampOf({ fingerprint, size }: FileStat): string | undefined {
  return fingerprint === undefined ? undefined : `${size}:${fingerprint.slice(fingerprint.indexOf(':') + 1)}`;
}

/**
 * Why something that an earlier run created must not be removed; undefined: it may be removed.
 *
 * @param going paths that are removed before it
 */
export async function whyKept(
  host: QueryHost,
  path: string,
  owned: OwnedPlace,
  going: readonly string[],
): Promise<string | undefined> {
  const stat = await host.stat(path);
  if (stat === undefined) return undefined;
  switch (owned.type) {
    case 'file':
      if (owned.stamp === undefined) return 'a run was killed while it wrote it';
      return stat.type === 'file' && stampOf(stat) === owned.stamp ? undefined : 'it was changed since';
    case 'block':
      return (await blockAt(host, path, owned)) === undefined ? 'it no longer has this block' : undefined;
    case 'link':
      return (await host.readLink(path)) === owned.target ? undefined : 'it was changed since';
    case 'directory': {
      if (stat.type !== 'directory') return 'it was changed since';
      if ((await mountsBelow(host, path)).length > 0) return 'something is mounted there';
      const others = ((await host.list(path)) ?? []).filter((name) => !going.includes(`${path}/${name}`));
      return others.length === 0 ? undefined : `it holds ${others[0]}, which no run of this document made`;
    }
  }
}

/** The file as text of one character a byte, with and without the block; undefined where it has none. */
async function blockAt(
  host: QueryHost,
  path: string,
  { block }: OwnedPlace,
): Promise<{ readonly without: string } | undefined> {
  const bytes = (await host.stat(path))?.type === 'file' ? await host.readFile(path) : undefined;
  const comment = block?.comment as Comment | undefined;
  const text = bytes === undefined ? '' : Buffer.from(bytes).toString('latin1');
  if (block === undefined || blockIn(text, block.name, comment) === undefined) return undefined;
  return { without: withoutBlock(text, block.name, comment) };
}

/** Removes our block and leaves the rest of the file to its owner. */
export async function removeBlock(host: Host, path: string, owned: OwnedPlace, execution: Execution): Promise<void> {
  const [stat, rest] = [await host.stat(path), await blockAt(host, path, owned)];
  if (stat !== undefined && rest !== undefined) {
    const { mode, uid, gid } = stat;
    await host.writeFile({ path, content: Buffer.from(rest.without, 'latin1'), mode, uid, gid });
  }
  execution.release(path, `path:${path}`);
}
