import { posix } from 'node:path';
import { formatMode } from '@machineadm/document/text/units.ts';
import type { FileStat, QueryHost } from '../seam/host.ts';

type Files = Pick<QueryHost, 'stat' | 'readLink' | 'realPath' | 'readRange' | 'which'>;

/** The kernel follows at most 40 links (path_resolution(7)). */
const MOST_LINKS = 40;

/** Where the programs of a node are installed. `which` does not find a file there that root may not execute. */
const PLACES = ['/usr/local/bin', '/usr/bin', '/opt/bin', '/usr/local/sbin', '/usr/sbin'];

const HEADER_BYTES = 4096;
const ELF = Buffer.from([0x7f, 0x45, 0x4c, 0x46]);
const CLASS_64 = 2;
const LITTLE_ENDIAN = 1;
/** e_machine of elf(5), by Node's name for the architecture. */
const MACHINES: Readonly<Record<number, string>> = { 3: 'ia32', 40: 'arm', 62: 'x64', 183: 'arm64', 243: 'riscv64' };
const PT_LOAD = 1;
const PT_INTERP = 3;

/**
 * Why the kernel cannot run an installed program: `/usr/bin/kubelet is truncated`. undefined where the program is not
 * installed, or its file has no detectable problem.
 */
export async function programTrouble(
  host: Files,
  program: string,
  architecture: string = process.arch,
): Promise<string | undefined> {
  const path = program.startsWith('/') ? program : ((await host.which(program)) ?? (await installedAs(host, program)));
  if (path === undefined || (await host.stat(path)) === undefined) return undefined;
  return await executableTrouble(host, path, architecture);
}

async function installedAs(host: Files, program: string): Promise<string | undefined> {
  for (const place of PLACES) {
    const path = `${place}/${program}`;
    if ((await host.stat(path)) !== undefined) return path;
  }
  return undefined;
}

/** The same for a file by its path; a missing file is also a problem. */
export async function executableTrouble(
  host: Files,
  path: string,
  architecture: string = process.arch,
): Promise<string | undefined> {
  if ((await host.stat(path)) === undefined) return `${path} does not exist`;
  const stat = await statBehindLinks(host, path);
  if (stat?.type === 'file' && (stat.mode & 0o111) === 0)
    return `${path} is not executable (mode ${formatMode(stat.mode)})`;
  const header = await host.readRange(path, 0, HEADER_BYTES);
  if (header === undefined) return `${path} is a link to nothing`;
  if (header.length === 0) return `${path} is empty`;
  const bytes = Buffer.from(header);
  // A script; a program of Windows.
  if (['#!', 'MZ'].includes(bytes.subarray(0, 2).toString('latin1'))) return undefined;
  if (!bytes.subarray(0, 4).equals(ELF)) return `${path} is neither a program nor a script with a #! line`;
  const why = await troubleOfElf(host, path, bytes, architecture);
  return why === undefined ? undefined : `${path} ${why}`;
}

async function statBehindLinks(host: Files, path: string): Promise<FileStat | undefined> {
  let real = await host.realPath(path);
  for (let links = 0; links < MOST_LINKS; links += 1) {
    const target = await host.readLink(real);
    if (target === undefined) return await host.stat(real);
    real = await host.realPath(posix.resolve(posix.dirname(real), target));
  }
  return undefined;
}

async function troubleOfElf(
  host: Files,
  path: string,
  header: Buffer,
  architecture: string,
): Promise<string | undefined> {
  if (header.length < 64) return 'is truncated';
  const machine = header.readUInt16LE(18);
  const made = MACHINES[machine] ?? `machine type ${machine}`;
  if (made !== architecture) return `is a program for ${made}, and this machine is ${architecture}`;
  // Every architecture that Kubernetes supports except s390x is 64-bit little-endian; files of others are not checked
  // further.
  if (header[4] !== CLASS_64 || header[5] !== LITTLE_ENDIAN) return undefined;
  const offset = Number(header.readBigUInt64LE(32));
  const size = header.readUInt16LE(54);
  const count = header.readUInt16LE(56);
  const table = await host.readRange(path, offset, size * count);
  if (table === undefined || table.length < size * count) return 'is truncated';
  const segments = Array.from({ length: count }, (_, index) => segmentAt(Buffer.from(table), index * size));
  const end = Math.max(0, ...segments.filter(({ type }) => type === PT_LOAD).map(({ at, bytes }) => at + bytes));
  if (end > 0 && (await host.readRange(path, end - 1, 1))?.length !== 1) return 'is truncated';
  const interpreter = segments.find(({ type }) => type === PT_INTERP);
  if (interpreter === undefined) return undefined;
  const name = new TextDecoder()
    .decode(await host.readRange(path, interpreter.at, interpreter.bytes))
    .replace(/\0.*/s, '');
  return (await host.stat(name)) === undefined ? `needs ${name}, which does not exist` : undefined;
}

/** Elf64_Phdr: p_type, p_flags, p_offset, p_vaddr, p_paddr, p_filesz, … */
function segmentAt(table: Buffer, at: number): { readonly type: number; readonly at: number; readonly bytes: number } {
  return {
    type: table.readUInt32LE(at),
    at: Number(table.readBigUInt64LE(at + 8)),
    bytes: Number(table.readBigUInt64LE(at + 32)),
  };
}
