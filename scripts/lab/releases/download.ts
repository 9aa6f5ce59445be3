import { createHash, type Hash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Dispatcher, EnvHttpProxyAgent, interceptors, request } from 'undici';

/** A server is unreachable, does not respond, or does not have a file. Another source may have it. */
export class ReleaseUnavailable extends Error {
  /** The HTTP status, if the server responded. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

/** A file does not match the checksum or signature of its publisher. It is not used, and no other source is tried. */
export class ReleaseRefused extends Error {}

export interface DownloadOptions {
  /** The directory of downloaded files, named by their digest. */
  readonly cache: string;
  /** The URL of a mirror: `https://HOST/PATH` is requested as `MIRROR/HOST/PATH`. */
  readonly mirror?: string | undefined;
  /** The timeout for connecting and for each read. Default 20 s. */
  readonly silenceMs?: number;
  /** Default 3. */
  readonly tries?: number;
  /** The delay before the first retry, doubled for each further one. Default 1 s. */
  readonly pauseMs?: number;
}

const SILENCE_MS = 20_000;

/** Downloads published files, verifies them, and caches them by their digest. */
export class Downloads {
  readonly #options: DownloadOptions;
  readonly #dispatcher: Dispatcher;

  constructor(options: DownloadOptions) {
    this.#options = options;
    const agent = new EnvHttpProxyAgent({ connect: { timeout: options.silenceMs ?? SILENCE_MS } });
    this.#dispatcher = agent.compose(interceptors.redirect({ maxRedirections: 5 }));
    mkdirSync(options.cache, { recursive: true });
  }

  /** A small text, such as a checksum. */
  async text(url: string): Promise<string> {
    return (await this.bytes(url)).body.toString('utf8').trim();
  }

  /** A small response and its headers. */
  async bytes(
    url: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly body: Buffer; readonly headers: Readonly<Record<string, string | string[] | undefined>> }> {
    return await this.#withRetries(url, async (from) => {
      const answer = await this.#get(from, headers);
      return { body: Buffer.from(await answer.body.arrayBuffer()), headers: answer.headers };
    });
  }

  /**
   * A file whose digest is known, from the cache or from its server. Returns its path.
   *
   * @param sha256 in hex digits
   */
  async file(url: string, sha256: string): Promise<string> {
    if (!/^[0-9a-f]{64}$/.test(sha256)) throw new ReleaseRefused(`${url}: "${sha256.slice(0, 80)}" is no SHA-256`);
    const kept = join(this.#options.cache, `sha256-${sha256}`);
    if (existsSync(kept)) {
      if ((await digestOf(kept)) === sha256) return kept;
      rmSync(kept); // The file is corrupt: its content does not match the digest in its name.
    }
    return await this.#withRetries(url, async (from) => {
      const partial = `${kept}.${randomUUID()}.partial`;
      try {
        const answer = await this.#get(from, {});
        const hash = createHash('sha256');
        await pipeline(answer.body, hashing(hash), createWriteStream(partial));
        const found = hash.digest('hex');
        if (found !== sha256) {
          throw new ReleaseRefused(`${from} has the SHA-256 ${found}, but ${sha256} is published; it is not used`);
        }
        renameSync(partial, kept);
        return kept;
      } finally {
        rmSync(partial, { force: true });
      }
    });
  }

  /** Retries after transient failures: a timeout, a broken connection, a busy server. */
  async #withRetries<T>(url: string, attempt: (from: string) => Promise<T>): Promise<T> {
    const { mirror, tries = 3, pauseMs = 1000 } = this.#options;
    const from = mirror === undefined ? url : `${mirror.replace(/\/$/, '')}/${url.replace(/^https:\/\//, '')}`;
    for (let time = 1; ; time += 1) {
      try {
        return await attempt(from);
      } catch (error) {
        if (error instanceof ReleaseRefused) throw error;
        const passing = !(error instanceof ReleaseUnavailable) || (error.status ?? 0) >= 500 || error.status === 429;
        if (passing && time < tries) {
          await delay(pauseMs * 2 ** (time - 1));
          continue;
        }
        if (error instanceof ReleaseUnavailable) throw error;
        throw new ReleaseUnavailable(`${from}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  async #get(url: string, headers: Readonly<Record<string, string>>): Promise<Dispatcher.ResponseData> {
    const { silenceMs = SILENCE_MS } = this.#options;
    const answer = await request(url, {
      dispatcher: this.#dispatcher,
      headers: { ...headers },
      headersTimeout: silenceMs,
      bodyTimeout: silenceMs,
    });
    if (answer.statusCode === 200) return answer;
    await answer.body.dump();
    throw new ReleaseUnavailable(`${url}: the server answered ${answer.statusCode}`, answer.statusCode);
  }
}

/** SHA-256 of a file, in hex digits. */
export async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}

function hashing(hash: Hash): Transform {
  return new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
}
