import { type DownloadKey, type DownloadLocation, renderDownloadScript } from '../carriers/download-script.ts';
import { pinsOfRelease } from '../carriers/release.ts';
import { MachineadmError } from '../document/errors.ts';
import { readInputText } from '../pipeline/load.ts';

/** What `wrap --fetch` is told of the download. */
export interface DownloadOptions {
  /** Locations, in the order in which they are asked; none: machineadm is in the image. */
  readonly fetch?: readonly string[];
  /** Path of a release's manifest.json. */
  readonly releaseManifest?: string;
  /** With keys only: the version. */
  readonly release?: string;
  readonly key?: readonly string[];
  readonly ca?: string;
  /** `LOCATION=FILE` each. */
  readonly authorization?: readonly string[];
}

/**
 * The script that brings machineadm to a machine; undefined without `--fetch`. Throws `UsageInvalid` for options that do not
 * belong together, `DocumentNotFound` for a file that cannot be read, and `DownloadInvalid`.
 */
export async function downloadScriptOf(options: DownloadOptions): Promise<string | undefined> {
  const { fetch, releaseManifest, release, key = [], ca, authorization = [] } = options;
  if (fetch === undefined) {
    const given = Object.entries({
      releaseManifest,
      release,
      key: options.key,
      ca,
      authorization: options.authorization,
    });
    const [stray] = given.flatMap(([name, value]) => (value === undefined ? [] : [OPTIONS[name] ?? name]));
    if (stray !== undefined) throw usage(`${stray} is of use with --fetch only`);
    return undefined;
  }
  if (releaseManifest === undefined && (release === undefined || key.length === 0)) {
    throw usage('--fetch needs --release-manifest, or --release and --key: what it downloads is verified by them');
  }
  if (releaseManifest !== undefined && (release !== undefined || key.length > 0)) {
    throw usage('--release-manifest pins version and digests: --release and --key are for where there is none');
  }
  const files = new Map(authorization.map((word) => locationAndFile(word, fetch)));
  const locations = fetch.map((url): DownloadLocation => {
    const file = files.get(url);
    const pinned = ca !== undefined && url.startsWith('https:');
    return { url, pinned, ...(file === undefined ? {} : { authorizationFile: file }) };
  });
  const pins =
    releaseManifest === undefined
      ? { version: release ?? '', keys: await Promise.all(key.map(publicKey)) }
      : pinsOfRelease(await textOf(releaseManifest));
  return renderDownloadScript({
    ...pins,
    locations,
    ...(ca === undefined ? {} : { certificateAuthorities: await textOf(ca) }),
  });
}

const OPTIONS: Readonly<Record<string, string>> = {
  releaseManifest: '--release-manifest',
  release: '--release',
  key: '--key',
  ca: '--ca',
  authorization: '--authorization',
};

function locationAndFile(word: string, locations: readonly string[]): [string, string] {
  const location = locations.find((one) => word.startsWith(`${one}=`));
  if (location === undefined) throw usage(`--authorization: "${word}" is not LOCATION=FILE with a location of --fetch`);
  return [location, word.slice(location.length + 1)];
}

async function publicKey(path: string): Promise<DownloadKey> {
  const [, body] =
    /-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----/.exec(await textOf(path)) ?? [];
  if (body === undefined) throw usage(`--key: ${path} holds no public key in PEM`);
  return { publicKey: body.replace(/\s+/g, '') };
}

async function textOf(path: string): Promise<string> {
  const pieces = await readInputText(path);
  return pieces.map(({ bytes }) => Buffer.from(bytes).toString('utf8')).join('');
}

function usage(summary: string): MachineadmError {
  return new MachineadmError({ reason: 'UsageInvalid', summary, remedy: 'See machineadm wrap --help.' });
}
