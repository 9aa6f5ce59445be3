import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ServiceModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { activeSwaps, withoutSwap } from '../../../../src/block-devices/swap-lines.ts';
import { swap } from '../../../../src/features/swap/index.ts';
import { UNIT_DIRECTORIES } from '../../../../src/features/swap/origins.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryFile, type MemoryHost, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const HEADING = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';
const disabled = hostModel({ swap: 'Disabled' });

/** A machine with these swaps, whose swapoff works. */
function swapping(devices: readonly string[], files: Readonly<Record<string, string>> = {}): MemoryHost {
  const lines = devices.map((device) => `${device.replaceAll(' ', '\\040')} partition\t1048572\t\t0\t\t-2\n`);
  const host: MemoryHost = memoryHost({
    files: { '/proc/swaps': HEADING + lines.join(''), ...files },
    programs: {
      swapoff: ({ args }) => {
        const off = args.at(-1)?.replaceAll(' ', '\\040') ?? '';
        const text = host.text('/proc/swaps') ?? '';
        host.put(
          '/proc/swaps',
          text
            .split('\n')
            .filter((line) => !line.startsWith(`${off} `))
            .join('\n'),
        );
        return {};
      },
    },
  });
  return host;
}

describe('swap', () => {
  test('Unmanaged asks for nothing', () => {
    assert.equal(swap.desired(hostModel(), facts()), undefined);
  });

  test('a machine without swap needs nothing', async () => {
    assert.deepEqual(
      await planned(swap, swapping([], { '/etc/fstab': '/dev/sda1 / ext4 defaults 0 1\n' }), disabled),
      [],
    );
  });

  test('what would bring it back goes before what is on, and a second run changes nothing', async () => {
    const fstab = '# <file system>\n/dev/sda1 / ext4 errors=remount-ro 0 1\n/dev/sda2\tnone\tswap\tsw\t0 0\n';
    const host = swapping(['/dev/sda2', '/swap file'], { '/etc/fstab': fstab });
    const run = await runStep(swap, host, disabled);
    assert.deepEqual(
      run.changes.map(({ id, scope }) => [id, scope]),
      [
        ['swap/fstab', 'base'],
        ['swap/off//dev/sda2', 'node'],
        ['swap/off//swap file', 'node'],
      ],
    );
    assert.deepEqual(run.left, []);
    assert.deepEqual(host.log, [
      'write /etc/fstab 0644 0:0',
      'run swapoff -- /dev/sda2',
      'run swapoff -- /swap file',
      'service reload',
      'sync /etc',
    ]);
    assert.deepEqual(await planned(swap, host, disabled), []);
  });

  test('nothing asks systemd to read its units again where there is none', async () => {
    const host = swapping([], { '/etc/fstab': '/dev/sda2 none swap sw 0 0\n' });
    await runStep(swap, host, disabled, { facts: facts({ serviceManager: 'none' }) });
    assert.ok(!host.log.includes('service reload'));
  });

  test('fstab keeps every other byte, its mode and its owner', async () => {
    const host = swapping([]);
    const before = '  # a comment about swap\r\n\n/swapfile none swap sw 0 0\nUUID=1 /data xfs nofail 0 0';
    host.put('/etc/fstab', { content: before, mode: 0o640, gid: 6 });
    await runStep(swap, host, disabled);
    assert.equal(host.text('/etc/fstab'), before.replace('/swapfile', '# machineadm disabled swap: /swapfile'));
    assert.ok(host.log.includes('write /etc/fstab 0640 0:6'));
  });

  test('the plan never shows fstab, whose other lines may hold a password', async () => {
    const fstab = '//nas/x /x cifs username=a,password=hunter2 0 0\n/dev/sda2 none swap sw 0 0\n';
    const [change] = await planned(swap, swapping([], { '/etc/fstab': fstab }), disabled);
    assert.ok(!JSON.stringify([change?.summary, change?.diff]).includes('hunter2'));
  });

  test('a unit that a generator made of a GPT partition is masked; one that comes from fstab goes with its line', async () => {
    const host = swapping([], {
      '/run/systemd/generator.late/dev-vda3.swap': '[Swap]\nWhat=/dev/vda3\n',
      '/run/systemd/generator/dev-sda2.swap': '[Unit]\nSourcePath=/etc/fstab\n\n[Swap]\nWhat=/dev/sda2\n',
      '/usr/lib/systemd/system/vendor.swap': '[Swap]\nWhat=/vendor\n',
    });
    const run = await runStep(swap, host, disabled);
    assert.deepEqual(
      run.changes.map(({ id, scope }) => [id, scope]),
      [
        ['swap/unit/vendor.swap', 'base'],
        ['swap/unit/dev-vda3.swap', 'node'],
      ],
    );
    assert.equal(host.text('/etc/systemd/system/dev-vda3.swap'), '');
    assert.deepEqual(run.left, []);
  });

  for (const [directory, scope] of [
    ['/run/systemd/system', 'node'],
    ['/run/systemd/generator', 'node'],
    ['/run/systemd/generator.early', 'node'],
    ['/run/systemd/generator.late', 'node'],
    ['/usr/local/lib/systemd/system', 'base'],
    ['/usr/lib/systemd/system', 'base'],
    ['/lib/systemd/system', 'base'],
  ] as const) {
    test(`a swap unit in ${directory} is masked, which ${scope === 'node' ? 'this boot' : 'the image'} needs`, async () => {
      const host = swapping([], { [`${directory}/x.swap`]: '[Swap]\nWhat=/x\n' });
      const run = await runStep(swap, host, disabled);
      assert.deepEqual(
        run.changes.map(({ id, scope }) => [id, scope]),
        [['swap/unit/x.swap', scope]],
      );
      assert.deepEqual(run.left, []);
    });
  }

  test("an administrator's own unit stays as it is and gets a condition that never holds", async () => {
    const unit = '[Swap]\nWhat=/extra\n';
    const host = swapping([], { '/etc/systemd/system/extra.swap': unit });
    const run = await runStep(swap, host, disabled);
    assert.equal(host.text('/etc/systemd/system/extra.swap'), unit);
    assert.match(host.text('/etc/systemd/system/extra.swap.d/90-machineadm.conf') ?? '', /ConditionPathExists=!\//);
    assert.deepEqual(run.left, []);
  });

  test("a vendor's zram configuration is hidden by an empty one; an administrator's is not overwritten", async () => {
    const zram = '[zram0]\nzram-size = ram / 2\n';
    const vendor = swapping([], { '/usr/lib/systemd/zram-generator.conf': zram });
    const { changes } = await runStep(swap, vendor, disabled);
    assert.deepEqual(
      changes.map(({ id, scope }) => [id, scope]),
      [['swap/zram-generator', 'base']],
    );
    assert.equal(vendor.text('/etc/systemd/zram-generator.conf'), '');
    const local = swapping([], { '/usr/local/lib/systemd/zram-generator.conf': zram });
    assert.equal((await planned(swap, local, disabled)).length, 1);
    const own = swapping([], {
      '/usr/lib/systemd/zram-generator.conf': zram,
      '/etc/systemd/zram-generator.conf': zram,
      '/run/systemd/generator/dev-zram0.swap': '[Unit]\nDescription=Compressed Swap on /dev/zram0\n',
    });
    await runStep(swap, own, disabled);
    assert.equal(own.text('/etc/systemd/zram-generator.conf'), zram);
    assert.equal(own.text('/etc/systemd/system/dev-zram0.swap'), '');
  });

  test('a swapoff that fails is SwapNotDisabled with what it said', async () => {
    const host = memoryHost({
      files: { '/proc/swaps': `${HEADING}/dev/sda2 partition 1 0 -2\n` },
      programs: {
        swapoff: () => ({ status: 255, stderr: 'swapoff: /dev/sda2: swapoff failed: Cannot allocate memory\n' }),
      },
    });
    await assert.rejects(runStep(swap, host, disabled), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'SwapNotDisabled');
      assert.match(error.evidence[0]?.text ?? '', /Cannot allocate memory/);
      return true;
    });
  });

  test('swap that comes back is reported by verify as SwapNotDisabled', async () => {
    const host = memoryHost({
      files: { '/proc/swaps': `${HEADING}/dev/sda2 partition 1 0 -2\n` },
      programs: { swapoff: () => ({}) },
    });
    assert.deepEqual(
      (await runStep(swap, host, disabled)).left.map(({ ineffective }) => ineffective),
      ['SwapNotDisabled'],
    );
  });

  test('active swap without swapoff is found before any change', async () => {
    const host = memoryHost({ files: { '/proc/swaps': `${HEADING}/dev/sda2 partition 1 0 -2\n` } });
    assert.deepEqual(
      (await swap.preflight?.(host, { systemd: true, disabled: new Set() }))?.map(({ reason }) => reason),
      ['SwapNotDisabled'],
    );
    const able = swapping(['/dev/sda2']);
    assert.deepEqual(await swap.preflight?.(able, { systemd: true, disabled: new Set() }), []);
  });

  test('an fstab that is a link of another tool is not replaced', async () => {
    const host = swapping([]);
    host.put('/etc/fstab', { type: 'symlink', content: '/dev/sda2 none swap sw 0 0\n' });
    await assert.rejects(runStep(swap, host, disabled), { reason: 'FileNotWritten' });
  });
});

