import * as z from 'zod';
import { checkedJson } from './checked-json.ts';
import { refusal } from './refusals.ts';
import { isReleaseVersion } from './release-version.ts';

/** A plain file name: no path, no option, no hidden file. */
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
  /** The name of the key that signed SHA256SUMS, for messages. Trust is decided by the signature. */
  keyId: KeyId,
  /** The oldest release that may still be used. */
  minimumVersion: Version,
  revokedKeys: z.array(KeyId),
  artefacts: z.array(
    z.object({
      file: z.string().regex(FILE_NAME),
      os: z.enum(['linux', 'windows']),
      architecture: z.enum(['amd64', 'arm64']),
      compression: z.enum(['gzip', 'xz']),
      size: z.int().positive(),
      sha256: Digest,
      /** The program in the archive. */
      program: z.object({ size: z.int().positive(), sha256: Digest }),
    }),
  ),
  /** Packages that install the program. Releases from before packages existed have none. */
  packages: z
    .array(
      z.object({
        file: z.string().regex(FILE_NAME),
        /**
         * `deb`, `rpm`, `zip`, `oci`, or a kind that a later publisher adds. A package for several platforms is listed
         * once for each.
         */
        format: z.string().min(1),
        os: z.enum(['linux', 'windows']),
        architecture: z.enum(['amd64', 'arm64']),
        size: z.int().positive(),
        sha256: Digest,
        /**
         * Only for `oci`, an image layout in a tar archive: the image's name with its tag, and its digest in a
         * registry.
         */
        image: z.object({ name: z.string(), digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) }).optional(),
      }),
    )
    .default([]),
});

/** `manifest.json` of a release: its contents. Unknown fields are ignored. */
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
 * The lines of a SHA256SUMS by file name, in the exact format of `sha256sum` of coreutils. Throws
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
