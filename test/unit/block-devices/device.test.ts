import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DeviceIdentity, DeviceSelector } from '@machineadm/document/model/index.ts';
import { describeDevice, findDevice } from '../../../src/block-devices/device.ts';
import { parseWipefs, readContents } from '../../../src/block-devices/signatures.ts';
import { waitForDevice } from '../../../src/features/storage/wait.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { type MemoryHost, memoryHost } from '../../support/memory-host.ts';
import { told } from '../../support/step-bench.ts';

interface Row {
  readonly name: string;
  readonly type?: string;
  readonly size?: number;
  readonly serial?: string | null;
  readonly model?: string | null;
}

interface FakeMachine {
  readonly rows: readonly Row[];
  /** Where links lead. */
  readonly links?: Readonly<Record<string, string>>;
  /** What `blkid -p -o export` prints of a device. */
  readonly blkid?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
}

/** A machine with these block devices, as lsblk and blkid show them. */
function machineWith({ rows, links = {}, blkid = {}, files = {} }: FakeMachine): MemoryHost {
  const nodes = [...rows.map(({ name }) => name), ...Object.keys(links)];
  return memoryHost({
    files: { ...Object.fromEntries(nodes.map((path) => [path, { type: 'other' }])), ...files },
    programs: {
      lsblk: ({ args }) => {
        const path = args.find((argument) => argument.startsWith('/dev/'));
        const target = path === undefined ? undefined : (links[path] ?? path);
        const shown = rows.filter(({ name, type = 'disk' }) =>
          target !== undefined ? name === target : type === 'disk' || !args.includes('--nodeps'),
        );
        const blockdevices = shown.map(({ name, type = 'disk', size = 1024, serial = null, model = null }) => ({
          name,
          kname: name,
          type,
          size,
          serial,
          model,
        }));
        return { status: shown.length === 0 ? 32 : 0, stdout: JSON.stringify({ blockdevices }) };
      },
      blkid: ({ args }) => ({ stdout: blkid[args.at(-1) ?? ''] ?? '' }),
    },
  });
}

const select = (by: DeviceIdentity, partition?: number): DeviceSelector => ({ by, partition, waitMs: 0 });
const pathOf = async (machine: FakeMachine, by: DeviceIdentity, partition?: number): Promise<string | undefined> =>
  (await findDevice(machineWith(machine), select(by, partition)))?.path;

