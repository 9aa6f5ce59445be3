import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';

/** What both download scripts need to know of a location. */
interface Location {
  readonly url: string;
  readonly authorizationFile?: string;
}

/** Throws `DownloadInvalid` with this problem. */
export function check(holds: boolean, problem: string): void {
  if (holds) return;
  throw new MachineadmError({
    reason: 'DownloadInvalid',
    summary: `the download script cannot be rendered: ${problem}`,
    remedy: 'Correct what is named; manifest.json of a release has the version and the digests.',
  });
}

export function checkVersion(version: string): void {
  check(/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version), `the version "${version}" is not like 1.2.3`);
}

export function checkDigest(of: string, digest: string): void {
  check(/^[0-9a-f]{64}$/.test(digest), `the digest of ${of} is not 64 lower-case hexadecimal digits`);
}

/** Checks that there is a location, and that each is a URL or path of the allowed form that exposes no credential. */
export function checkLocations(locations: readonly Location[], url: RegExp, path: RegExp): void {
  check(locations.length > 0, 'there is no location to download from');
  for (const location of locations) {
    const { authorizationFile } = location;
    check(url.test(location.url), `the location "${location.url}" is not a plain http, https or file URL`);
    check(
      !/^[^/]*\/\/[^/]*@/.test(location.url),
      'a location holds credentials; they belong into a file (authorizationFile)',
    );
    check(
      authorizationFile === undefined || path.test(authorizationFile),
      `"${authorizationFile}" is not a plain path`,
    );
    check(
      authorizationFile === undefined || location.url.startsWith('https:'),
      `the credential for ${location.url} would travel unencrypted`,
    );
  }
}
