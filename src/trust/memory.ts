import { homedir } from 'node:os';
import { join } from 'node:path';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import * as z from 'zod';
import { withChecksum, withoutChecksum } from '../host/files/checksum.ts';
import { localPath } from '../host/local-files/local-path.ts';
import { placeVerified, readSmallFile } from '../host/local-files/release-files.ts';
import { checkedJson } from './checked-json.ts';
import { compareReleases, isReleaseVersion } from './release-version.ts';
import type { TrustStore } from './store.ts';

const KeyId = z.string().regex(/^[A-Za-z0-9+/]{43}=$/);

const Memory = z.object({
  apiVersion: z.literal('machineadm.dev/trust-memory/v1'),
  /** The newest list of each signed directory, by each key that signed one. */
  directories: z.array(
    z.object({
      place: z.string(),
      key: KeyId,
      version: z.int().positive(),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
  /** Revoked keys, as declared by verified releases and directories. */
  revoked: z.array(KeyId),
  /** The minimum version, as declared by a verified release. */
  minimumVersion: z.string().refine(isReleaseVersion).optional(),
  /** The roots that were trusted. The files themselves, because an older one leads to the newest by those between. */
  roots: z.array(z.object({ name: z.string(), version: z.int().positive(), text: z.string() })).optional(),
});

/** What this machine has learned from verified lists. Without it, a server could offer an older list again. */
export type TrustMemory = z.infer<typeof Memory>;

type SeenDirectory = TrustMemory['directories'][number];

const NOTHING: TrustMemory = { apiVersion: 'machineadm.dev/trust-memory/v1', directories: [], revoked: [] };
const LIMIT = 1024 * 1024;

/** One record for the machine; users other than root have their own. */
export function defaultMemoryPath(): string {
  if (process.platform === 'win32' || process.geteuid?.() === 0) return localPath(`${STATE_DIRECTORY}/trust.json`);
  return join(process.env.XDG_STATE_HOME || join(homedir(), '.local/state'), 'machineadm', 'trust.json');
}

/** Reads the record; a missing file is an empty record. Throws `TrustedKeyInvalid` for a damaged one. */
export async function readTrustMemory(path: string): Promise<TrustMemory> {
  const bytes = await readSmallFile(path, LIMIT, () => unusable(path));
  return bytes === undefined ? NOTHING : parseMemory(Buffer.from(bytes).toString('utf8'), path);
}

/** The text of the record. Throws `TrustedKeyInvalid` for a damaged one. */
export function parseMemory(text: string, path: string): TrustMemory {
  const memory = checkedJson(Memory, withoutChecksum(text));
  if (!memory.ok) throw unusable(path);
  return memory.value;
}

/**
 * Adds what was verified to the record on the disk; writes nothing where it is known already. Throws as
 * `readTrustMemory`, and `FileError`.
 */
export async function extendTrustMemory(
  path: string,
  learned: Partial<Omit<TrustMemory, 'apiVersion'>>,
): Promise<void> {
  const known = await readTrustMemory(path);
  const { directories = [], revoked = [], minimumVersion, roots = [] } = learned;
  const minimum = [known.minimumVersion, minimumVersion].filter((one) => one !== undefined).sort(compareReleases);
  const next: TrustMemory = {
    ...known,
    directories: directories.reduce(withNewer, known.directories),
    revoked: [...new Set([...known.revoked, ...revoked])],
    ...(minimum.length === 0 ? {} : { minimumVersion: minimum.at(-1) }),
    ...(roots.length === 0 ? {} : { roots: roots.reduce(withRoot, known.roots ?? []) }),
  };
  if (JSON.stringify(next) === JSON.stringify(known)) return;
  await placeVerified(path, pieces(`${withChecksum(JSON.stringify(next, undefined, 2))}\n`), () => {}, 0o600);
}

function withNewer(known: TrustMemory['directories'], seen: SeenDirectory): TrustMemory['directories'] {
  const others = known.filter(({ place, key }) => place !== seen.place || key !== seen.key);
  const before = known.find(({ place, key }) => place === seen.place && key === seen.key);
  return before !== undefined && before.version >= seen.version ? known : [...others, seen];
}

type SeenRoots = NonNullable<TrustMemory['roots']>;

/** How many roots of a name are kept, so that the record stays readable. */
const ROOTS_OF_A_NAME = 100;

function withRoot(known: SeenRoots, seen: SeenRoots[number]): SeenRoots {
  if (known.some(({ name, version }) => name === seen.name && version === seen.version)) return known;
  const same = known.filter(({ name }) => name === seen.name);
  const dropped = same.length < ROOTS_OF_A_NAME ? undefined : same[0];
  return [...known.filter((one) => one !== dropped), seen];
}

/**
 * The newest known list of a place that a trusted key signed. Lists of keys that are no longer trusted do not count:
 * they would be refused anyway.
 */
export function floorOf(memory: TrustMemory, place: string, { keys }: TrustStore): SeenDirectory | undefined {
  const trusted = new Set(keys.map(({ id }) => id));
  return memory.directories
    .filter((seen) => seen.place === place && trusted.has(seen.key))
    .sort((one, other) => other.version - one.version)[0];
}

/** The same trust store, extended by the record. */
export function withMemory(trust: TrustStore, { revoked, minimumVersion }: TrustMemory): TrustStore {
  const minimum = [trust.minimumVersion, minimumVersion].filter((one) => one !== undefined).sort(compareReleases);
  return { ...trust, revoked: new Set([...trust.revoked, ...revoked]), minimumVersion: minimum.at(-1) };
}

async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function unusable(path: string): MachineadmError {
  return new MachineadmError({
    reason: 'TrustedKeyInvalid',
    summary: `${path}, the memory of verified versions, is damaged`,
    remedy: `Restore it from a backup. If you remove it, this machine accepts older lists again.`,
  });
}