describe('a device is found', () => {
  test('by a path that is a link, under its own name', async () => {
    const link = '/dev/disk/by-path/pci-0000:3d:00.0-nvme-1';
    const machine = { rows: [{ name: '/dev/nvme0n1' }], links: { [link]: '/dev/nvme0n1' } };
    assert.equal(await pathOf(machine, { kind: 'path', path: link }), '/dev/nvme0n1');
    assert.equal(await pathOf(machine, { kind: 'path', path: '/dev/absent' }), undefined);
  });

  test('by id', async () => {
    const machine = { rows: [{ name: '/dev/sdb' }], links: { '/dev/disk/by-id/scsi-0QEMU': '/dev/sdb' } };
    assert.equal(await pathOf(machine, { kind: 'id', id: 'scsi-0QEMU' }), '/dev/sdb');
  });

  test('by serial, from udev or, without it, from the kernel', async () => {
    const machine = {
      rows: [{ name: '/dev/vda' }, { name: '/dev/nvme1n1' }, { name: '/dev/sdb', serial: ' abc ' }],
      files: { '/sys/class/block/vda/serial': 'virtio-1\n', '/sys/class/block/nvme1n1/device/serial': 'vol0aa  \n' },
    };
    assert.equal(await pathOf(machine, { kind: 'serial', serial: 'abc' }), '/dev/sdb');
    assert.equal(await pathOf(machine, { kind: 'serial', serial: 'virtio-1' }), '/dev/vda');
    assert.equal(await pathOf(machine, { kind: 'serial', serial: 'vol0aa' }), '/dev/nvme1n1');
    assert.equal(await pathOf(machine, { kind: 'serial', serial: 'other' }), undefined);
  });

  test('by the label of its file system or of its partition, blanks included', async () => {
    const machine = {
      rows: [{ name: '/dev/sda' }, { name: '/dev/sda1', type: 'part' }, { name: '/dev/sr0', type: 'rom' }],
      blkid: { '/dev/sda1': 'LABEL=my\\ data\nTYPE=ext4\nPART_ENTRY_NAME=etcd\n', '/dev/sr0': 'LABEL=cidata\n' },
    };
    assert.equal(await pathOf(machine, { kind: 'label', label: 'my data' }), '/dev/sda1');
    assert.equal(await pathOf(machine, { kind: 'partitionLabel', label: 'etcd' }), '/dev/sda1');
    assert.equal(await pathOf(machine, { kind: 'label', label: 'cidata' }), undefined, 'no discs');
  });

  test('never by chance: two of one label are DeviceAmbiguous', async () => {
    const machine = {
      rows: [{ name: '/dev/sda' }, { name: '/dev/sdb' }],
      blkid: { '/dev/sda': 'LABEL=etcd\n', '/dev/sdb': 'LABEL=etcd\n' },
    };
    await assert.rejects(pathOf(machine, { kind: 'label', label: 'etcd' }), {
      reason: 'DeviceAmbiguous',
      message: /\/dev\/sda, \/dev\/sdb/,
    });
  });

  for (const [cloud, model] of [
    ['AWS', 'Amazon EC2 NVMe Instance Storage'],
    ['Azure', 'Microsoft NVMe Direct Disk v2'],
    ['Google', 'nvme_card'],
  ]) {
    test(`as an instance store of ${cloud}, in the order of their numbers`, async () => {
      const rows = ['/dev/nvme10n1', '/dev/nvme2n1'].map((name) => ({ name, model: model ?? null }));
      const machine = { rows: [...rows, { name: '/dev/nvme0n1', model: 'Amazon Elastic Block Store' }] };
      assert.equal(await pathOf(machine, { kind: 'instanceStore', index: 0 }), '/dev/nvme2n1');
      assert.equal(await pathOf(machine, { kind: 'instanceStore', index: 1 }), '/dev/nvme10n1');
      assert.equal(await pathOf(machine, { kind: 'instanceStore', index: 2 }), undefined);
    });
  }

  test("as a local SSD of Google's by its link", async () => {
    const machine = {
      rows: [{ name: '/dev/nvme0n2' }],
      links: { '/dev/disk/by-id/google-local-nvme-ssd-0': '/dev/nvme0n2' },
    };
    assert.equal(await pathOf(machine, { kind: 'instanceStore', index: 0 }), '/dev/nvme0n2');
  });

  for (const link of ['/dev/disk/cloud/azure_resource', '/dev/disk/azure/resource']) {
    test(`as the Azure resource disk by ${link}`, async () => {
      const machine = { rows: [{ name: '/dev/sdb' }], links: { [link]: '/dev/sdb' } };
      assert.equal(await pathOf(machine, { kind: 'azureResource' }), '/dev/sdb');
    });
  }

  test('by the number of a partition, whatever its name is made of', async () => {
    const machine = {
      rows: [{ name: '/dev/nvme0n1' }, { name: '/dev/nvme0n1p2', type: 'part' }],
      files: {
        '/sys/class/block/nvme0n1/nvme0n1p2/partition': '2\n',
        '/sys/class/block/nvme0n1/nvme0n1p2/size': '8\n',
        '/sys/class/block/nvme0n1/nvme0n1p3/partition': '3\n',
      },
    };
    const path = { kind: 'path', path: '/dev/nvme0n1' } as const;
    assert.deepEqual(await findDevice(machineWith(machine), select(path, 2)), {
      path: '/dev/nvme0n1p2',
      name: 'nvme0n1p2',
      sizeBytes: 4096,
    });
    assert.equal(await pathOf(machine, path, 3), undefined, 'the kernel has it, but its node is not there yet');
  });

  test('only with a medium in it', async () => {
    assert.equal(
      await pathOf({ rows: [{ name: '/dev/sdb', size: 0 }] }, { kind: 'path', path: '/dev/sdb' }),
      undefined,
    );
  });
});

