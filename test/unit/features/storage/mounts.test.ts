import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DeviceMount, MountModel } from '@machineadm/document/model/index.ts';
import type { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { mounts } from '../../../../src/features/storage/mounts.ts';
import { EMPTY_RECORD, type FollowUp } from '../../../../src/step/index.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryHost, type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const UUID = '407926d8-e07e-44e3-a3dc-6553c3f7f1e7';

interface Fake extends MemoryMachine {
  /** Type of what is on /dev/sdb. */
  readonly type?: string;
  /** What is mounted, by path: its source. */
  readonly mounted?: Map<string, string>;
  /** What mount(8) says instead of mounting. */
  readonly refuses?: string;
}

/** A machine with one data disk, /dev/sdb, whose mount and swapon work. */
function machineWith({ type = 'xfs', mounted = new Map(), refuses, ...machine }: Fake = {}): MemoryHost {
  const row = (path: string) => ({ name: path, kname: path, type: 'disk', size: 1024 });
  const host: MemoryHost = memoryHost({
    ...machine,
    files: {
      '/dev/sdb': { type: 'other' },
      '/dev/sdc': { type: 'other' },
      '/proc/swaps': 'Filename\n',
      ...machine.files,
    },
    programs: {
      lsblk: ({ args }) => ({ stdout: JSON.stringify({ blockdevices: [row(args.at(-1) ?? '')] }) }),
      blkid: () => ({ stdout: `TYPE=${type}\nUUID=${UUID}\nLABEL=images\n` }),
      findmnt: ({ args }) => {
        const source = mounted.get(args.at(-1) ?? '');
        if (source === undefined) return { status: 1 };
        return { stdout: JSON.stringify({ filesystems: [{ source, fstype: type, options: 'rw,relatime' }] }) };
      },
      mount: ({ args }) => {
        if (refuses !== undefined) return { status: 32, stderr: refuses };
        mounted.set(args.at(-1) ?? '', args[args.indexOf('--source') + 1] ?? '');
        return {};
      },
      swapon: ({ args }) => {
        host.put('/proc/swaps', `Filename\n${args.at(-1)} partition 1 0 -2\n`);
        return {};
      },
      ...machine.programs,
    },
  });
  return host;
}

const mount = (path: string, different: Partial<DeviceMount> = {}): DeviceMount => ({
  device: { by: { kind: 'path', path: '/dev/sdb' }, partition: undefined, waitMs: 0 },
  path,
  type: undefined,
  options: [],
  ...different,
});

const wants = (...list: readonly MountModel[]) => hostModel({ storage: { disks: [], filesystems: [], mounts: list } });

const services = (active: boolean) => ({ containerd: { active }, kubelet: { active } });
const eventsOf = (host: MemoryHost): string[] => host.log.filter((line) => /^(service|run|write)/.test(line));

describe('mounts', () => {
  test('a mount over the directory of containerd: stopped, mounted, started again; a second run changes nothing', async () => {
    const host = machineWith({ services: services(true) });
    const model = wants(mount('/var/lib/containerd'));
    const { changes, left } = await runStep(mounts, host, model);
    assert.deepEqual(left, []);
    assert.deepEqual(changes[0]?.owes, ['daemon-reload', 'restart:containerd.service']);
    assert.deepEqual(eventsOf(host), [
      'write /etc/fstab 0644 0:0',
      'service stop containerd.service',
      'run mount -t xfs --source /dev/sdb --target /var/lib/containerd',
      'service reload',
      'service start containerd.service',
    ]);
    const before = host.log.length;
    assert.deepEqual((await runStep(mounts, host, model)).changes, []);
    assert.equal(host.log.length, before);
  });

  for (const [path, stopped] of [
    ['/var/lib/kubelet', ['kubelet.service']],
    ['/var/lib', ['kubelet.service', 'containerd.service', 'crio.service']],
    ['/var/lib/containerd/io.containerd.content.v1.content', ['containerd.service']],
    ['/var/lib/containers/storage', ['crio.service']],
    ['/var/lib/containerd-disk', []],
  ] as const) {
    test(`a mount on ${path} stops ${stopped.join(' and ') || 'nothing'}`, async () => {
      const host = machineWith({ services: { ...services(true), crio: { active: true } } });
      await runStep(mounts, host, wants(mount(path)));
      const stops = host.log.flatMap((line) => /^service stop (.*)/.exec(line)?.[1] ?? []);
      assert.deepEqual(stops, stopped);
    });
  }

  test('a run killed while containerd was stopped: the next one mounts and starts it', async () => {
    const owed = new Set<FollowUp>(['daemon-reload', 'restart:containerd.service']);
    const host = machineWith({ services: services(false) });
    await runStep(mounts, host, wants(mount('/var/lib/containerd')), { record: { ...EMPTY_RECORD, owed } });
    assert.equal((await host.service('containerd')).active, true);
  });

  test('containerd runs again after a mount that failed', async () => {
    const host = machineWith({ services: services(true), refuses: 'mount: unknown filesystem type' });
    await assert.rejects(runStep(mounts, host, wants(mount('/var/lib/containerd'))), { reason: 'MountFailed' });
    assert.equal((await host.service('containerd')).active, true);
  });

  test('a mount that the kernel finds busy is DeviceBusy', async () => {
    const host = machineWith({ refuses: 'mount: /srv: /dev/sdb already mounted or mount point busy.' });
    await assert.rejects(runStep(mounts, host, wants(mount('/srv'))), { reason: 'DeviceBusy' });
  });

  test('a mount that mount(8) reports and nobody sees is MountFailed', async () => {
    const host = machineWith({ programs: { mount: () => ({}) } });
    await assert.rejects(runStep(mounts, host, wants(mount('/srv'))), { reason: 'MountFailed' });
  });

  test('a mount is known only after the disks and the file systems that the same document makes', async () => {
    const host = machineWith({ services: services(true) });
    const by = { kind: 'path', path: '/dev/sdd' } as const;
    const absent = mount('/srv', { device: { by, partition: undefined, waitMs: 0 } });
    const device = absent.device;
    const disk = { device, table: 'gpt', wipe: false, partitions: [] } as const;
    const filesystem = { device, type: 'xfs', label: undefined, options: [], overwrite: false, replace: [] } as const;
    for (const [made, expected] of [
      [{ disks: [disk], filesystems: [] }, 'disks'],
      [{ disks: [], filesystems: [filesystem] }, 'filesystems'],
      [{ disks: [disk], filesystems: [filesystem] }, 'filesystems'],
      [{ disks: [], filesystems: [] }, undefined],
    ] as const) {
      const [change] = await planned(mounts, host, hostModel({ storage: { ...made, mounts: [absent] } }));
      assert.equal(change?.summary, 'mount /dev/sdd on /srv, now and at boot');
      assert.equal(change?.knownAfter, expected);
    }
  });

  test('a file system without a UUID is mounted at boot by the device of the document', async () => {
    const host = machineWith({ programs: { blkid: () => ({ stdout: 'TYPE=xfs\n' }) } });
    await runStep(mounts, host, wants(mount('/srv')));
    assert.match(host.text('/etc/fstab') ?? '', /^\/dev\/sdb \/srv xfs defaults,nofail,\S+ 0 0$/m);
  });

  test('a mount hides what the mount point held, with a warning that names five entries', async () => {
    const files = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [`/srv/${name}`, '']));
    const { warnings } = await runStep(mounts, machineWith({ files }), wants(mount('/srv')));
    assert.deepEqual(warnings, ['/srv held a, b, c, d, e: the mount hides that']);
    const more = await runStep(mounts, machineWith({ files: { ...files, '/srv/f': '' } }), wants(mount('/srv')));
    assert.deepEqual(more.warnings, ['/srv held a, b, c, d, e, …: the mount hides that']);
    assert.deepEqual((await runStep(mounts, machineWith(), wants(mount('/srv')))).warnings, []);
  });

  test('a mount that fails names what was tried, and what the kernel must know for it', async () => {
    const options = ['noatime', 'nodev'];
    const host = machineWith({ refuses: 'mount: wrong fs type\nmore' });
    await assert.rejects(runStep(mounts, host, wants(mount('/srv', { options }))), (error: MachineadmError) => {
      assert.match(error.message, /^\/dev\/sdb could not be mounted on \/srv \(/);
      assert.match(error.remedy, /knows xfs \("modprobe xfs"\), the options \(noatime,nodev\)/);
      assert.deepEqual(error.evidence, [{ source: '/dev/sdb', text: 'mount: wrong fs type' }]);
      return true;
    });
    const swapon = () => ({ status: 1, stderr: 'swapon failed' });
    const swap = machineWith({ type: 'swap', programs: { swapon } });
    await assert.rejects(runStep(mounts, swap, wants(mount('none', { type: 'swap' }))), (error: MachineadmError) => {
      assert.match(error.message, /^\/dev\/sdb could not be used as swap \(/);
      assert.match(error.remedy, /the options \(none\)/);
      return true;
    });
  });

  test('swap is switched on and has an entry without a mount point', async () => {
    const host = machineWith({ type: 'swap' });
    const { left } = await runStep(mounts, host, wants(mount('none', { type: 'swap', options: ['pri=5'] })));
    assert.deepEqual(left, []);
    assert.deepEqual(eventsOf(host).slice(0, 2), ['write /etc/fstab 0644 0:0', 'run swapon -o pri=5 /dev/sdb']);
    assert.equal(
      host.text('/etc/fstab'),
      `# Written by machineadm: swap on /dev/sdb\nUUID=${UUID} none swap pri=5,nofail,x-systemd.device-timeout=90s 0 0\n`,
    );
  });

  for (const source of [`UUID=${UUID.toUpperCase()}`, 'LABEL="images"', '/dev/sdb']) {
    test(`an entry of another program for the same device (${source}) is left alone`, async () => {
      const fstab = `${source} /srv xfs ro 0 0\n`;
      const host = machineWith({ files: { '/etc/fstab': fstab } });
      await runStep(mounts, host, wants(mount('/srv')));
      assert.equal(host.text('/etc/fstab'), fstab);
    });
  }

  test('an entry of another program for another device is MountConflict, and nothing is changed', async () => {
    const host = machineWith({ files: { '/etc/fstab': '/dev/sdc /srv ext4 defaults 0 2\n' } });
    await assert.rejects(runStep(mounts, host, wants(mount('/srv'))), {
      reason: 'MountConflict',
      message: /\/dev\/sdc/,
    });
    assert.deepEqual(host.log, []);
  });

  test('another device on the mount point is MountConflict', async () => {
    const host = machineWith({ mounted: new Map([['/srv', '/dev/sdc']]) });
    await assert.rejects(runStep(mounts, host, wants(mount('/srv'))), { reason: 'MountConflict' });
  });

  test('an fstab that is a link is not replaced', async () => {
    const host = machineWith({ files: { '/etc/fstab': { type: 'symlink' } } });
    await assert.rejects(runStep(mounts, host, wants(mount('/srv'))), { reason: 'FileNotWritten' });
  });

  test('without systemd nothing is owed to it', async () => {
    const options = { facts: facts({ serviceManager: 'none' }) };
    const [change] = await planned(mounts, machineWith(), wants(mount('/srv')), options);
    assert.deepEqual(change?.owes, []);
  });

  test('a mount point that is a file or link is reported before anything is changed, like a missing program', async () => {
    const desired = mounts.desired(wants(mount('/srv')), facts()) ?? assert.fail();
    const linked = machineWith({ files: { '/srv': { type: 'symlink' } } });
    const reasons = async (host: MemoryHost) => (await mounts.preflight?.(host, desired))?.map(({ reason }) => reason);
    assert.deepEqual(await reasons(linked), ['MountConflict']);
    assert.deepEqual(await reasons(machineWith()), []);
    const bare = memoryHost();
    assert.ok((await reasons(bare))?.every((reason) => reason === 'StorageToolMissing'));
    assert.equal((await reasons(bare))?.length, 4);
  });
});
