import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname as runningName } from 'node:os';
import { describe, test } from 'node:test';
import type { FileModel } from '@machineadm/document/model/index.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { files } from '../../../src/features/files/index.ts';
import { hostname } from '../../../src/features/hostname/index.ts';
import { kernelModules } from '../../../src/features/kernel-modules/index.ts';
import { swap } from '../../../src/features/swap/index.ts';
import { sysctl } from '../../../src/features/sysctl/index.ts';
import { openHost } from '../../../src/host/index.ts';
import type { Step } from '../../../src/step/index.ts';
import { facts } from '../../support/facts.ts';
import { fileModel, hostModel } from '../../support/host-model.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { planned, runStep } from '../../support/run-step.ts';

const text = (path: string): string => readFileSync(path, 'utf8');

inThrowAwayMachine(import.meta.filename, () => {
  const host = openHost({ runId: 'test' });
  const withoutSystemd = { facts: facts({ serviceManager: 'none' }) };

  /** Applies a step, and asserts that verify and a second run find nothing to do. */
  async function runTwice<D, A, P>(step: Step<D, A, P>, model: ReturnType<typeof hostModel>) {
    const run = await runStep(step, host, model, withoutSystemd);
    assert.deepEqual(run.left, []);
    assert.deepEqual(await planned(step, host, model, withoutSystemd), []);
    return run;
  }

  /** The mode bits and owner of a path, whatever the umask of 077 these tests run under. */
  function modeAndOwner(path: string): string {
    const { mode, uid, gid } = statSync(path);
    return `${(mode & 0o7777).toString(8)} ${uid}:${gid}`;
  }

  test('the umask is restrictive', () => {
    assert.equal(process.umask(), 0o077);
  });

  describe('sysctl, on the kernel of this network namespace', () => {
    test('applies and persists, with what a write of ip_forward resets', async () => {
      writeFileSync('/proc/sys/net/ipv4/ip_forward', '0');
      writeFileSync('/proc/sys/net/ipv4/conf/all/accept_redirects', '0');
      const model = hostModel({
        sysctl: [
          { key: 'net/ipv4/conf/all/accept_redirects', value: '0' },
          { key: 'net/ipv4/ip_forward', value: '1' },
          { key: 'net/ipv4/conf/lo/rp_filter', value: '2' },
          { key: 'net/ipv4/tcp_rmem', value: '4096 131072  6291456' },
        ],
      });
      await runTwice(sysctl, model);
      assert.equal(text('/proc/sys/net/ipv4/ip_forward'), '1\n');
      assert.equal(text('/proc/sys/net/ipv4/conf/all/accept_redirects'), '0\n');
      assert.equal(modeAndOwner('/etc/sysctl.d/99-zzz-machineadm-node-1.conf'), '644 0:0');
    });

    test('writes a file that sysctl(8) reads as it was meant', { skip: needs('sysctl') }, () => {
      writeFileSync('/proc/sys/net/ipv4/ip_forward', '0');
      execFileSync('sysctl', ['-p', '/etc/sysctl.d/99-zzz-machineadm-node-1.conf'], { stdio: 'pipe' });
      assert.equal(text('/proc/sys/net/ipv4/ip_forward'), '1\n');
    });

    for (const [key, value, reason] of [
      ['net/ipv4/no_such_key', '1', 'SysctlUnknown'],
      ['kernel/ostype', 'Windows', 'SysctlReadOnly'],
      ['net/ipv4/ip_local_port_range', 'blue', 'SysctlInvalidValue'],
    ] as const) {
      test(`${key} = ${value} is ${reason}`, async () => {
        await assert.rejects(runStep(sysctl, host, hostModel({ sysctl: [{ key, value }] })), { reason });
      });
    }
  });

  test('a kernel module that is there is only written down; one that is not is ModuleMissing', async () => {
    const run = await runTwice(kernelModules, hostModel({ kernelModules: ['overlay'] }));
    assert.deepEqual(
      run.changes.map(({ id }) => id),
      ['kernel-modules/file'],
    );
    assert.equal(modeAndOwner('/etc/modules-load.d/91-machineadm-node-1.conf'), '644 0:0');
    await assert.rejects(runStep(kernelModules, host, hostModel({ kernelModules: ['no_such_module'] })), {
      reason: 'ModuleMissing',
    });
  });

  test('the host name is set, now and in /etc/hostname', async () => {
    mkdirSync('/etc/cloud', { recursive: true, mode: 0o755 });
    await runTwice(hostname, hostModel({ hostname: 'throw-away-1' }));
    assert.equal(runningName(), 'throw-away-1');
    assert.equal(text('/etc/hostname'), 'throw-away-1\n');
    assert.equal(modeAndOwner('/etc/cloud/cloud.cfg.d/99-machineadm-hostname.cfg'), '644 0:0');
  });

  test('swap lines go from fstab, and findmnt reads the rest as before', {
    skip: needs('a machine without swap'),
  }, async () => {
    // Swap itself belongs to the one kernel of all machines here: a test must not turn it off.
    writeFileSync('/etc/fstab', '/dev/vda / ext4 defaults 0 1\n/swapfile none swap sw 0 0\n');
    await runTwice(swap, hostModel({ swap: 'Disabled' }));
    const read = execFileSync('findmnt', ['--fstab', '--noheadings', '--output', 'TARGET'], { encoding: 'utf8' });
    assert.deepEqual(read.trim().split('\n'), ['/']);
  });

  describe('files', () => {
    test('have their mode, owner and parents as asked, whatever the umask', async () => {
      const source = { kind: 'value', secret: new Secret('correct horse') } as const;
      const secret: FileModel['content'] = { kind: 'secret', secret: { name: 'token', source } };
      await runTwice(
        files,
        hostModel({
          files: [
            fileModel('/srv/a/b/plain', 'x\n'),
            fileModel('/srv/secret', '', { content: secret, mode: 0o600, user: 'nobody', group: '4711' }),
            fileModel('/srv/private/tool', '#!/bin/sh\n', { mode: 0o4755, directoryMode: 0o700 }),
            fileModel('/srv/copy', '', { content: { kind: 'file', path: '/srv/a/b/plain' } }),
          ],
        }),
      );
      assert.deepEqual(['/srv/a', '/srv/a/b', '/srv/a/b/plain'].map(modeAndOwner), ['755 0:0', '755 0:0', '644 0:0']);
      assert.equal(modeAndOwner('/srv/secret'), '600 65534:4711');
      assert.equal(text('/srv/secret'), 'correct horse');
      assert.deepEqual(['/srv/private', '/srv/private/tool'].map(modeAndOwner), ['700 0:0', '4755 0:0']);
      assert.equal(text('/srv/copy'), 'x\n');
    });

    test('with an unknown owner are found before any is written', async () => {
      const model = hostModel({
        files: [fileModel('/srv/first', ''), fileModel('/srv/x', '', { user: 'nobody-here' })],
      });
      await assert.rejects(runStep(files, host, model), { reason: 'FileOwnerUnknown' });
      assert.ok(!existsSync('/srv/first'));
    });

    test('are not written through a link, nor over it', async () => {
      writeFileSync('/srv/target', 'precious');
      symlinkSync('/srv/target', '/srv/link');
      await assert.rejects(runStep(files, host, hostModel({ files: [fileModel('/srv/link', 'new')] })), {
        reason: 'FileNotWritten',
      });
      assert.equal(text('/srv/target'), 'precious');
    });

    test('on a read-only file system are ReadOnlyFilesystem', async () => {
      mkdirSync('/srv/read-only');
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'none', '/srv/read-only']);
      await assert.rejects(runStep(files, host, hostModel({ files: [fileModel('/srv/read-only/x', '')] })), {
        reason: 'ReadOnlyFilesystem',
      });
    });

    test('on a full file system are DiskFull, and nothing half-written is left', async () => {
      mkdirSync('/srv/full');
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', '/srv/full']);
      const model = hostModel({ files: [fileModel('/srv/full/x', 'x'.repeat(256 * 1024))] });
      await assert.rejects(runStep(files, host, model), { reason: 'DiskFull' });
      assert.equal(execFileSync('ls', ['-A', '/srv/full'], { encoding: 'utf8' }), '');
    });
  });
});
