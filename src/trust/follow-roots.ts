import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { extendTrustMemory, type TrustMemory } from './memory.ts';
import { looksLikeWebPage, refusal } from './refusals.ts';
import { parseRoot, ROOT_LIMIT, verifyNext } from './root.ts';
import { newestRoot } from './root-chain.ts';
import type { Source } from './source.ts';
import type { TrustRoot, TrustStore } from './store.ts';

/** How many roots one trust directory can lead to: whoever stole the keys must not fill the memory. */
const LONGEST_CHAIN = 64;

/** Where a location has a root, below its base. */
export function pathOfRoot({ name }: Pick<TrustRoot, 'name'>, version: number): string {
  return `roots/${name}/${version}.json`;
}

/** What the memory keeps of roots. */
export function remembered(roots: readonly TrustRoot[]): NonNullable<TrustMemory['roots']> {
  return roots.map(({ name, version, text }) => ({ name, version, text }));
}

/**
 * The trust store with the newest root that the memory and a location lead to. Each root is remembered before anything
 * is verified by it. Without a root in the trust directory nothing is changed. A location that has no newer root, or
 * withholds it, cannot be told from another: the expiry of the root ends that. Throws the errors of `verifyNext` and
 * `newestRoot`, and `FileError`.
 */
export async function followRoots(
  source: Source,
  trust: TrustStore,
  memory: TrustMemory,
  memoryPath: string,
  left: { readonly ms: number },
): Promise<TrustStore> {
  if (trust.roots === undefined) return trust;
  const { chain: known, revoked } = trust.roots;
  let chain = await newestRoot(known[0], memory, revoked, 'the trust directory');
  for (;;) {
    const newest = chain.at(-1) ?? chain[0];
    const file = pathOfRoot(newest, newest.version + 1);
    const where = `${source.name}/${file}`;
    const text = await textAt(source, file, left);
    if (text === undefined) break;
    if (chain.length === LONGEST_CHAIN) {
      throw refusal(
        'TrustRootRefused',
        `${where} is the root after ${LONGEST_CHAIN} others`,
        [],
        'Install a newer root: machineadm trust install FILE.',
      );
    }
    const next = parseRoot(text, where);
    await verifyNext(newest, next, revoked, where);
    chain = [...chain, next];
  }
  await extendTrustMemory(memoryPath, { roots: remembered(chain) });
  return { ...trust, ...(chain.at(-1) ?? chain[0]).lists, roots: { chain, revoked } };
}

/** undefined: the location does not have it. Many servers answer with a page instead. */
async function textAt(source: Source, file: string, left: { readonly ms: number }): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of source.open(file, ROOT_LIMIT, left)) pieces.push(piece);
  } catch (error) {
    if (error instanceof MachineadmError && error.reason === 'ReleaseUnavailable') return undefined;
    throw error;
  }
  const bytes = Buffer.concat(pieces);
  return looksLikeWebPage(bytes) ? undefined : bytes.toString('utf8');
}
