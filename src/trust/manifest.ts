import * as z from 'zod';
import { checkedJson } from './checked-json.ts';
import { refusal } from './refusals.ts';
import { isReleaseVersion } from './release-version.ts';

/** A name that is only a name: no path, no option, no hidden file. */
const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;

const Digest = z.string().regex(/^[0-9a-f]{64}$/);
const Version = z.string().refine(isReleaseVersion, 'a version is like 1.4.0');
const KeyId = z.string().regex(/^[A-Za-z0-9+/]{43}=$/);

const Manifest = z.object({
  apiVersion: z.literal('machineadm.dev/release/v1'),
  kind: z.literal('Release'),
  version: Version,
  createdAt: z.iso.datetime(),
  /** Of the sources. */
  commit: z.string(),
  /** The key that signed SHA256SUMS, for people: what is believed is decided by the signature. */
  keyId: KeyId,
  /** Older releases must not be used any more. */
  minimumVersion: Version,
  /** Keys that must sign nothing any more. */
  revokedKeys: z.array(KeyId),
  artefacts: z.array(
    z.object({
      file: z.string().regex(FILE_NAME),
      os: z.enum(['linux', 'windows']),
      architecture: z.enum(['amd64', 'arm64']),
      compression: z.enum(['gzip', 'xz']),
      size: z.int().positive(),
      sha256: Digest,
      /** The program inside. */
      program: z.object({ size: z.int().positive(), sha256: Digest }),
    }),
  ),
  /** What installs the program with all that belongs to it. Releases of before there were packages have none. */
  packages: z
    .array(
      z.object({
        file: z.string().regex(FILE_NAME),
        /** `deb`, `rpm`, `zip`, `oci`, and what a later publisher makes. What is for several platforms is here for each. */
        format: z.string().min(1),
        os: z.enum(['linux', 'windows']),
        architecture: z.enum(['amd64', 'arm64']),
        size: z.int().positive(),
        sha256: Digest,
        /** Of `oci`, an image layout in a tar archive: its name with the tag, and the digest that a registry knows it by. */
        image: z.object({ name: z.string(), digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) }).optional(),
      }),
    )
    .default([]),
});

/** `manifest.json` of a release: what it consists of. Unknown fields of a later publisher are left out. */
export type ReleaseManifest = z.infer<typeof Manifest>;

/** Throws `ReleaseManifestInvalid`. */
export function parseManifest(bytes: Uint8Array): ReleaseManifest {
  const manifest = checkedJson(Manifest, Buffer.from(bytes).toString('utf8'));
  if (manifest.ok) return manifest.value;
  if (manifest.issue === undefined) throw refusal('ReleaseManifestInvalid', 'manifest.json is not JSON');
  const { path, message } = manifest.issue;
  throw refusal('ReleaseManifestInvalid', `manifest.json is not that of a release: ${path}: ${message}`);
}

/**
 * The lines of a SHA256SUMS, by file name: what `sha256sum` of coreutils writes and checks, and nothing else. Throws
 * `ReleaseManifestInvalid`.
 */
export function parseChecksums(bytes: Uint8Array): ReadonlyMap<string, string> {
  const sums = new Map<string, string>();
  const lines = Buffer.from(bytes).toString('utf8').split('\n');
  if (lines.pop() !== '') throw refusal('ReleaseManifestInvalid', 'SHA256SUMS does not end with a line');
  for (const [index, line] of lines.entries()) {
    const [, digest, name] = /^([0-9a-f]{64}) [ *](.+)$/.exec(line) ?? [];
    if (digest === undefined || name === undefined || !FILE_NAME.test(name) || sums.has(name)) {
      throw refusal(
        'ReleaseManifestInvalid',
        `line ${index + 1} of SHA256SUMS is not a digest and a new, plain file name`,
      );
    }
    sums.set(name, digest);
  }
  if (sums.size === 0) throw refusal('ReleaseManifestInvalid', 'SHA256SUMS is empty');
  return sums;
}
