import type { TrustMemory } from './memory.ts';
import { parseRoot, rolledBack, verifyNext, verifyRoot } from './root.ts';
import type { TrustedRoots, TrustRoot } from './store.ts';

/**
 * The roots from that of the trust directory to the newest one that this machine has seen; each is verified here. A
 * newer root in the directory is trusted as it is: the directory belongs to the operator. An older one does not lead
 * back. Throws `RolledBack`, and the errors of `verifyNext`.
 *
 * @param revoked ids of keys that the operator revoked
 */
export async function newestRoot(
  anchor: TrustRoot,
  memory: TrustMemory,
  revoked: ReadonlySet<string>,
  path: string,
): Promise<TrustedRoots['chain']> {
  await verifyRoot(anchor, revoked, path);
  const seen = rootsOf(memory, anchor.name).sort((one, other) => one.version - other.version);
  const newest = seen.at(-1);
  if (newest === undefined || newest.version < anchor.version) return [anchor];
  const same = seen.find(({ version }) => version === anchor.version);
  if (same?.sha256 !== anchor.sha256) throw rolledBack(anchor, newest.version, path);
  let chain: TrustedRoots['chain'] = [anchor];
  for (const next of seen.filter(({ version }) => version > anchor.version)) {
    await verifyNext(chain.at(-1) ?? anchor, next, revoked, 'the memory of this machine');
    chain = [...chain, next];
  }
  return chain;
}

function rootsOf({ roots = [] }: TrustMemory, name: string): TrustRoot[] {
  return roots.filter((one) => one.name === name).map(({ text }) => parseRoot(text, 'the memory of this machine'));
}
