import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { inWritingOrder, sysctl } from '../../../../src/features/sysctl/index.ts';
import { hostModel } from '../../../support/host-model.ts';
import { errno, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const FILE = '/etc/sysctl.d/99-zzz-machineadm-node-1.conf';
const FORWARD = '/proc/sys/net/ipv4/ip_forward';
const forwarding = hostModel({ sysctl: [{ key: 'net/ipv4/ip_forward', value: '1' }] });

describe('sysctl', () => {
  test('a key is persisted, written and read back; a second run changes nothing', async () => {
    const host = memoryHost({ kernelFiles: { [FORWARD]: '0\n' } });
    const run = await runStep(sysctl, host, forwarding);
    assert.deepEqual(
      run.changes.map(({ id, scope, summary }) => [id, scope, summary]),
      [
        ['sysctl/file', 'base', `write ${FILE}`],
        ['sysctl/net/ipv4/ip_forward', 'node', 'net.ipv4.ip_forward: 0 -> 1'],
      ],
    );
    assert.equal(host.text(FILE), '# Written by machineadm.\nnet/ipv4/ip_forward = 1\n');
    assert.ok(host.log.includes(`write ${FILE} 0644 0:0`));
    assert.ok(host.log.includes(`kernel ${FORWARD} = 1`));
    assert.deepEqual(run.left, []);
    assert.deepEqual(await planned(sysctl, host, forwarding), []);
  });

  test('an image bake writes the file and leaves the kernel of the builder alone', async () => {
    const host = memoryHost({ kernelFiles: { [FORWARD]: '0\n' } });
    await runStep(sysctl, host, forwarding, { scope: 'base' });
    assert.equal(host.text(FORWARD), '0\n');
    assert.ok(host.text(FILE) !== undefined);
  });

  test('lists are compared without regard to white space', async () => {
    const host = memoryHost({
      files: { [FILE]: '# Written by machineadm.\nnet/ipv4/tcp_rmem = 4096 131072 6291456\n' },
      kernelFiles: { '/proc/sys/net/ipv4/tcp_rmem': '4096\t131072\t6291456\n' },
    });
    const model = hostModel({ sysctl: [{ key: 'net/ipv4/tcp_rmem', value: '4096 131072 6291456' }] });
    assert.deepEqual(await planned(sysctl, host, model), []);
  });

  test('forwarding is written first, then what holds for all interfaces, then single ones', () => {
    const keys = ['kernel/panic', 'net/ipv4/conf/eth0/rp_filter', 'net/ipv4/conf/all/rp_filter', 'net/ipv4/ip_forward'];
    const order = inWritingOrder(keys.map((key) => ({ key, value: '1' }))).map(({ key }) => key);
    assert.deepEqual(order, [
      'net/ipv4/ip_forward',
      'net/ipv4/conf/all/rp_filter',
      'kernel/panic',
      'net/ipv4/conf/eth0/rp_filter',
    ]);
  });

  test('keys that a write of ip_forward resets are written again after it, though they are right before', async () => {
    const redirects = '/proc/sys/net/ipv4/conf/all/accept_redirects';
    const host = memoryHost({ kernelFiles: { [FORWARD]: '0\n', [redirects]: '0\n' } });
    const model = hostModel({
      sysctl: [
        { key: 'net/ipv4/conf/all/accept_redirects', value: '0' },
        { key: 'net/ipv4/ip_forward', value: '1' },
      ],
    });
    const run = await runStep(sysctl, host, model);
    assert.deepEqual(
      run.changes.slice(1).map(({ id }) => id),
      ['sysctl/net/ipv4/ip_forward', 'sysctl/net/ipv4/conf/all/accept_redirects'],
    );
    assert.match(run.changes.at(-1)?.summary ?? '', /because net\.ipv4\.ip_forward resets it/);
    assert.deepEqual(run.left, []);
  });

  test('a key of a module that the document loads is known after that step', async () => {
    const model = hostModel({
      kernelModules: ['br_netfilter'],
      sysctl: [{ key: 'net/bridge/bridge-nf-call-iptables', value: '1' }],
    });
    const changes = await planned(sysctl, memoryHost(), model);
    assert.equal(changes.at(-1)?.knownAfter, 'kernel-modules');
  });

  for (const [code, reason] of [
    ['EACCES', 'SysctlReadOnly'],
    ['EPERM', 'SysctlReadOnly'],
    ['EROFS', 'SysctlReadOnly'],
    ['EINVAL', 'SysctlInvalidValue'],
    ['ENOENT', 'SysctlUnknown'],
  ] as const) {
    test(`${code} on writing is ${reason}`, async () => {
      const write = (): string => {
        throw errno(code);
      };
      const host = memoryHost({ kernelFiles: { [FORWARD]: { value: '0\n', write } } });
      await assert.rejects(runStep(sysctl, host, forwarding), (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.equal(error.reason, reason);
        assert.match(error.message, /net\/ipv4\/ip_forward/);
        assert.equal(error.evidence[0]?.text, code);
        return true;
      });
    });
  }

  test('an unknown key of a known module names that module in its remedy', async () => {
    const model = hostModel({ sysctl: [{ key: 'net/bridge/bridge-nf-call-iptables', value: '1' }] });
    await assert.rejects(runStep(sysctl, memoryHost(), model), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'SysctlUnknown');
      assert.match(error.remedy, /br_netfilter/);
      return true;
    });
  });

  test('a key that leads out of /proc/sys is unknown, and nothing is read or written there', async () => {
    const host = memoryHost({ kernelFiles: { '/proc/sysrq-trigger': '' } });
    const model = hostModel({ sysctl: [{ key: '../sysrq-trigger', value: 'b' }] });
    await assert.rejects(runStep(sysctl, host, model), { reason: 'SysctlUnknown' });
    assert.deepEqual(host.log, []);
  });

  test('a value that another program undoes once is written once more', async () => {
    let writes = 0;
    const write = (value: string): string => {
      writes += 1;
      return writes === 1 ? '0\n' : value;
    };
    const host = memoryHost({ kernelFiles: { [FORWARD]: { value: '0\n', write } } });
    assert.deepEqual((await runStep(sysctl, host, forwarding)).left, []);
    assert.equal(writes, 2);
  });

  test('a value that does not hold after two writes is SysctlNotEffective with what it reads', async () => {
    const host = memoryHost({ kernelFiles: { [FORWARD]: { value: '0\n', write: () => '0\n' } } });
    await assert.rejects(runStep(sysctl, host, forwarding), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'SysctlNotEffective');
      assert.deepEqual(error.evidence, [{ source: FORWARD, text: '0' }]);
      return true;
    });
  });
});

