import type { IncomingMessage } from 'node:http';

/** A Secret has at most 1 MiB, in base64 and twice in an update (old and new). */
export const LARGEST_REVIEW = 4 * 1024 * 1024;
/** The most that all reviews in flight may hold in memory together. */
const LARGEST_IN_FLIGHT = 32 * 1024 * 1024;

/** Why a body was not read: the status of the answer, and the reason. */
export interface Unread {
  readonly status: 400 | 408 | 413 | 503;
  readonly message: string;
}

interface Reading {
  readonly peer: string;
  bytes: number;
  /** Ends it in favour of others; undefined = it is complete, and being translated. */
  giveUp: (() => void) | undefined;
}

/**
 * The bodies in flight. Only received bytes count, never what a client announces. Where they are too many, the peer that
 * holds the most loses its youngest incomplete body: no client can take the place of the API server.
 */
export class ReceivedBodies {
  readonly #readings = new Set<Reading>();
  readonly #limit: number;
  #bytes = 0;

  constructor(limit = LARGEST_IN_FLIGHT) {
    this.#limit = limit;
  }

  /** Bytes in flight. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Reads a body within the time; calls `use` while it counts. */
  async read<T>(
    request: IncomingMessage,
    timeMs: number,
    use: (body: Buffer) => Promise<T>,
  ): Promise<{ readonly unread: Unread } | { readonly used: T }> {
    const declared = Number(request.headers['content-length'] ?? 0);
    if (!(declared <= LARGEST_REVIEW)) return { unread: { status: 413, message: 'the review is too large' } };
    const reading: Reading = { peer: request.socket.remoteAddress ?? '', bytes: 0, giveUp: undefined };
    this.#readings.add(reading);
    try {
      const body = await this.#receive(request, reading, timeMs);
      if (!Buffer.isBuffer(body)) return { unread: body };
      return { used: await use(body) };
    } finally {
      this.#readings.delete(reading);
      this.#bytes -= reading.bytes;
    }
  }

  async #receive(request: IncomingMessage, reading: Reading, timeMs: number): Promise<Buffer | Unread> {
    const chunks: Buffer[] = [];
    return await new Promise((resolve) => {
      const end = (result: Buffer | Unread): void => {
        clearTimeout(timer);
        reading.giveUp = undefined;
        request.removeAllListeners('data').removeAllListeners('end');
        resolve(result);
      };
      const timer = setTimeout(() => end({ status: 408, message: 'the review did not arrive in time' }), timeMs);
      reading.giveUp = () => end({ status: 503, message: 'too many reviews at once' });
      request
        .on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          reading.bytes += chunk.length;
          this.#bytes += chunk.length;
          if (reading.bytes > LARGEST_REVIEW) end({ status: 413, message: 'the review is too large' });
          else this.#makeRoom();
        })
        .once('end', () => end(Buffer.concat(chunks)))
        .once('close', () => end({ status: 400, message: 'the connection was closed' }))
        .on('error', () => end({ status: 400, message: 'the connection failed' }));
    });
  }

  /** Ends readings of the largest peer until the bytes are within the limit again. */
  #makeRoom(): void {
    while (this.#bytes > this.#limit) {
      const byPeer = new Map<string, number>();
      for (const { peer, bytes } of this.#readings) byPeer.set(peer, (byPeer.get(peer) ?? 0) + bytes);
      const peers = [...byPeer].sort(([, a], [, b]) => b - a).map(([peer]) => peer);
      const youngestFirst = [...this.#readings].reverse();
      const victim = peers
        .map((peer) => youngestFirst.find((one) => one.peer === peer && one.giveUp !== undefined && one.bytes > 0))
        .find((one) => one !== undefined);
      // Only complete bodies are left: their number is limited by the time of a translation.
      if (victim === undefined) return;
      this.#bytes -= victim.bytes;
      victim.bytes = 0;
      victim.giveUp?.();
    }
  }
}
