/** The archive can be read, and is not unpacked: why. */
export class ArchiveRefusal extends Error {}

/** An entry of an archive. */
export interface Member {
  /** As the archive has it: nothing is known of where it leads. */
  readonly name: string;
  /** `other`: a device, a FIFO, a sparse file, and whatever else is no plain file. */
  readonly type: 'file' | 'directory' | 'symlink' | 'hardlink' | 'other';
  /** Permission bits, those for setuid, setgid and sticky included; undefined in archives of systems without them. */
  readonly mode: number | undefined;
  /** Of a link: what it holds. */
  readonly target: string;
  /** As the archive says it; `content` never gives more. */
  readonly size: number;
  /** To be read before the next member, or not at all. Throws `RangeError` where the archive is damaged. */
  content(): AsyncIterable<Uint8Array>;
}
