import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Secret } from '@machineadm/document/secrets/secret.ts';
import { redactedRequest } from '../host/http/client.ts';
import { HttpError } from '../host/http/error.ts';
import { fileExists, piecesOf } from '../host/local-files/release-files.ts';
import type { HttpClient } from '../host/seam/http.ts';
import { refusal } from './refusals.ts';

/** A place with files in the layout of a release. It is not trusted. */
export interface Source {
  /** For messages: contains no credentials. */
  readonly name: string;
  /** Its path on the server or on disk, which identifies signed directories below it. */
  readonly path: string;
  /** Set where it is a local directory. */
  readonly directory?: string;
  /**
   * Streams a file below the place, at most `limit` bytes of it. The iteration throws a refusal, or an error whose
   * `retryable` says whether another attempt may help.
   */
  open(file: string, limit: number, left: { readonly ms: number }): AsyncIterable<Uint8Array>;
}

export function unavailable(what: string, why: string, retryable: boolean, cause?: unknown): MachineadmError {
  return new MachineadmError({
    reason: 'ReleaseUnavailable',
    summary: `${what} is not available: ${why}`,
    remedy: 'Check the location. In a mirror, check that this release is there.',
    evidence: [{ source: what, text: why }],
    retryable,
    cause,
  });
}

/**
 * The source for `https://…`, `http://…`, `file:///…` or a directory. An authorization is sent over https only, and not
 * to another server after a redirect. Throws `DownloadInvalid`.
 */
export function sourceAt(location: string, client: HttpClient, authorization: Secret | undefined): Source {
  const url = URL.canParse(location) ? new URL(location) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) {
    if (url.username !== '' || url.password !== '') throw invalid(location, 'it holds credentials');
    if (url.search !== '' || url.hash !== '')
      throw invalid(location, 'no file can be named behind a query or fragment');
    if (authorization !== undefined && url.protocol === 'http:')
      throw invalid(location, 'its credential would travel unencrypted');
    const base = location.replace(/(?<!\/)\/+$/, '');
    const path = withoutThrowing(() => decodeURIComponent(new URL(base).pathname));
    if (path === undefined)
      throw invalid(location, 'a percent sign in its path is not followed by two digits of UTF-8');
    return httpSource(base, path, client, authorization);
  }
  if (authorization !== undefined) throw invalid(location, 'only an https location is given a credential');
  if (url?.protocol === 'file:') {
    const path = withoutThrowing(() => fileURLToPath(url));
    if (path === undefined) throw invalid(location, 'it is not a path on this machine');
    return directorySource(path);
  }
  if (/^[a-z][a-z0-9+.-]+:/i.test(location)) throw invalid(location, 'it is neither http, https, file nor a directory');
  return directorySource(location);
}

function withoutThrowing(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function invalid(location: string, why: string): MachineadmError {
  const name = location.replace(/\/\/[^/]*@/, '//…@');
  return new MachineadmError({
    reason: 'DownloadInvalid',
    summary: `the location ${name} cannot be used: ${why}`,
    remedy: 'Use a URL without credentials or a directory, and pass the credential with --authorization URL=FILE.',
  });
}

function httpSource(base: string, path: string, client: HttpClient, authorization: Secret | undefined): Source {
  return {
    name: base,
    path,
    async *open(file, limit, left) {
      const url = `${base}/${file}`;
      const what = redactedRequest('GET', url);
      const headers: Record<string, string> =
        authorization === undefined
          ? {}
          : {
              authorization: authorization
                .reveal()
                .trim()
                .replace(/^authorization:\s*/i, ''),
            };
      try {
        const answer = await client.request({ url, headers, totalMs: left.ms });
        if (answer.status !== 200) {
          await answer.discard();
          throw unavailable(what, `the server answers HTTP ${answer.status}`, true);
        }
        yield* limited(answer.body, limit, what);
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        const why = error.evidence[0]?.text ?? error.message;
        if (error.kind === 'redirect') throw refusal('RedirectRefused', `${what} is refused: ${why}`);
        throw unavailable(what, why, error.retryable, error);
      }
    },
  };
}

function directorySource(directory: string): Source {
  return {
    name: directory,
    path: resolve(directory),
    directory,
    async *open(file, limit) {
      const path = `${directory}/${file}`;
      if (!(await fileExists(path))) throw unavailable(path, 'there is no such file', false);
      yield* limited(piecesOf(path), limit, path);
    },
  };
}

async function* limited(body: AsyncIterable<Uint8Array>, limit: number, what: string): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > limit) throw refusal('DigestMismatch', `${what} is larger than it may be (${limit} bytes)`);
    yield piece;
  }
}