describe('a device that is not there', () => {
  const selector = { ...select({ kind: 'serial', serial: 'late' }), waitMs: 2000 };

  test('is waited for, and said so', async () => {
    const machine = { rows: [{ name: '/dev/sdb' }] };
    const host = machineWith(machine);
    const waits: (string | undefined)[] = [];
    const execution = {
      ...told(),
      waitingFor(what: string | undefined) {
        waits.push(what);
        if (waits.length === 2) host.put('/sys/class/block/sdb/serial', 'late\n');
      },
    };
    using clock = fakeClock();
    const found = await clock.until(waitForDevice(host, selector, 'host.storage.disks[0].device', execution));
    assert.equal(found.path, '/dev/sdb');
    const wait = 'the device serial late to appear (host.storage.disks[0].device)';
    assert.deepEqual(waits, [wait, wait, undefined]);
    assert.deepEqual(
      host.queries.filter((query) => query.startsWith('udevadm')),
      ['udevadm settle --timeout=30'],
    );
  });

  test('ends as DeviceMissing, with its place and what is there', async () => {
    const lines = Array.from({ length: 25 }, (_, index) => `/dev/sd${index} disk 1G`);
    const host = memoryHost({
      programs: {
        lsblk: ({ args }) => ({
          stdout: args.includes('--noheadings') ? `  ${lines.join('  \n')}\n` : '{"blockdevices": []}',
        }),
      },
    });
    const label = { by: { kind: 'label', label: 'late' }, partition: undefined, waitMs: 0 } as const;
    await assert.rejects(waitForDevice(host, label, 'host.storage.disks[0].device', told()), {
      reason: 'DeviceMissing',
      message: 'The device label late (host.storage.disks[0].device) did not appear within 0 ms.',
      retryable: true,
      evidence: lines.slice(0, 20).map((text) => ({ source: 'lsblk', text })),
    });
  });

  test('is not waited for after the run was stopped', async () => {
    const stopped = AbortSignal.abort(new Error('stopped'));
    await assert.rejects(waitForDevice(machineWith({ rows: [] }), selector, 'x', told(stopped)), {
      name: 'AbortError',
    });
  });
});

test('a device that cannot be read is an error, and never taken for an empty one', async () => {
  const wipefs = () => ({ status: 1, stderr: 'wipefs: error: /dev/sdb: probing initialization failed: No medium\n' });
  await assert.rejects(readContents(memoryHost({ programs: { wipefs, blkid: () => ({ status: 2 }) } }), '/dev/sdb'), {
    reason: 'HostStepFailed',
  });
});

test('signatures are read from what wipefs prints, each once', () => {
  assert.deepEqual(parseWipefs('# offset,uuid,label,type\n0x200,,,gpt\n0xc7ffe00,,,gpt\n0x1fe,,,PMBR\n'), [
    'gpt',
    'PMBR',
  ]);
  assert.deepEqual(parseWipefs('0x438,4079,my\\x2clab,ext4\n'), ['ext4']);
  assert.deepEqual(parseWipefs(''), []);
});

test('no two selectors have one description: change ids are made of it', () => {
  const identities: readonly DeviceIdentity[] = [
    { kind: 'path', path: '/dev/sdb' },
    { kind: 'id', id: 'sdb' },
    { kind: 'serial', serial: 'x' },
    { kind: 'label', label: 'x' },
    { kind: 'partitionLabel', label: 'x' },
    { kind: 'instanceStore', index: 0 },
    { kind: 'azureResource' },
  ];
  const texts = identities.flatMap((by) => [describeDevice(select(by)), describeDevice(select(by, 1))]);
  assert.equal(new Set(texts).size, texts.length);
});
