import { createHash } from 'node:crypto';
import * as z from 'zod';
import { checkedJson } from './checked-json.ts';
import { floorOf, type TrustMemory } from './memory.ts';
import { refusal } from './refusals.ts';
import { LIST, MANIFEST, type VerifiedList, verifyList } from './release.ts';
import type { Signature } from './signature.ts';
import type { TrustStore } from './store.ts';

/** The file of a signed directory that identifies the directory and its state. */
export const DIRECTORY_MANIFEST = 'directory.json';

/** `images`, `sites/edge`, or `.` for the top of a location. */
const PLACE = /^(\.|[A-Za-z0-9][\w.+-]*(\/[A-Za-z0-9][\w.+-]*)*)$/;

const Directory = z.object({
  apiVersion: z.literal('machineadm.dev/directory/v1'),
  kind: z.literal('SignedDirectory'),
  /** Its path at the publisher: the last components of the directory's path. */
  place: z.string().regex(PLACE),
  /** Rises with each signing. */
  version: z.int().positive(),
  createdAt: z.iso.datetime(),
  /** The directory is refused from then on; undefined: it does not expire. */
  expiresAt: z.iso.datetime().optional(),
  /** Ids of revoked keys. */
  revokedKeys: z.array(z.string().regex(/^[A-Za-z0-9+/]{43}=$/)).default([]),
});

/** The metadata of a signed directory, `directory.json`. Unknown fields are ignored. */
export type DirectoryManifest = z.infer<typeof Directory>;

export interface VerifiedDirectory extends VerifiedList {
  readonly manifest: DirectoryManifest;
  /** Of the manifest, in the order in which they were signed. */
  readonly bytes: Uint8Array;
  /** Of the list. */
  readonly sha256: string;
  readonly warnings: readonly string[];
}

/** Throws `ReleaseManifestInvalid`. */
export function parseDirectory(bytes: Uint8Array): DirectoryManifest {
  const directory = checkedJson(Directory, Buffer.from(bytes).toString('utf8'));
  if (directory.ok) return directory.value;
  if (directory.issue === undefined) throw refusal('ReleaseManifestInvalid', `${DIRECTORY_MANIFEST} is not JSON`);
  throw refusal(
    'ReleaseManifestInvalid',
    `${DIRECTORY_MANIFEST} is not that of a signed directory: ${directory.issue.path} is missing or wrong`,
  );
}

/**
 * Verifies a signed directory of documents or archives: its list, that it is this directory and not a release or
 * another directory, and that it is neither expired nor older than one that this machine has verified before. A mirror
 * can otherwise attack with old lists whose signatures are valid (the TUF specification, 1.5.2: rollback, freeze,
 * mix-and-match, wrong software).
 *
 * @param path the requested path of the directory at its location. Throws the errors of `verifyList`, `DigestMismatch`,
 * `WrongPlace`, `RolledBack`, `SignatureExpired`, `SigningKeyRevoked`.
 */
export async function verifyDirectory(
  files: {
    readonly list: Uint8Array;
    readonly signature: Signature;
    /** Reads `directory.json`; called where the list names one. */
    readonly manifest: () => Promise<Uint8Array>;
  },
  path: string,
  trust: TrustStore,
  memory: TrustMemory,
  now: Date,
  where: string,
): Promise<VerifiedDirectory> {
  const verified = await verifyList(files.list, files.signature, trust, now, where);
  const { manifest, bytes } = await manifestOf(verified.digests, files.manifest, where);
  if (!isAt(path, manifest.place)) {
    throw refusal('WrongPlace', `the list of ${where} was signed for the directory "${manifest.place}"`);
  }
  const { keys } = verified.signer;
  if (keys.some(({ id }) => manifest.revokedKeys.includes(id))) {
    throw refusal('SigningKeyRevoked', `the list of ${where} revokes the very key that signed it`);
  }
  const sha256 = createHash('sha256').update(files.list).digest('hex');
  refuseOlder(manifest, sha256, trust, memory, where);
  const warnings = [...verified.signer.warnings, ...expiry(manifest, now, where)];
  return { ...verified, manifest, bytes, sha256, warnings };
}

/** The metadata in a directory's list. Throws as `verifyDirectory` does. */
export async function manifestOf(
  digests: ReadonlyMap<string, string>,
  read: () => Promise<Uint8Array>,
  where: string,
): Promise<{ readonly manifest: DirectoryManifest; readonly bytes: Uint8Array }> {
  const digest = digests.get(DIRECTORY_MANIFEST);
  if (digest === undefined) {
    const what = digests.has(MANIFEST) ? 'is that of a release' : 'names no directory and no version';
    throw refusal('WrongPlace', `the list of ${where} ${what}: it may be of any directory, and of any age`);
  }
  const bytes = await read();
  if (createHash('sha256').update(bytes).digest('hex') !== digest) {
    throw refusal('DigestMismatch', `${where}/${DIRECTORY_MANIFEST} is not the one that ${LIST} names`);
  }
  return { manifest: parseDirectory(bytes), bytes };
}

/** Whether the last components of a path equal those of a place. */
function isAt(path: string, place: string): boolean {
  const trimmed = path.split(/[/\\]/).filter((part) => part !== '' && part !== '.');
  if (place === '.') return trimmed.length === 0;
  const wanted = place.split('/');
  return trimmed.slice(-wanted.length).join('/') === place;
}

function refuseOlder(
  { place, version }: DirectoryManifest,
  sha256: string,
  trust: TrustStore,
  memory: TrustMemory,
  where: string,
): void {
  const floor = floorOf(memory, place, trust);
  if (floor === undefined || version > floor.version) return;
  if (version < floor.version) {
    throw refusal('RolledBack', `${where} offers version ${version} of "${place}"; version ${floor.version} was seen`);
  }
  if (sha256 !== floor.sha256) {
    throw refusal('RolledBack', `${where} offers another version ${version} of "${place}" than was seen`);
  }
}

/**
 * Checking an expiry requires a correct clock. A clock that is earlier than the signature itself is wrong, as on a
 * machine without a battery: that causes a warning only.
 */
export function expiry({ createdAt, expiresAt }: DirectoryManifest, now: Date, where: string): readonly string[] {
  if (expiresAt === undefined) return [];
  if (now.getTime() < Date.parse(createdAt)) {
    return [`the clock (${now.toISOString()}) is before ${where} was signed: its expiry was not checked`];
  }
  if (now.getTime() <= Date.parse(expiresAt)) return [];
  throw refusal('SignatureExpired', `the list of ${where} expired at ${expiresAt}`, [
    { source: 'clock of this machine', text: now.toISOString() },
  ]);
}
