import { trimmedEnd } from '@machineadm/document/text/trim.ts';
import { check, checkDigest, checkLocations, checkVersion } from './download-checks.ts';
import { DOWNLOAD_SCRIPT } from './download-script-text.ts';
import { withRendered } from './rendered-part.ts';

/** The digests for one architecture: lower-case hex SHA-256, as in `manifest.json` of a release. */
export interface DownloadDigests {
  /** Of the archives. */
  readonly gzip: string;
  readonly xz?: string;
  /** Of the program inside. If that program is already installed, nothing is downloaded. */
  readonly program: string;
}

/** A public key that may have signed a release. */
export interface DownloadKey {
  /** SubjectPublicKeyInfo of an ECDSA P-256 key, DER in base64 on one line. */
  readonly publicKey: string;
  /** From the day after this one (YYYY-MM-DD), using the key causes a warning. */
  readonly notAfter?: string;
}

/** A download location: below `url`, in the layout of a release directory (`VERSION/FILE`). */
export interface DownloadLocation {
  /** `https://…`, `http://…` or `file:///…`. */
  readonly url: string;
  /** A file on the machine with one line `Authorization: …`. It is sent to this location only, and only over https. */
  readonly authorizationFile?: string;
  /** True: its certificate must be signed by `certificateAuthorities`, not by the system's. */
  readonly pinned?: boolean;
}

export interface DownloadScript {
  /** The exact version to install, without a leading v. */
  readonly version: string;
  /** By architecture, named as in Kubernetes' releases. With digests, keys are not used. */
  readonly digests?: Readonly<Partial<Record<'amd64' | 'arm64', DownloadDigests>>>;
  readonly keys?: readonly DownloadKey[];
  /** Revoked keys, so that they can be distinguished from unknown ones. They count for nothing among `keys`. */
  readonly revokedKeys?: readonly string[];
  /** How many different keys must have signed the release, from 1 to 9; default 1. */
  readonly threshold?: number;
  /** When the root that the keys are from was made, and when it expires, in ISO 8601. With digests it is not used. */
  readonly validity?: { readonly since: string; readonly until: string };
  /** Tried in this order. */
  readonly locations: readonly DownloadLocation[];
  /** PEM, for the locations that are `pinned`. */
  readonly certificateAuthorities?: string;
  /** Total time limit of all attempts, in seconds; default 900. */
  readonly deadlineSeconds?: number;
  /** Candidate installation paths: the first one that is writable and not mounted noexec is used. */
  readonly directories?: readonly string[];
}

/**
 * SubjectPublicKeyInfo of an ECDSA P-256 key, its point not compressed, in canonical base64. In another form one key would
 * count as two.
 */