describe('reading swap', () => {
  test('/proc/swaps without its heading, with blanks unescaped', () => {
    assert.deepEqual(activeSwaps(`${HEADING}/swap\\040file file 1 0 -2\n/dev/dm-0 partition 1 0 -3\n`), [
      '/swap file',
      '/dev/dm-0',
    ]);
    assert.deepEqual(activeSwaps(undefined), []);
  });

  test('a mount point named swap is not swap', () => {
    const fstab = '/dev/sdb1 swap ext4 defaults 0 0\n';
    assert.deepEqual(withoutSwap(fstab), { content: fstab, devices: [] });
  });

  test('an indented line of fstab is one, and a comment about swap is none', () => {
    const comment = '  # /old none swap sw 0 0\n';
    assert.deepEqual(withoutSwap(`${comment}  /s none swap sw 0 0\n`), {
      content: `${comment}# machineadm disabled swap:   /s none swap sw 0 0\n`,
      devices: ['/s'],
    });
  });
});

describe('swap that something else turns on', () => {
  const UNITS = '/usr/lib/systemd/system';
  const WANTS = '/etc/systemd/system/multi-user.target.wants';
  /** A service of this command, which a boot starts. */
  const enabled = (name: string, command: string, more: Readonly<Record<string, string>> = {}) => ({
    [`${UNITS}/${name}`]: `[Service]\nExecStart=${command}\n`,
    [`${WANTS}/${name}`]: `[Service]\nExecStart=${command}\n`,
    ...more,
  });
  const preflight = async (
    files: Readonly<Record<string, string | MemoryFile>>,
    services: readonly ServiceModel[] = [],
  ) => {
    const model = hostModel({ swap: 'Disabled', services });
    const desired = swap.desired(model, facts());
    assert.ok(desired !== undefined);
    return (await swap.preflight?.(memoryHost({ files }), desired)) ?? [];
  };
  const script = (content: string, mode = 0o755): MemoryFile => ({ content, mode });

  for (const [what, files, name] of [
    ['a service that runs swapon', enabled('more.service', '/sbin/swapon -p 5 /swapfile'), 'more.service'],
    [
      'a shell in a service',
      enabled('more.service', "/bin/sh -c 'mkswap /swapfile && swapon /swapfile'"),
      'more.service',
    ],
    [
      'a script that a service runs',
      {
        ...enabled('zramswap.service', '/usr/sbin/zramswap start'),
        '/usr/sbin/zramswap': script('#!/bin/bash\nmodprobe zram\nswapon -p 100 /dev/zram0\n'),
      },
      'zramswap.service',
    ],
    [
      'a service that a timer starts',
      { ...enabled('x.service', '/sbin/swapon /s'), [`${WANTS}/x.service`]: '', [`${WANTS}/x.timer`]: '' },
      'x.service',
    ],
    ['the daemon swapspace', enabled('swapspace.service', '/usr/sbin/swapspace'), 'swapspace.service'],
    ['rc.local', { '/etc/rc.local': script('#!/bin/sh\nswapon /swapfile\n') }, '/etc/rc.local'],
    ['cron at boot', { '/etc/cron.d/swap': '@reboot root /sbin/swapon /swapfile\n' }, '/etc/cron.d/swap'],
    [
      'a script of OpenRC',
      { '/etc/local.d/swap.start': script('#!/bin/sh\nswapon /swapfile\n') },
      '/etc/local.d/swap.start',
    ],
    [
      'a service of OpenRC',
      { '/etc/runlevels/boot/more': '', '/etc/init.d/more': script('#!/sbin/openrc-run\nstart() {\n  swapon /s\n}\n') },
      '/etc/init.d/more',
    ],
  ] as const) {
    test(`${what}: is found before any change`, async () => {
      const [found, ...more] = await preflight(files);
      assert.equal(found?.reason, 'SwapNotDisabled');
      assert.ok(found.what.startsWith(`${name} turns swap on at every boot (`), found.what);
      assert.match(
        found.remedy,
        name.endsWith('.service') || name.includes('init.d') ? /enabled: false, state: Stopped/ : /Remove the line/,
      );
      assert.deepEqual(more, []);
    });
  }

  for (const [what, files] of [
    ['swapon of what fstab has', enabled('all.service', '/sbin/swapon -a')],
    ['swapon that only shows', enabled('show.service', '/sbin/swapon --show=NAME')],
    ['swapoff', enabled('off.service', '/sbin/swapoff -a')],
    ['a service that is not enabled', { [`${UNITS}/more.service`]: '[Service]\nExecStart=/sbin/swapon /swapfile\n' }],
    ['a masked service', { ...enabled('more.service', '/sbin/swapon /s'), '/etc/systemd/system/more.service': '' }],
    ['a comment', { '/etc/rc.local': script('#!/bin/sh\n# swapon /swapfile\n') }],
    ['a script that may not be executed', { '/etc/rc.local': script('#!/bin/sh\nswapon /swapfile\n', 0o644) }],
    ['cron at other times', { '/etc/crontab': '0 3 * * * root /sbin/swapon /swapfile\n' }],
    ['a program that is no script', { ...enabled('x.service', '/usr/bin/x'), '/usr/bin/x': 'swapon /swapfile' }],
  ] as const) {
    test(`${what} turns nothing on`, async () => assert.deepEqual(await preflight(files), []));
  }

  test('a service that the document disables or masks turns nothing on', async () => {
    const service = { name: 'more', enabled: false, masked: undefined, state: undefined, dropIns: [] } as const;
    const files = enabled('more.service', '/sbin/swapon /swapfile');
    assert.deepEqual(await preflight(files, [service]), []);
    assert.deepEqual(
      await preflight(files, [{ ...service, name: 'more.service', enabled: undefined, masked: true }]),
      [],
    );
    assert.equal((await preflight(files, [{ ...service, enabled: true }])).length, 1);
  });

  test('swap of unknown origin is turned off, with a warning', async () => {
    const { warnings } = await runStep(swap, swapping(['/swapfile']), disabled);
    assert.match(warnings[0] ?? '', /^swap on \/swapfile was turned off, but nothing was found that had turned it on/);
    const known = await runStep(swap, swapping(['/s'], { '/etc/fstab': '/s none swap sw 0 0\n' }), disabled);
    assert.deepEqual(known.warnings, []);
  });

  test('swap that is on again names what turns it on', async () => {
    const files = enabled('swapspace.service', '/usr/sbin/swapspace');
    const host = memoryHost({
      files: { '/proc/swaps': `${HEADING}/dev/sda2 partition 1 0 -2\n`, ...files },
      programs: { swapoff: () => ({}) },
    });
    await runStep(swap, host, disabled);
    const left = await planned(swap, host, disabled);
    const why = await swap.whyNotEffective?.(host, { systemd: true, disabled: new Set() }, left);
    assert.equal(why?.summary, 'Swap on /dev/sda2 was turned off and is on again: swapspace.service turns it on.');
    assert.deepEqual(why?.evidence, [{ source: 'swapspace.service', text: '/usr/sbin/swapspace' }]);
    assert.equal(why?.remedy, 'Add {name: swapspace, enabled: false, state: Stopped} to host.services.');
  });

  test('swap that is on again for no known reason tells how to find the reason', async () => {
    const host = memoryHost({ files: { '/proc/swaps': `${HEADING}/dev/sda2 partition 1 0 -2\n` } });
    const left = await planned(swap, host, disabled);
    const why = await swap.whyNotEffective?.(host, { systemd: true, disabled: new Set() }, left);
    assert.equal(why?.summary, 'Swap on /dev/sda2 was turned off and is on again.');
    assert.match(why?.remedy ?? '', /^Find the program that runs swapon/);
    assert.equal(await swap.whyNotEffective?.(host, { systemd: true, disabled: new Set() }, []), undefined);
  });

  for (const directory of UNIT_DIRECTORIES) {
    test(`a service that is enabled in ${directory} is found`, async () => {
      const found = await preflight({
        [`${directory}/a.service`]: '[Service]\nExecStart=/sbin/swapon /s\n',
        [`${directory}/b.target.wants/a.service`]: '',
      });
      assert.match(found[0]?.what ?? '', /^a\.service turns swap on/);
    });
  }

  for (const path of ['/etc/rc.d/rc.local', '/etc/crontab', '/var/spool/cron/crontabs/root', '/var/spool/cron/root']) {
    test(`${path} is read`, async () => {
      const line = path.endsWith('rc.local') ? '  swapon /s' : '@reboot swapon /s';
      const found = await preflight({ [path]: script(`${line}\n`) });
      assert.equal(found.length, 1);
      assert.match(found[0]?.what ?? '', /\(.*swapon \/s\)/);
    });
  }

  test('the units of templates, of one name each, and only services are looked at', async () => {
    const unit = '[Service]\nExecStart=/bin/sh /opt/on\n';
    const found = await preflight({
      [`${UNITS}/z@.service`]: unit,
      [`${UNITS}/a.service`]: unit,
      [`${UNITS}/a.mount`]: unit,
      [`${WANTS}/z@1.service`]: '',
      [`${WANTS}/a.mount`]: '',
      [`${WANTS}/a.service`]: '',
      '/opt/on': { type: 'symlink', content: '#!/bin/sh\nswapon --priority 5 /s\nswapon --show\n' },
      '/etc/local.d/README': script('#!/bin/sh\nswapon /s\n'),
    });
    assert.deepEqual(
      found.map(({ what }) => what.split(' ')[0]),
      ['a.service', 'z@1.service'],
    );
  });
});
