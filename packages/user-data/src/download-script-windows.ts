import { trimmedEnd } from '@machineadm/document/text/trim.ts';
import { check, checkDigest, checkLocations, checkVersion } from './download-checks.ts';
import type { DownloadDigests, DownloadLocation } from './download-script.ts';
import { DOWNLOAD_SCRIPT_WINDOWS } from './download-script-windows-text.ts';
import { withRendered } from './rendered-part.ts';

export interface WindowsDownloadScript {
  /** The exact version to install, without a leading v. */
  readonly version: string;
  /** SHA-256 of windows-amd64. */
  readonly digests: Omit<DownloadDigests, 'xz'>;
  /** Tried in this order. Local files are `file:///D:/…`. */
  readonly locations: readonly Omit<DownloadLocation, 'pinned'>[];
  /** Total time limit of all attempts, in seconds; default 900. */
  readonly deadlineSeconds?: number;
}

/** No character that PowerShell, cmd or a URL would interpret. */
const LOCATION = /^(https?:\/\/[A-Za-z0-9[][A-Za-z0-9._~:/[\]@&+,=%-]*|file:\/\/\/[A-Za-z]:\/[A-Za-z0-9._/+@=,-]*)$/;
const PATH = /^[A-Za-z]:\\[A-Za-z0-9._\\+@=-]+$/;

/**
 * The script for Windows PowerShell that downloads, verifies, installs and runs machineadm on a machine without it.
 * `packaging/download/machineadm-download.ps1` documents the exit codes. It verifies by digest only, because .NET
 * Framework cannot read public keys in PEM.
 * Throws `DownloadInvalid` for a value that cannot be rendered safely.
 */
export function renderWindowsDownloadScript(script: WindowsDownloadScript): string {
  const { version, digests, locations, deadlineSeconds = 900 } = script;
  checkVersion(version);
  checkDigest('windows-amd64.gz', digests.gzip);
  checkDigest('windows-amd64', digests.program);
  checkLocations(locations, LOCATION, PATH);
  check(Number.isInteger(deadlineSeconds) && deadlineSeconds > 0, 'the deadline is not a positive number of seconds');
  const rendered = [
    `$Version = '${version}'`,
    `$ArchiveDigest = '${digests.gzip}'`,
    `$ProgramDigest = '${digests.program}'`,
    `$Locations = @(${locations
      .map(({ url, authorizationFile = '-' }) => `'${trimmedEnd(url, '/')} ${authorizationFile}'`)
      .join(', ')})`,
    `$Deadline = ${deadlineSeconds}`,
    '',
  ].join('\n');
  return withRendered(DOWNLOAD_SCRIPT_WINDOWS, rendered);
}
