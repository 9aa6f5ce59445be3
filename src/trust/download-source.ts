import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { createHttpClient } from '../host/http/client.ts';
import { readSmallFile } from '../host/local-files/release-files.ts';
import type { HttpClient } from '../host/seam/http.ts';
import { type Source, sourceAt } from './source.ts';

/** Where and how to download, from the options of a command line. */
export interface DownloadSource {
  /** Tried in this order. */
  readonly locations: readonly string[];
  /** Files with PEM certificates that are trusted beside the system's. */
  readonly certificateAuthorities: readonly string[];
  /** `URL=FILE`: the file holds the `Authorization` header for the location. */
  readonly authorizations: readonly string[];
  readonly proxy: string | undefined;
}

const LIMIT = 256 * 1024;

/** Opens the source. The caller must close the client. Throws `DownloadInvalid`, `FileError`. */
export async function openDownloadSource(
  way: DownloadSource,
): Promise<{ readonly sources: readonly Source[]; readonly client: HttpClient }> {
  const { proxy } = way;
  if (proxy !== undefined && !(URL.canParse(proxy) && /^https?:$/.test(new URL(proxy).protocol))) {
    throw unusable('the proxy is not an http or https URL');
  }
  const credentials = new Map<string, Secret>();
  for (const word of way.authorizations) {
    const [location, file] = splitAtLast(word, '=');
    if (!way.locations.includes(location)) throw unusable(`no --from has the location ${location} of --authorization`);
    const text = (await content(file)).trim();
    if (!/^(authorization:\s*)?\S+ \S+$/i.test(text)) throw unusable(`${file} does not hold an Authorization header`);
    credentials.set(location, new Secret(text));
  }
  const client = createHttpClient({
    proxy: proxy === undefined ? undefined : { http: proxy, https: proxy, no: [] },
    certificateAuthorities: await Promise.all(way.certificateAuthorities.map(content)),
  });
  return {
    sources: way.locations.map((location) => sourceAt(location, client, credentials.get(location))),
    client,
  };
}

function splitAtLast(word: string, separator: string): readonly [string, string] {
  const at = word.lastIndexOf(separator);
  return [word.slice(0, Math.max(0, at)), word.slice(at + 1)];
}

async function content(path: string): Promise<string> {
  const bytes = await readSmallFile(path, LIMIT, () => unusable(`${path} is too large`));
  if (bytes === undefined) throw unusable(`there is no file ${path}`);
  return Buffer.from(bytes).toString('utf8');
}

function unusable(problem: string): MachineadmError {
  return new MachineadmError({ reason: 'DownloadInvalid', summary: problem, remedy: 'See machineadm fetch --help.' });
}
