import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  type DownloadDigests,
  type DownloadLocation,
  type DownloadScript,
  renderDownloadScript,
} from '@machineadm/user-data/download-script.ts';
import { renderWindowsDownloadScript } from '@machineadm/user-data/download-script-windows.ts';
import { printNotice } from '../../cli/output.ts';
import { usageError } from '../../cli/usage-error.ts';
import { readInputText } from '../../pipeline/load.ts';
import { spkiOf } from '../../trust/keys.ts';
import { parseManifest, type ReleaseManifest } from '../../trust/manifest.ts';
import { refuseTooOld } from '../../trust/release.ts';
import { isReleaseVersion } from '../../trust/release-version.ts';
import { expiryOfRoot } from '../../trust/root-expiry.ts';
import type { TrustStore } from '../../trust/store.ts';
import { loadTrust } from '../../trust/trust-directory.ts';
import { verifyFiles } from '../../trust/verify.ts';

/** The options of `wrap --fetch`. */
export interface DownloadOptions {
  /** The places to download from, in the order to try them. None: machineadm is in the image. */
  readonly fetch?: readonly string[];
  /** The path of a release's manifest.json. */
  readonly releaseManifest?: string;
  /** The version, where there is no manifest. */
  readonly release?: string;
  /**
   * Paths of public keys. With a manifest, they verify it here; without one, the machine verifies the download with
   * them.
   */
  readonly key?: readonly string[];
  /** Of further keys, and of what holds for all of them. */
  readonly trustDirectory: string;
  readonly ca?: string;
  /** Each is `LOCATION=FILE`. */
  readonly authorization?: readonly string[];
}

/**
 * The script that brings machineadm to a machine, in the language that its carrier runs; undefined without `--fetch`. Throws
 * `UsageInvalid` for a carrier that runs none, for options that do not belong together, `DocumentNotFound` for a file that cannot be read,
 * `DownloadInvalid`, and for a manifest what `verify` refuses it for.
 */
export async function downloadScriptOf(
  options: DownloadOptions,
  language: 'sh' | 'powershell' | undefined,
): Promise<string | undefined> {
  const { fetch, releaseManifest, release, key = [], ca, authorization = [], trustDirectory } = options;
  if (fetch === undefined) {
    const given = {
      '--release-manifest': releaseManifest,
      '--release': release,
      '--key': options.key,
      '--ca': ca,
      '--authorization': options.authorization,
    };
    const stray = Object.entries(given).find(([, value]) => value !== undefined)?.[0];
    if (stray !== undefined) throw usage(`${stray} is of use with --fetch only`);
    return undefined;
  }
  if (language === undefined) {
    throw usage('--fetch: this format cannot bring machineadm along, it has to be in the image');
  }
  if (releaseManifest !== undefined && release !== undefined) {
    throw usage('--release-manifest already names the release: use --release only without it');
  }
  if (language === 'powershell' && releaseManifest === undefined) {
    throw usage('Windows verifies by digests only: give --release-manifest, and --key to verify it here');
  }
  if (language === 'powershell' && ca !== undefined) {
    throw usage('--ca: Windows trusts the authorities of its image; the digest is what an archive is verified by');
  }
  const trust = await loadTrust(key, trustDirectory);
  if (releaseManifest === undefined && (release === undefined || trust.keys.length === 0)) {
    throw usage(
      `--fetch needs --release-manifest, or --release and keys (--key, or those of ${trustDirectory}): what it downloads is verified by them`,
    );
  }
  const files = new Map(authorization.map((word) => locationAndFile(word, fetch)));
  const locations = fetch.map((url): DownloadLocation => {
    const file = files.get(url);
    const pinned = ca !== undefined && url.startsWith('https:');
    return { url, pinned, ...(file === undefined ? {} : { authorizationFile: file }) };
  });
  if (language === 'powershell' && releaseManifest !== undefined) {
    return renderWindowsDownloadScript({
      ...pinsOfWindows(await manifestAt(releaseManifest, trust)),
      locations,
    });
  }
  const pins =
    releaseManifest === undefined ? signersOf(release ?? '', trust) : pinsOf(await manifestAt(releaseManifest, trust));
  return renderDownloadScript({
    ...pins,
    locations,
    ...(ca === undefined ? {} : { certificateAuthorities: await textOf(ca) }),
  });
}