const PUBLIC_KEY = /^MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE[A-Za-z0-9+/]{85}[AQgw]==$/;
/** No character that a shell, a line-based list or a URL would interpret. */
const LOCATION = /^(https?:\/\/[A-Za-z0-9[][A-Za-z0-9._~:/[\]@&+,=%-]*|file:\/\/\/[A-Za-z0-9._/+@=,-]+)$/;
const PATH = /^\/[A-Za-z0-9._/+@=-]*$/;

/**
 * The POSIX shell script that downloads, verifies, installs and runs machineadm on a machine without it: save it with
 * mode 0700 and run it with machineadm's arguments, such as `provision -d FILE`.
 * `packaging/download/machineadm-download.sh` documents the exit codes.
 * Throws `DownloadInvalid` for a value that cannot be rendered safely: nothing to verify with, a malformed digest, a
 * URL that a shell would interpret, a credential that would be sent in the clear.
 */
export function renderDownloadScript(script: DownloadScript): string {
  const { version, digests = {}, keys = [], revokedKeys = [], locations, certificateAuthorities = '' } = script;
  checkVersion(version);

  const pins: string[] = [];
  for (const [architecture, { gzip, xz, program }] of Object.entries(digests)) {
    check(/^[a-z0-9]+$/.test(architecture), `"${architecture}" is no architecture`);
    const words = { [`${architecture}.gz`]: gzip, [`${architecture}.xz`]: xz, [architecture]: program };
    for (const [word, digest] of Object.entries(words)) {
      if (digest === undefined) continue;
      checkDigest(word, digest);
      pins.push(`${word}=${digest}`);
    }
  }
  const trusted = keys
    .filter(({ publicKey: key }, index) => keys.findIndex(({ publicKey }) => publicKey === key) === index)
    .filter(({ publicKey }) => !revokedKeys.includes(publicKey))
    .map(({ publicKey, notAfter }) => `${base64(publicKey)}@${day(notAfter)}`);
  check(pins.length + keys.length > 0, 'there is neither a digest nor a key to verify the download by');
  const { threshold = 1, validity } = script;
  check(Number.isInteger(threshold) && threshold >= 1 && threshold <= 9, 'the threshold is not a number from 1 to 9');
  check(
    pins.length > 0 || trusted.length >= threshold,
    `the threshold is ${threshold}, and the keys that are not revoked are ${trusted.length}`,
  );

  checkLocations(locations, LOCATION, PATH);
  const lines = locations.map(({ url, authorizationFile, pinned = false }) => {
    check(!pinned || certificateAuthorities !== '', `${url} is to be pinned, and there is no certificate authority`);
    return `${trimmedEnd(url, '/')} ${authorizationFile ?? '-'} ${pinned ? 'pinned' : '-'}\n`;
  });
  check(!certificateAuthorities.includes("'"), 'the certificate authorities are not PEM');
  const directories = script.directories ?? [
    '/usr/local/bin',
    '/opt/machineadm/bin',
    '/opt/bin',
    '/var/lib/machineadm/bin',
  ];
  for (const directory of directories) check(PATH.test(directory), `"${directory}" is not a plain path`);
  const deadline = script.deadlineSeconds ?? 900;
  check(Number.isInteger(deadline) && deadline > 0, 'the deadline is not a positive number of seconds');

  const parts = {
    pins: pins.length > 0,
    keys: pins.length === 0,
    one: threshold === 1,
    threshold: threshold > 1,
    revoked: revokedKeys.length > 0,
    expiry: validity !== undefined && pins.length === 0,
    credential: locations.some(({ authorizationFile }) => authorizationFile !== undefined),
    ca: locations.some(({ pinned = false }) => pinned),
  };
  const rendered = [
    `VERSION=${version}`,
    ...(parts.pins ? [`PINS='${pins.join(' ')}'`] : []),
    ...(parts.keys ? [`KEYS='${trusted.join(' ')}'`] : []),
    ...(parts.keys ? [`THRESHOLD=${threshold}`] : []),
    ...(parts.expiry ? [`SINCE=${second(validity?.since)}`, `UNTIL=${second(validity?.until)}`] : []),
    ...(parts.revoked ? [`REVOKED='${revokedKeys.map(base64).join(' ')}'`] : []),
    `LOCATIONS='${lines.join('')}'`,
    ...(parts.ca ? [`CA='${pemOnly(certificateAuthorities)}'`] : []),
    `DIRECTORIES='${directories.join(' ')}'`,
    `DEADLINE=${deadline}`,
    'CONSOLE=/dev/console',
    '',
  ].join('\n');
  return only(parts, withRendered(DOWNLOAD_SCRIPT, rendered));
}

/** Keeps the lines between `# --- when NAME` and `# --- end NAME` where the name is true. */
function only(parts: Readonly<Record<string, boolean>>, text: string): string {
  const kept: string[] = [];
  const left: string[] = [];
  for (const line of text.split('\n')) {
    const [, verb, name = ''] = /^# --- (when|end) (\w+)$/.exec(line) ?? [];
    if (verb === 'when' && (left.length > 0 || parts[name] !== true)) left.push(name);
    else if (verb === 'end' && left.at(-1) === name) left.pop();
    else if (verb === undefined && left.length === 0) kept.push(line);
  }
  return kept.join('\n');
}

function base64(publicKey: string): string {
  check(
    PUBLIC_KEY.test(publicKey),
    'a public key is not that of an ECDSA P-256 key, DER in base64 on one line, with its point not compressed',
  );
  return publicKey;
}

function day(notAfter: string | undefined): string {
  if (notAfter === undefined) return '0';
  check(/^\d{4}-\d{2}-\d{2}$/.test(notAfter), `the day "${notAfter}" is not like 2030-12-31`);
  return notAfter.replaceAll('-', '');
}

/** `20310102030405` of `2031-01-02T03:04:05Z`. */
function second(time = ''): string {
  const parsed = new Date(time);
  check(!Number.isNaN(parsed.getTime()), `the time "${time}" is not like 2030-12-31T00:00:00Z`);
  return parsed.toISOString().replace(/\D/g, '').slice(0, 14);
}

/** The certificates without the text that tools print around them, because user data is limited in size. */
function pemOnly(text: string): string {
  return (text.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g) ?? []).join('\n');
}
