import { crc32, deflateRawSync } from 'node:zlib';
import { tarHeader } from '@machineadm/archives/write-tar.ts';

/** A member of an archive for a test: a file unless it says otherwise. */
export interface TestMember {
  readonly name: string;
  readonly content?: string | Uint8Array;
  /** The type flag of tar: `5` a directory, `2` a symbolic link, `1` a hard link, `3` a device, … */
  readonly type?: string;
  readonly target?: string;
  readonly mode?: number;
}

/** A tar archive of any members, as tar(1) writes it. */
export function tarOf(members: readonly TestMember[]): Buffer {
  const blocks = members.flatMap(({ name, content = '', type = '0', target = '', mode = 0o755 }) => {
    const bytes = Buffer.from(content);
    const header = withTarget(tarHeader(name, bytes.length, type, mode), target);
    return [header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

function withTarget(header: Buffer, target: string): Buffer {
  header.write(target, 157, 100);
  header.write('        ', 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

/** Bits of st_mode (inode(7)) for the types that a zip archive can have. */
const KINDS: Readonly<Record<string, number>> = { '0': 0o100000, '2': 0o120000, '3': 0o020000, '5': 0o040000 };

/** A zip archive as Info-ZIP writes it on Unix; with `system` 0, as Windows does: without modes. */
export function zipOf(members: readonly TestMember[], { system = 3, damaged = false } = {}): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, content = '', type = '0', target, mode = 0o755 } of members) {
    const plain = Buffer.from(target ?? content);
    const packed = deflateRawSync(plain);
    const path = Buffer.from(type === '5' && !name.endsWith('/') ? `${name}/` : name);
    const sum = damaged ? crc32(plain) ^ 1 : crc32(plain);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x0800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(sum >>> 0, 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(plain.length, 18);
    common.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, path, packed]);
    const attributes = Buffer.alloc(14);
    attributes.writeUInt32LE(system === 3 ? (((KINDS[type] ?? 0) | mode) << 16) >>> 0 : 0, 6);
    attributes.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, system]), common, attributes, path]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}
