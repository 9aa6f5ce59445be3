import { createHash, type Hash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Dispatcher, EnvHttpProxyAgent, interceptors, request } from 'undici';

/** A server cannot be reached, hangs, or does not have a file: another source may. */
export class ReleaseUnavailable extends Error {
  /** What the server said, where it said something. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

/** A file is not what its publisher says it is. Nothing of it is used, and no other source stands in for it. */
export class ReleaseRefused extends Error {}

export interface DownloadOptions {
  /** The directory of files by their digest. */
  readonly cache: string;
  /** Where the servers are copied: `https://HOST/PATH` is asked for as `MIRROR/HOST/PATH`. */
  readonly mirror?: string | undefined;
  /** How long a server may stay silent. Default 20 s. */
  readonly silenceMs?: number;
  /** Default 3. */
  readonly tries?: number;
  /** Between two tries. Default 1 s, doubled each time. */
  readonly pauseMs?: number;
}

const SILENCE_MS = 20_000;

/** Downloads of published files, each known by its digest and kept by it. */
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

  /** A small answer and its headers. */
  async bytes(
    url: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly body: Buffer; readonly headers: Readonly<Record<string, string | string[] | undefined>> }> {
    return await this.#tried(url, async (from) => {
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
      rmSync(kept); // half a disk, or somebody's edit: what the name says is not so
    }
    return await this.#tried(url, async (from) => {
      const partial = `${kept}.${randomUUID()}.partial`;
      try {
        const answer = await this.#get(from, {});
        const hash = createHash('sha256');
        await pipeline(answer.body, hashing(hash), createWriteStream(partial));
        const found = hash.digest('hex');
        if (found !== sha256) {
          throw new ReleaseRefused(`${from} has the SHA-256 ${found}, and ${sha256} is published; it is not used`);
        }
        renameSync(partial, kept);
        return kept;
      } finally {
        rmSync(partial, { force: true });
      }
    });
  }

  /** Tries again what may pass: silence, a cut connection, a server that is busy. */
  async #tried<T>(url: string, attempt: (from: string) => Promise<T>): Promise<T> {
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