/** Reads a manifest. Where a key is trusted, it is first verified with the signed list beside it. */
async function manifestAt(path: string, trust: TrustStore): Promise<ReleaseManifest> {
  if (trust.keys.length === 0) {
    printNotice(`warning: the signature of ${path} is not checked: name a key with --key`);
  } else {
    const [verified] = await verifyFiles([path], {}, trust, new Date());
    for (const warning of verified?.warnings ?? []) printNotice(`warning: ${warning}`);
  }
  return parseManifest(new TextEncoder().encode(await textOf(path)));
}

/** The version and, for each architecture of Linux, the digests of the archives and of the program in them. */
function pinsOf({ version, artefacts }: ReleaseManifest): Pick<DownloadScript, 'version' | 'digests'> {
  const digests: Partial<Record<'amd64' | 'arm64', DownloadDigests>> = {};
  for (const architecture of ['amd64', 'arm64'] as const) {
    const archives = artefacts.filter((one) => one.os === 'linux' && one.architecture === architecture);
    const gzip = archives.find(({ compression }) => compression === 'gzip');
    const xz = archives.find(({ compression }) => compression === 'xz');
    if (gzip === undefined) continue;
    digests[architecture] = {
      gzip: gzip.sha256,
      ...(xz === undefined ? {} : { xz: xz.sha256 }),
      program: gzip.program.sha256,
    };
  }
  return { version, digests };
}

/** The version, and the digests of the archive for Windows and of the program in it. */
function pinsOfWindows({ version, artefacts }: ReleaseManifest): { version: string; digests: DownloadDigests } {
  const archive = artefacts.find(
    ({ os, architecture, compression }) => os === 'windows' && architecture === 'amd64' && compression === 'gzip',
  );
  if (archive === undefined) {
    throw new MachineadmError({
      reason: 'DownloadInvalid',
      summary: `release ${version} has no machineadm for Windows`,
      remedy: 'Use the manifest of a release that was built for windows-amd64 (npm run build -- --all).',
    });
  }
  return { version, digests: { gzip: archive.sha256, program: archive.program.sha256 } };
}

function locationAndFile(word: string, locations: readonly string[]): [string, string] {
  const location = locations.find((one) => word.startsWith(`${one}=`));
  if (location === undefined) throw usage(`--authorization: "${word}" is not LOCATION=FILE with a location of --fetch`);
  return [location, word.slice(location.length + 1)];
}

/** What the machine verifies a release by: the rules of `fetch` here. Throws `ReleaseTooOld`, `SignatureExpired`. */
function signersOf(version: string, trust: TrustStore): Omit<DownloadScript, 'locations'> {
  if (isReleaseVersion(version)) refuseTooOld(version, trust);
  const described = trust.keys.map(({ id, key, notAfter }) => ({
    id,
    publicKey: spkiOf(key).toString('base64'),
    ...(notAfter === undefined ? {} : { notAfter }),
  }));
  const revokedKeys = described.filter(({ id }) => trust.revoked.has(id)).map(({ publicKey }) => publicKey);
  return { version, keys: described, revokedKeys, threshold: trust.threshold, ...validityOf(trust) };
}

/** The time in which the root is valid that the keys are from. */
function validityOf({ roots }: TrustStore): Pick<DownloadScript, 'validity'> {
  const root = roots?.chain.at(-1);
  if (root === undefined) return {};
  for (const warning of expiryOfRoot(root, new Date())) printNotice(`warning: ${warning}`);
  const { createdAt, expiresAt } = root;
  if (expiresAt === undefined) return {};
  return { validity: { since: createdAt.toISOString(), until: expiresAt.toISOString() } };
}

async function textOf(path: string): Promise<string> {
  const pieces = await readInputText(path);
  return pieces.map(({ bytes }) => Buffer.from(bytes).toString('utf8')).join('');
}

function usage(summary: string): MachineadmError {
  return usageError(summary, 'Correct the options for the download.');
}
