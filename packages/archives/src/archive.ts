import { compressionOf, decompressedSource, MAGIC_LENGTH } from './compression.ts';
import type { Member } from './member.ts';
import { meteredSource, meterOf, type ReadLimits } from './meter.ts';
import type { StoredBytes } from './stored-bytes.ts';

/**
 * The members of an archive in their order, whatever its format is: a zip, or a tar that is plain or compressed with gzip or
 * zstd. The format is known by its first bytes, not by a name. Throws `RangeError` where it is none of them, or damaged, and
 * the errors of `node:zlib`. What passes the limits throws `ArchiveRefusal`, or the reason of the signal.
 */
export async function* membersOf(stored: StoredBytes, limits: ReadLimits): AsyncGenerator<Member, void> {
  const meter = meterOf(limits);
  const head = await stored.read(0, MAGIC_LENGTH);
  if (Buffer.from(head).toString('latin1').startsWith('PK')) {
    const { zipMembers } = await import('./zip.ts');
    return yield* zipMembers(stored, meter);
  }
  const compression = compressionOf(head);
  const { tarMembers } = await import('./tar.ts');
  await using source = decompressedSource(stored, compression);
  yield* tarMembers(meteredSource(source, meter));
}
