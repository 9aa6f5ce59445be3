import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

/** One file of a bundle. */
export interface BundleFile {
  /** Relative, with `/`: `logs/kubelet.log`. At most 100 bytes of ASCII. */
  readonly path: string;
  readonly content: string;
}

const BLOCK = 512;
const TOP = 'machineadm-bundle';

/**
 * A gzipped tar of these files and a manifest of their digests, all below one directory. The same files make the same
 * bytes: sorted names, no owner, no time.
 */
export function packBundle(files: readonly BundleFile[], manifest: Readonly<Record<string, unknown>>): Uint8Array {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  const listed = sorted.map(({ path, content }) => {
    const bytes = Buffer.from(content);
    return { path, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  });
  const index = `${JSON.stringify({ ...manifest, files: listed }, undefined, 2)}\n`;
  const blocks = [{ path: 'manifest.json', content: index }, ...sorted].flatMap(({ path, content }) => {
    const bytes = Buffer.from(content);
    return [header(`${TOP}/${path}`, bytes.length), bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 });
}

/** A ustar header (POSIX.1-2017, pax, "ustar Interchange Format") of a regular file, 0600, owned by nobody in particular. */
function header(path: string, size: number): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  if (Buffer.byteLength(path) > 100) throw new RangeError(`the path is too long for a tar header: ${path}`);
  block.write(path, 0, 'utf8');
  block.write('0000600\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write('        ', 148);
  block.write('0', 156);
  block.write('ustar\0', 257);
  block.write('00', 263);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
