import { ArchiveRefusal } from './member.ts';
import type { ByteSource } from './stored-bytes.ts';

/** What reading an archive may take. */
export interface ReadLimits {
  readonly bytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** Counts what is read of an archive, whatever it is part of, and stops when the limit is passed or the run ends. */
export interface Meter {
  /** Throws `ArchiveRefusal` where it is too much, and the reason of the signal. */
  count(bytes: number): void;
  check(): void;
}

export function meterOf({ bytes: limit, signal }: ReadLimits): Meter {
  let bytes = 0;
  const check = (): void => {
    signal?.throwIfAborted();
    if (bytes > limit) throw new ArchiveRefusal(`it has more than ${limit} bytes when it is decompressed`);
  };
  return {
    check,
    count(more) {
      bytes += more;
      check();
    },
  };
}

/** The same bytes, counted: those that are skipped, too, because a compressed archive must be decompressed up to them. */
export function meteredSource(source: ByteSource, meter: Meter): ByteSource {
  return {
    async read(length) {
      const bytes = await source.read(length);
      meter.count(bytes.length);
      return bytes;
    },
    async skip(length) {
      for (let missing = length; missing > 0; missing -= STRIDE) {
        const step = Math.min(missing, STRIDE);
        meter.count(step);
        await source.skip(step);
      }
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

/** So many bytes are skipped between two looks at the limits. */
const STRIDE = 16 * 1024 * 1024;
