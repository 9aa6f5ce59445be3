import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { preAuthentication } from '../../src/trust/dsse.ts';
import { DSSE_PAYLOAD_TYPE } from '../../src/trust/provenance.ts';
import { publishedPrograms, signedListDigest, signedListUrl } from '../build/node-release.ts';
import type { ReleaseSigner } from './signer.ts';

/** The origin of a release, with the terms of SLSA. */
export interface Provenance {
  readonly version: string;
  /** `gitCommit`: 40 hexadecimal digits, with `-dirty`, or `unknown`. */
  readonly commit: string;
  readonly createdAt: Date;
  readonly minimumVersion: string;
  /** A URI of who ran the build, and where the sources are published. */
  readonly builder: string;
  readonly source?: string | undefined;
  /** The checkout, for the packages that its lock pins. */
  readonly checkout?: string | undefined;
}

/** The builder of a release that was made on a developer's machine: only the signing key attests it. */
export const LOCAL_BUILDER = 'https://machineadm.dev/builders/local';

/** docs/trust.md describes it. */
const BUILD_TYPE = 'https://machineadm.dev/build-types/npm-release/v1';

/**
 * An in-toto statement v1 (in-toto/attestation spec/v1/statement.md) with SLSA provenance v1
 * (https://slsa.dev/spec/v1.0/provenance) over the files of a release. It names no time of the build and no run, so that
 * the same commit makes the same bytes.
 *
 * @param digests lower-case hex SHA-256, by file name
 */
export async function provenanceStatement(
  { version, commit, minimumVersion, builder, source, checkout }: Provenance,
  digests: ReadonlyMap<string, string>,
): Promise<string> {
  const [, gitCommit, dirty] = /^([0-9a-f]{40,64})(-dirty)?$/.exec(commit) ?? [];
  const sources = {
    name: 'machineadm',
    ...(source === undefined ? {} : { uri: source }),
    ...(gitCommit === undefined ? {} : { digest: { gitCommit } }),
    // The commit does not contain the sources that were built.
    ...(dirty === undefined ? {} : { annotations: { uncommittedChanges: true } }),
  };
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [...digests].map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: { version, minimumVersion, ...(source === undefined ? {} : { source }) },
        internalParameters: {},
        resolvedDependencies: [
          sources,
          ...(checkout === undefined ? [] : [nodeRelease(), ...(await lockedPackages(checkout))]),
        ],
      },
      runDetails: { builder: { id: builder } },
    },
  };
  return `${JSON.stringify(statement, undefined, 2)}\n`;
}

const Lock = z.object({
  packages: z.record(
    z.string(),
    z.object({ version: z.string().optional(), integrity: z.string().optional(), link: z.boolean().optional() }),
  ),
});

/** The list, signed by the maintainers of Node, with which the build compares the Node that it embeds. */
function nodeRelease() {
  return { uri: signedListUrl(publishedPrograms().version), digest: { sha256: signedListDigest() } };
}

/** Every npm package in the lock, including the build tools. */
async function lockedPackages(checkout: string) {
  const lock = Lock.parse(JSON.parse(await readFile(join(checkout, 'package-lock.json'), 'utf8')));
  return Object.entries(lock.packages).flatMap(([path, { version, integrity }]) => {
    const name = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    if (name === undefined || version === undefined || !integrity?.startsWith('sha512-')) return [];
    const sha512 = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex');
    return [{ uri: `pkg:npm/${name.replace('@', '%40')}@${version}`, digest: { sha512 } }];
  });
}

/** A Sigstore bundle v0.3 with the statement in a DSSE envelope, signed: `cosign verify-blob-attestation` reads it. */
export async function provenanceBundle(statement: string, signer: ReleaseSigner): Promise<string> {
  const payload = Buffer.from(statement);
  const signature = await signer.sign(preAuthentication(payload, DSSE_PAYLOAD_TYPE));
  return `${JSON.stringify({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: { publicKey: { hint: signer.keyId } },
    dsseEnvelope: {
      payload: payload.toString('base64'),
      payloadType: DSSE_PAYLOAD_TYPE,
      signatures: [{ sig: Buffer.from(signature).toString('base64'), keyid: signer.keyId }],
    },
  })}\n`;
}
