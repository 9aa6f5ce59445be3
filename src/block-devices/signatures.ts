import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import type { QueryHost } from '../host/seam/host.ts';

/** What the first thing that libblkid finds on a device says of itself. */
export interface Superblock {
  /** As blkid(8) names it: `ext4`, `LVM2_member`, `crypto_LUKS`; undefined when there is none, or several contradict. */
  readonly type: string | undefined;
  readonly label: string | undefined;
  /** As blkid(8) prints it and udev links it: of vfat in upper case, else lower. */
  readonly uuid: string | undefined;
  readonly partitionLabel: string | undefined;
}

export interface Contents extends Superblock {
  /** Names of every signature, tables of partitions included, each once; [] = the device holds nothing known. */
  readonly signatures: readonly string[];
}

/**
 * Every signature on a device. Throws `HostStepFailed` when it cannot be read: a device that was not looked at is never
 * taken for an empty one.
 */
export async function readContents(host: QueryHost, path: string): Promise<Contents> {
  // wipefs(8) lists all signatures, blkid(8) only the first; without --all and --offset it only lists.
  const listed = await host.query({ program: 'wipefs', args: ['--parsable', path] });
  if (listed.status !== 0) throw unreadable(path, 'wipefs', listed.stderr);
  return { ...(await readSuperblock(host, path)), signatures: parseWipefs(listed.stdout) };
}

/** What blkid(8) finds by low-level probing: in the device itself, not in a cache. */
export async function readSuperblock(host: QueryHost, path: string): Promise<Superblock> {
  const { stdout } = await host.query({ program: 'blkid', args: ['-p', '-o', 'export', path] });
  const tags = new Map<string, string>();
  for (const line of stdout.split('\n')) {
    const at = line.indexOf('=');
    if (at > 0) tags.set(line.slice(0, at), line.slice(at + 1).replace(/\\(.)/g, '$1'));
  }
  return {
    type: tags.get('TYPE'),
    label: tags.get('LABEL'),
    uuid: tags.get('UUID'),
    partitionLabel: tags.get('PART_ENTRY_NAME'),
  };
}

/** Types in `wipefs --parsable`: lines of `offset,uuid,label,type` after a heading. */
export function parseWipefs(stdout: string): readonly string[] {
  const types = stdout.split('\n').flatMap((line) => {
    if (line.startsWith('#') || line.trim() === '') return [];
    return [line.split(',').at(-1) ?? 'unknown'];
  });
  return [...new Set(types)];
}

/** The contents of a device, as text for people. */
export function describeContents({ signatures, type, label }: Contents): string {
  const labelled = label === undefined ? '' : ` with the label "${label}"`;
  if (type !== undefined) return `${type}${labelled}`;
  return signatures.length === 0 ? 'nothing' : signatures.join(' and ');
}

function unreadable(path: string, program: string, stderr: string): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${path} could not be read to detect its contents.`,
    remedy: 'Check the kernel log ("journalctl -k") for errors of the disk, and that this machine may open the device.',
    evidence: [{ source: program, text: lastLine(stderr) }],
  });
}
