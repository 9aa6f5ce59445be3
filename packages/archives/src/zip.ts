import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import yauzl from 'yauzl';
import type { Member } from './member.ts';
import type { Meter } from './meter.ts';
import { joined, piecesOf, type StoredBytes } from './stored-bytes.ts';

/** Of the file types of stat(2), those that a member of a zip archive can have (APPNOTE.TXT 4.4.15, as Info-ZIP fills it in). */
const TYPES: Readonly<Record<number, Member['type']>> = { 0: 'file', 8: 'file', 4: 'directory', 10: 'symlink' };
const LONGEST_TARGET = 4096;

/** The members of a zip archive, by its central directory. Throws `RangeError` where it is damaged or encrypted. */
export async function* zipMembers(stored: StoredBytes, meter: Meter): AsyncGenerator<Member, void> {
  const options = { autoClose: false, lazyEntries: true, strictFileNames: true };
  const zip = await understood(yauzl.fromRandomAccessReaderPromise(new Reader(stored), stored.size, options));
  const entries = zip.eachEntry();
  for (;;) {
    const { value: entry, done } = await understood(entries.next());
    if (done === true) return;
    meter.count(entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength);
    if (entry.isEncrypted()) throw new RangeError('it is encrypted');
    // The upper half of the attributes is st_mode where the archive was made on Unix (APPNOTE.TXT 4.4.2).
    const mode = entry.versionMadeBy >> 8 === 3 ? entry.externalFileAttributes >>> 16 : 0;
    const type = entry.fileName.endsWith('/') ? 'directory' : (TYPES[mode >> 12] ?? 'other');
    const content = async function* (): AsyncGenerator<Uint8Array, void> {
      let sum = 0;
      const stream = await understood(zip.openReadStreamPromise(entry));
      try {
        for await (const piece of stream) {
          meter.count(piece.length);
          sum = crc32(piece, sum);
          yield piece;
        }
      } catch (error) {
        meter.check();
        throw damaged(error);
      }
      if (sum !== entry.crc32) throw new RangeError(`the checksum of ${entry.fileName} is wrong`);
    };
    const { fileName: name, uncompressedSize: size } = entry;
    const target = type === 'symlink' && size <= LONGEST_TARGET ? (await joined(content())).toString('utf8') : '';
    yield { name, type, mode: mode === 0 ? undefined : mode & 0o7777, target, size, content };
  }
}

class Reader extends yauzl.RandomAccessReader {
  readonly #stored: StoredBytes;

  constructor(stored: StoredBytes) {
    super();
    this.#stored = stored;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(piecesOf(this.#stored, start, end));
  }
}

async function understood<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw damaged(error);
  }
}

function damaged(error: unknown): RangeError {
  return new RangeError(`not a zip archive, or a damaged one: ${errorMessage(error)}`);
}
