import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openHost } from '../../../src/host/index.ts';
import type { Host } from '../../../src/host/seam/host.ts';
import { errno, memoryHost } from '../../support/memory-host.ts';
import { needs } from '../../support/needs.ts';

/** The errno name of what an action throws, or its result. */
async function outcome(action: Promise<unknown>): Promise<unknown> {
  try {
    return await action;
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  }
}

describe('the host in memory answers as the real one', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'machineadm-memory-'));
  });
  after(() => rm(directory, { recursive: true }));

  test('for files and directories, written, read, changed and removed', {
    skip: needs('root'),
  }, async () => {
    const path = join(directory, 'a', 'b', 'file');
    const story = async (host: Host): Promise<readonly unknown[]> => {
      const seen: unknown[] = [];
      const see = async (action: Promise<unknown>) => seen.push(await outcome(action));
      await see(host.readText(path));
      await see(host.list(join(directory, 'a')));
      await see(host.writeFile({ path, content: 'content', mode: 0o640, directoryMode: 0o750, gid: 7 }));
      await see(host.readText(path));
      await see(host.readRange(path, 2, 3).then((bytes) => Buffer.from(bytes ?? []).toString()));
      await see(host.sha256(path));
      // Which file it is and when it was written is nothing that two hosts have in common.
      await see(host.stat(path).then((found) => ({ ...found, fingerprint: undefined, modifiedMs: undefined })));
      await see(host.stat(join(directory, 'a')).then((found) => [found?.type, found?.mode]));
      await see(host.list(join(directory, 'a', 'b')));
      await see(host.readText(join(directory, 'a')));
      await see(host.chmod(path, 0o600));
      await see(host.stat(path).then((found) => found?.mode));
      await see(host.makeDirectory(join(directory, 'c'), 0o700));
      await see(host.makeDirectory(join(directory, 'c'), 0o755));
      await see(host.stat(join(directory, 'c')).then((found) => found?.mode));
      await see(host.writeFile({ path: join(directory, 'c'), content: '', mode: 0o644 }));
      await see(host.removeDirectory(join(directory, 'a')));
      await see(host.removeFile(path));
      await see(host.removeFile(path));
      await see(host.removeDirectory(join(directory, 'a', 'b')));
      await see(host.removeDirectory(join(directory, 'a', 'b')));
      await see(host.list(join(directory, 'a')));
      await see(host.stat(path));
      await see(host.chmod(path, 0o600));
      await see(host.writeKernelFile(join(directory, 'nonesuch'), '1'));
      await see(host.userId('root'));
      await see(host.userId('1234'));
      await see(host.groupId('machineadm-nonesuch'));
      return seen;
    };
    const memory = memoryHost({ files: { [directory]: { type: 'directory' } } });
    assert.deepEqual(await story(memory), await story(openHost({ runId: 'test' })));
  });

  test('for a program that fails, and for one that is not installed', async () => {
    const memory = memoryHost({ programs: { sh: () => ({ status: 3, stdout: 'out\n' }) } });
    for (const host of [memory, openHost({ runId: 'test' })]) {
      const lines: string[] = [];
      const command = { program: 'sh', args: ['-c', 'echo out; exit 3'] };
      const result = await host.run({ ...command, onLine: (stream, line) => lines.push(`${stream} ${line}`) });
      assert.deepEqual(result, { status: 3, stdout: 'out\n', stderr: '', timedOut: false });
      assert.deepEqual(lines, ['stdout out']);
      await assert.rejects(host.run({ program: 'machineadm-nonesuch', args: [] }), { reason: 'HostStepFailed' });
    }
  });
});

describe('the host in memory', () => {
  test('logs every mutation in order, without contents', async () => {
    const host = memoryHost({
      kernelFiles: { '/proc/sys/net/ipv4/ip_forward': '0' },
      programs: { true: () => ({}) },
      services: { containerd: {} },
    });
    await host.writeFile({ path: '/etc/x', content: 'the content', mode: 0o600 });
    await host.writeKernelFile('/proc/sys/net/ipv4/ip_forward', '1');
    await host.run({ program: 'true', args: ['a'] });
    await host.services.reload();
    await host.services.restart('containerd');
    await host.sync('/etc');
    assert.deepEqual(host.log, [
      'write /etc/x 0600 0:0',
      'kernel /proc/sys/net/ipv4/ip_forward = 1',
      'run true a',
      'service reload',
      'service restart containerd',
      'sync /etc',
    ]);
    assert.equal(await host.readText('/proc/sys/net/ipv4/ip_forward'), '1');
    assert.equal((await host.service('containerd')).active, true);
  });

  test('refuses as the kernel would, where a test says so', async () => {
    const write = () => {
      throw errno('EINVAL');
    };
    const host = memoryHost({ kernelFiles: { '/proc/sys/a': { value: '0', write } } });
    await assert.rejects(host.writeKernelFile('/proc/sys/a', 'x'), { code: 'EINVAL' });
    await assert.rejects(host.services.start('nonesuch'), { reason: 'ServiceFailed' });
  });
});