describe('what the next boot makes of it', () => {
  const cases: readonly { name: string; files: Record<string, string>; warning?: RegExp }[] = [
    {
      name: 'a later name wins, even from a directory of lower rank',
      files: { '/usr/lib/sysctl.d/99-zzz.conf': '# x\nnet.ipv4.ip_forward=0\n' },
      warning: /99-zzz\.conf:2 sets net\/ipv4\/ip_forward = 0, which wins at the next boot/,
    },
    { name: 'an earlier name does not', files: { '/etc/sysctl.d/50-a.conf': 'net.ipv4.ip_forward=0\n' } },
    {
      name: 'a file that a same-named one in /etc masks does not',
      files: { '/etc/sysctl.d/99-zzz.conf': '', '/usr/lib/sysctl.d/99-zzz.conf': 'net.ipv4.ip_forward=0\n' },
    },
    { name: 'the same value does not', files: { '/etc/sysctl.d/99-zzz.conf': 'net/ipv4/ip_forward = 1\n' } },
    {
      name: 'a glob never beats an explicit entry',
      files: { '/etc/sysctl.d/99-zzz.conf': 'net.ipv4.*_forward = 0\n' },
    },
    { name: 'a comment does not', files: { '/etc/sysctl.d/99-zzz.conf': ';net.ipv4.ip_forward = 0\n' } },
    {
      name: 'sysctl.conf is read last by "sysctl --system" only',
      files: { '/etc/sysctl.conf': 'net.ipv4.ip_forward = 0\n' },
      warning: /\/etc\/sysctl\.conf:1 .* whenever "sysctl --system" runs/,
    },
    {
      name: 'the last line for a key counts',
      files: { '/etc/sysctl.conf': 'net.ipv4.ip_forward = 0\nnet.ipv4.ip_forward = 1\n' },
    },
    {
      name: 'the link 99-sysctl.conf sorts before ours',
      files: { '/etc/sysctl.d/99-sysctl.conf': 'net.ipv4.ip_forward = 0\n' },
    },
  ];
  for (const { name, files, warning } of cases) {
    test(name, async () => {
      const host = memoryHost({ files, kernelFiles: { [FORWARD]: '0\n' } });
      const [change] = await planned(sysctl, host, forwarding);
      const run = await runStep(sysctl, host, forwarding);
      if (warning === undefined) {
        assert.deepEqual(run.warnings, []);
        assert.equal(change?.summary, `write ${FILE}`);
      } else {
        assert.equal(run.warnings.length, 1);
        assert.match(run.warnings[0] ?? '', warning);
        assert.match(change?.summary ?? '', warning);
      }
    });
  }

  test('an interface with a dot in its name is the same key in both spellings', async () => {
    const key = 'net/ipv4/conf/eth0.100/rp_filter';
    const host = memoryHost({
      files: { '/etc/sysctl.d/99-zzz.conf': 'net.ipv4.conf.eth0/100.rp_filter = 1\n' },
      kernelFiles: { [`/proc/sys/${key}`]: '1\n' },
    });
    const run = await runStep(sysctl, host, hostModel({ sysctl: [{ key, value: '0' }] }));
    assert.equal(run.warnings.length, 1);
  });
});
