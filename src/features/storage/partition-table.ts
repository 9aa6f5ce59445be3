import { member, number, text } from '@machineadm/document/values/untyped.ts';
import { printedJson } from '../../block-devices/json-rows.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { PartitionTable } from './partition-layout.ts';

/** The partition table on a disk; undefined when there is none, or none that sfdisk(8) can read. */
export async function readPartitionTable(host: QueryHost, path: string): Promise<PartitionTable | undefined> {
  const { status, stdout } = await host.query({ program: 'sfdisk', args: ['--json', path] });
  return status === 0 ? parsePartitionTable(stdout) : undefined;
}

/** What `sfdisk --json` prints; undefined for a table of another kind (sun, sgi, bsd). */
export function parsePartitionTable(stdout: string): PartitionTable | undefined {
  const table = member(printedJson('sfdisk', stdout), 'partitiontable');
  const kind = { gpt: 'gpt', dos: 'mbr' }[text(member(table, 'label')) ?? ''];
  if (kind !== 'gpt' && kind !== 'mbr') return undefined;
  // Printed since util-linux 2.35; before, sectors are the 512 bytes that nearly all disks have.
  const sectorBytes = number(member(table, 'sectorsize')) ?? 512;
  const last = number(member(table, 'lastlba'));
  const rows = member(table, 'partitions');
  const partitions: readonly unknown[] = Array.isArray(rows) ? rows : [];
  return {
    kind,
    sectorBytes,
    // The 33 sectors of the second table follow the last usable sector.
    usableEndBytes: last === undefined ? undefined : (last + 1 + 33) * sectorBytes,
    partitions: partitions.map((row) => {
      const type = text(member(row, 'type')) ?? '';
      return {
        startBytes: (number(member(row, 'start')) ?? 0) * sectorBytes,
        sizeBytes: (number(member(row, 'size')) ?? 0) * sectorBytes,
        type: kind === 'gpt' ? type.toUpperCase() : type.toLowerCase(),
        label: text(member(row, 'name')),
      };
    }),
  };
}
