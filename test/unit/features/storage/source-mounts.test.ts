import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MountModel, SourceMount } from '@machineadm/document/model/index.ts';
import type { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { mounts } from '../../../../src/features/storage/mounts.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryHost, type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const MIB = 2 ** 20;

/** What is mounted on a path. */
interface There {
  readonly source: string;
  readonly type: string;
  readonly root: string;
  readonly device: string;
  readonly options?: string;
}

interface Fake extends MemoryMachine {
  readonly mounted?: Map<string, There>;
  /** The type and the free bytes of the root file system. */
  readonly type?: string;
  readonly free?: number;
  /** What mount(8) says instead of mounting. */
  readonly refuses?: string;
}

/** A machine with a root file system and an empty data disk, /dev/sdb, whose mount, dd and mkswap work. */
function machineWith({ mounted = new Map(), type = 'ext4', free = 2 ** 40, refuses, ...machine }: Fake = {}) {
  const root: There = { source: '/dev/sda', type, root: '/', device: '8:0' };
  /** The innermost mount that a path is on. */
  const on = (path: string): readonly [string, There] => {
    const [found] = [...mounted]
      .filter(([at]) => `${path}/`.startsWith(`${at}/`))
      .sort(([a], [b]) => b.length - a.length);
    return found ?? ['/', root];
  };
  const row = (path: string) => ({ name: path, kname: path, type: 'disk', size: 1024 });
  const host: MemoryHost = memoryHost({
    ...machine,
    files: { '/dev/sdb': { type: 'other' }, '/proc/swaps': 'Filename\n', ...machine.files },
    programs: {
      lsblk: ({ args }) => ({ stdout: JSON.stringify({ blockdevices: [row(args.at(-1) ?? '')] }) }),
      blkid: ({ args }) => {
        const path = args.at(-1) ?? '';
        if (path === '/dev/sdb') return { stdout: 'TYPE=ext4\nUUID=4079-ab\nLABEL=data\n' };
        return host.text(path)?.startsWith('SWAP') === true ? { stdout: 'TYPE=swap\nUUID=5a-5a\n' } : { status: 2 };
      },
      findmnt: ({ args }) => {
        const path = args.at(-1) ?? '';
        if (args.includes('AVAIL')) return { stdout: `${free}\n` };
        const [target, there] = on(path);
        if (args.includes('--mountpoint') && target !== path) return { status: 1 };
        const cells = {
          target,
          source: there.source,
          fstype: there.type,
          options: there.options ?? 'rw,relatime',
          fsroot: there.root,
        };
        return { stdout: JSON.stringify({ filesystems: [{ ...cells, 'maj:min': there.device }] }) };
      },
      mount: ({ args }) => {
        if (refuses !== undefined) return { status: 32, stderr: refuses };
        const value = (name: string): string => args[args.indexOf(name) + 1] ?? '';
        const [source, kind] = [value('--source'), value('-t')];
        const [target, below] = on(source);
        const rest = source.slice(target === '/' ? 0 : target.length);
        const there =
          kind === 'none'
            ? { ...below, root: `${below.root === '/' ? '' : below.root}${rest}` || '/' }
            : { source, type: kind, root: '/', device: source === '/dev/sdb' ? '8:16' : `0:${mounted.size + 40}` };
        const options = args.includes('-o') ? value('-o') : 'rw,relatime';
        mounted.set(args.at(-1) ?? '', { ...there, options });
        return {};
      },
      install: ({ args }) => {
        host.put(args.at(-1) ?? '', { content: '', mode: 0o600 });
        return {};
      },
      dd: ({ args }) => {
        const path = args.find((arg) => arg.startsWith('of='))?.slice(3) ?? '';
        const count = Number(args.find((arg) => arg.startsWith('count='))?.slice(6));
        host.put(path, { content: '\0'.repeat(count * MIB), mode: 0o600 });
        return {};
      },
      mkswap: ({ args }) => {
        const path = args.at(-1) ?? '';
        host.put(path, { content: `SWAP${(host.text(path) ?? '').slice(4)}`, mode: 0o600 });
        return {};
      },
      mv: ({ args }) => {
        const [from = '', to = ''] = args.slice(-2);
        host.put(to, { content: host.text(from) ?? '', mode: 0o600 });
        host.take(from);
        return {};
      },
      rm: ({ args }) => {
        host.take(args.at(-1) ?? '');
        return {};
      },
      swapon: ({ args }) => {
        host.put('/proc/swaps', `${host.text('/proc/swaps')}${args.at(-1)} file 1 0 -2\n`);
        return {};
      },
      chattr: () => ({}),
      ...machine.programs,
    },
  });
  return host;
}

const source = (
  type: SourceMount['type'],
  from: string,
  path: string,
  more: Partial<SourceMount> = {},
): SourceMount => ({
  type,
  source: from,
  path,
  options: [],
  ...more,
});
const bind = (from: string, path: string, more: Partial<SourceMount> = {}) => source('bind', from, path, more);
const swapFile = (file: string, mebibytes = 1): SourceMount =>
  source('swap', file, 'none', { sizeBytes: mebibytes * MIB });
const DISK: MountModel = {
  device: { by: { kind: 'path', path: '/dev/sdb' }, partition: undefined, waitMs: 0 },
  path: '/data',
  type: undefined,
  options: [],
};

const wants = (...list: readonly MountModel[]) => hostModel({ storage: { disks: [], filesystems: [], mounts: list } });
const eventsOf = (host: MemoryHost): string[] => host.log.filter((line) => /^(service|run|write|mkdir)/.test(line));
const lineOf = (host: MemoryHost, path: string) =>
  (host.text('/etc/fstab') ?? '').split('\n').find((line) => line.split(' ')[1] === path);

async function preflight(host: MemoryHost, ...list: readonly MountModel[]): Promise<readonly string[]> {
  const desired = mounts.desired(wants(...list), facts()) ?? assert.fail();
  const found = (await mounts.preflight?.(host, desired)) ?? [];
  return found.map(({ reason, what, severity = 'failed' }) => `${severity} ${reason} ${what}`);
}

describe('a bind mount', () => {
  test('comes after the disk of its source, which is created; containerd is stopped meanwhile; a second run is empty', async () => {
    const host = machineWith({ services: { containerd: { active: true }, kubelet: { active: false } } });
    const model = wants(bind('/data/containerd', '/var/lib/containerd', { options: ['nodev'] }), DISK);
    const before = await planned(mounts, host, model);
    assert.deepEqual(
      before.map(({ summary }) => summary),
      [
        'mount /dev/sdb on /data (ext4); /etc/fstab: UUID=4079-ab /data',
        'mount /data/containerd on /var/lib/containerd, now and at boot',
      ],
    );
    const { left } = await runStep(mounts, host, model);
    assert.deepEqual(left, []);
    const [, , ...rest] = eventsOf(host).filter((line) => !line.startsWith('mkdir'));
    assert.deepEqual(rest, [
      'write /etc/fstab 0644 0:0',
      'service stop containerd.service',
      'run mount -t none -o bind,nodev --source /data/containerd --target /var/lib/containerd',
      'service reload',
      'service start containerd.service',
    ]);
    assert.equal((await host.stat('/data/containerd'))?.type, 'directory');
    assert.match(
      lineOf(host, '/var/lib/containerd') ?? '',
      /^\/data\/containerd \S+ none bind,nodev,nofail,x-systemd.requires-mounts-for=\/data\/containerd,x-systemd.before=containerd.service,/,
    );
    assert.deepEqual((await runStep(mounts, host, model)).changes, []);
  });

  test('says what it would hide', async () => {
    const host = machineWith({ files: { '/srv/a/x': '', '/srv/b/old': '' } });
    const [change] = await planned(mounts, host, wants(bind('/srv/a', '/srv/b')));
    assert.match(change?.summary ?? '', /hide what \/srv\/b holds \(old\)/);
    const { warnings } = await runStep(mounts, host, wants(bind('/srv/a', '/srv/b')));
    assert.deepEqual(warnings, ['/srv/b held old: the mount hides that']);
  });

  test('whose source or mount point cannot be one is refused before any change', async () => {
    const files = { '/file': '', '/link': { type: 'symlink' as const, content: '/srv' }, '/srv/a/x': '' };
    for (const [from, to, why] of [
      ['/file', '/mnt/a', '/file is a file, not a directory'],
      ['/link', '/mnt/a', '/link is a symbolic link, not a directory'],
      ['/file/below', '/mnt/a', '/file is a file, not a directory'],
      ['/srv/a', '/file/below', '/file is a file, not a directory'],
    ] as const) {
      const host = machineWith({ files });
      const found = await preflight(host, bind(from, to));
      assert.equal(found.length, 1, from);
      assert.match(found[0] ?? '', /^failed MountConflict /);
      assert.ok(found[0]?.includes(why), found[0]);
      await assert.rejects(runStep(mounts, host, wants(bind(from, to))), { reason: 'MountConflict' });
      assert.deepEqual(host.log, []);
    }
  });

  test('of the same file system but another directory is a conflict, and so is an entry of another source', async () => {
    const device = { source: '/dev/sda', type: 'ext4', device: '8:0' };
    const other = machineWith({
      files: { '/srv/a/x': '' },
      mounted: new Map([['/srv/b', { ...device, root: '/srv/c' }]]),
    });
    assert.match(
      (await preflight(other, bind('/srv/a', '/srv/b')))[0] ?? '',
      /MountConflict .*\/dev\/sda \(ext4\) is mounted/,
    );
    const same = machineWith({
      files: { '/srv/a/x': '' },
      mounted: new Map([['/srv/b', { ...device, root: '/srv/a' }]]),
    });
    assert.deepEqual(await preflight(same, bind('/srv/a', '/srv/b')), []);
    const fstab = '/srv/other /srv/b none bind 0 0\n';
    const listed = machineWith({ files: { '/srv/a/x': '', '/etc/fstab': fstab } });
    assert.match(
      (await preflight(listed, bind('/srv/a', '/srv/b')))[0] ?? '',
      /\/etc\/fstab has \/srv\/other for \/srv\/b/,
    );
    const ours = machineWith({ files: { '/srv/a/x': '', '/etc/fstab': fstab.replace('other', 'a') } });
    await runStep(mounts, ours, wants(bind('/srv/a', '/srv/b')));
    assert.equal(ours.text('/etc/fstab'), fstab.replace('other', 'a'));
  });

  test('that another option needs is remounted as a bind mount, so that its file system stays as it is', async () => {
    const there = { source: '/dev/sda', type: 'ext4', device: '8:0', root: '/srv/a' };
    const host = machineWith({ files: { '/srv/a/x': '' }, mounted: new Map([['/srv/b', there]]) });
    await assert.rejects(runStep(mounts, host, wants(bind('/srv/a', '/srv/b', { options: ['ro'] }))));
    assert.ok(host.log.includes('run mount -o remount,bind,ro /srv/b'), host.log.join('\n'));
  });
});

describe('NFS', () => {
  const share = source('nfs', 'files.example:/export', '/srv/share', { options: ['ro', 'nfsvers=4.2'] });

  test('needs mount.nfs, is mounted after the network at later boots, and shows itself as nfs4', async () => {
    const bare = machineWith();
    const which: MemoryHost['which'] = async (name) => (name.startsWith('mount.') ? undefined : bare.which(name));
    const [missing] = await preflight({ ...bare, which } as MemoryHost, share);
    assert.match(missing ?? '', /StorageToolMissing mount.nfs is not installed/);
    const mounted = new Map<string, There>();
    const host = machineWith({ mounted, programs: { 'mount.nfs': () => ({}) } });
    assert.deepEqual(await preflight(host, share), []);
    const { left, waits } = await runStep(mounts, host, wants(share));
    assert.deepEqual(left, []);
    assert.ok(waits.includes('the NFS server of files.example:/export'));
    assert.ok(
      host.log.includes('run mount -t nfs -o ro,nfsvers=4.2 --source files.example:/export --target /srv/share'),
    );
    assert.equal(
      lineOf(host, '/srv/share'),
      'files.example:/export /srv/share nfs ro,nfsvers=4.2,nofail,_netdev,x-systemd.mount-timeout=90s,x-systemd.before=containerd.service,x-systemd.before=kubelet.service 0 0',
    );
    mounted.set('/srv/share', { source: 'files.example:/export/', type: 'nfs4', root: '/', device: '0:50' });
    const other = source('nfs', 'files.example:/other', '/srv/share');
    assert.match(
      (await preflight(host, other))[0] ?? '',
      /MountConflict .*files.example:\/export\/ \(nfs4\) is mounted/,
    );
  });

  test('that fails says that the server may be the cause, and may be tried again', async () => {
    const host = machineWith({ refuses: 'mount.nfs: Connection timed out', programs: { 'mount.nfs': () => ({}) } });
    await assert.rejects(runStep(mounts, host, wants(share)), (error: MachineadmError) => {
      assert.deepEqual([error.reason, error.retryable], ['MountFailed', true]);
      assert.match(error.remedy, /that the server answers and exports the path/);
      return true;
    });
  });
});

describe('a tmpfs', () => {
  test('is mounted without a source, and one that is there is kept', async () => {
    const memory = source('tmpfs', 'tmpfs', '/srv/memory', { options: ['size=1g'] });
    const host = machineWith();
    assert.deepEqual((await runStep(mounts, host, wants(memory))).left, []);
    assert.ok(host.log.includes('run mount -t tmpfs -o size=1g --source tmpfs --target /srv/memory'));
    const there = new Map([['/tmp', { source: 'none', type: 'tmpfs', root: '/', device: '0:31' }]]);
    const kept = machineWith({ mounted: there, files: { '/etc/fstab': 'none /tmp tmpfs nosuid 0 0\n' } });
    assert.deepEqual(await planned(mounts, kept, wants(source('tmpfs', 'tmpfs', '/tmp'))), []);
  });
});

describe('a swap file', () => {
  test('is complete before it has its name, and then switched on; a second run is empty', async () => {
    const host = machineWith();
    const { left } = await runStep(mounts, host, wants(swapFile('/swapfile')));
    assert.deepEqual(left, []);
    assert.deepEqual(
      eventsOf(host).filter((line) => !line.startsWith('mkdir')),
      [
        'run install -m 0600 /dev/null /swapfile.machineadm',
        'run dd if=/dev/zero of=/swapfile.machineadm bs=1M count=1 conv=notrunc,fsync',
        'run mkswap /swapfile.machineadm',
        'run mv -f -- /swapfile.machineadm /swapfile',
        'write /etc/fstab 0644 0:0',
        'run swapon /swapfile',
        'service reload',
      ],
    );
    assert.deepEqual((await runStep(mounts, host, wants(swapFile('/swapfile')))).changes, []);
  });

  test('on btrfs is without copy-on-write', async () => {
    const host = machineWith({ type: 'btrfs' });
    await runStep(mounts, host, wants(swapFile('/swapfile')));
    assert.ok(host.log.includes('run chattr +C /swapfile.machineadm'));
  });

  for (const program of ['install', 'dd', 'mkswap', 'mv', 'swapon']) {
    test(`after a run that was killed at ${program}, the next one ends where an undisturbed one does`, async () => {
      let isKilled = true;
      const host = machineWith();
      const mortal: MemoryHost = {
        ...host,
        run: async (command) => {
          if (isKilled && command.program === program) throw new Error('killed');
          return await host.run(command);
        },
      };
      await assert.rejects(runStep(mounts, mortal, wants(swapFile('/swapfile'))), /killed/);
      isKilled = false;
      assert.deepEqual((await runStep(mounts, mortal, wants(swapFile('/swapfile')))).left, []);
      assert.equal(await host.stat('/swapfile.machineadm'), undefined);
      assert.equal(host.text('/proc/swaps'), 'Filename\n/swapfile file 1 0 -2\n');
      assert.equal((host.text('/etc/fstab') ?? '').match(/machineadm/g)?.length, 1);
    });
  }

  test('that cannot be written leaves nothing of itself', async () => {
    const host = machineWith({ programs: { dd: () => ({ status: 1, stderr: 'dd: No space left on device' }) } });
    await assert.rejects(runStep(mounts, host, wants(swapFile('/swapfile'))), (error: MachineadmError) => {
      assert.equal(error.reason, 'MountFailed');
      assert.deepEqual(error.evidence, [{ source: 'dd', text: 'dd: No space left on device' }]);
      return true;
    });
    assert.equal(await host.stat('/swapfile.machineadm'), undefined);
    assert.equal(host.text('/etc/fstab'), undefined);
  });

  test('that does not fit, or in whose place something else is, is refused before any change', async () => {
    for (const [fake, file, expected] of [
      [{ free: MIB }, swapFile('/swapfile', 2), /DiskFull the swap file \/swapfile needs 2 MiB, and 1 MiB are free/],
      [{ type: 'overlay' }, swapFile('/swapfile'), /MountFailed \/swapfile would be on overlay/],
      [{ type: 'zfs' }, swapFile('/a/b/swapfile'), /MountFailed \/a\/b\/swapfile would be on zfs/],
      [{ files: { '/swapfile': 'data' } }, swapFile('/swapfile'), /MountConflict .*is a file that is not a swap file/],
      [{ files: { '/swapfile/x': '' } }, swapFile('/swapfile'), /MountConflict .*is a directory, not a file/],
      [{ files: { '/swapfile': 'SWAP' } }, swapFile('/swapfile'), /MountConflict .*a swap file of 4 bytes/],
    ] as const) {
      const host = machineWith(fake);
      const found = await preflight(host, file);
      assert.equal(found.length, 1, String(expected));
      assert.match(found[0] ?? '', expected);
      assert.deepEqual(host.log, []);
    }
  });

  test('of others with an entry of others is used as it is', async () => {
    const fstab = '/swapfile none swap sw 0 0\n';
    const host = machineWith({ files: { '/swapfile': `SWAP${'\0'.repeat(MIB - 4)}`, '/etc/fstab': fstab } });
    await runStep(mounts, host, wants(swapFile('/swapfile')));
    assert.equal(host.text('/etc/fstab'), fstab);
    assert.deepEqual(eventsOf(host), ['run swapon /swapfile']);
  });

  test('on a disk of the document waits for its mount', async () => {
    const host = machineWith({ mounted: new Map() });
    const model = wants(swapFile('/data/swapfile'), DISK);
    assert.deepEqual(
      (await planned(mounts, host, model)).map(({ id }) => id),
      ['mounts//data', 'mounts/swap on /data/swapfile'],
    );
    assert.deepEqual(await preflight(host, swapFile('/data/swapfile'), DISK), []);
    assert.deepEqual((await runStep(mounts, host, model)).left, []);
  });
});
