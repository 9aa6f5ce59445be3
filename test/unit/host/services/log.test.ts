import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { serviceLog } from '../../../../src/host/services/log.ts';
import { memoryHost } from '../../../support/memory-host.ts';

describe('the log of a service without a journal', () => {
  test('is what syslog has of it, and its own file', async () => {
    const host = memoryHost({
      files: {
        '/var/log/messages': [
          'Nov 20 19:12:20 n1 daemon.info containerd[12]: from syslog',
          'Nov 20 19:12:20 n1 daemon.info containerd-shim[12]: of another',
          'Nov 20 19:12:21 n1 kern.err kernel: oops',
          '',
        ].join('\n'),
        '/var/log/containerd.log': 'first\nsecond\n',
      },
    });
    assert.deepEqual(await serviceLog(host, 'containerd', 10), [
      'Nov 20 19:12:20 n1 daemon.info containerd[12]: from syslog',
      'first',
      'second',
    ]);
    assert.deepEqual(await serviceLog(host, 'containerd', 1), [
      'Nov 20 19:12:20 n1 daemon.info containerd[12]: from syslog',
      'second',
    ]);
    assert.deepEqual(await serviceLog(host, 'kernel', 10), ['Nov 20 19:12:21 n1 kern.err kernel: oops']);
  });

  test('of a directory of its own is found', async () => {
    const host = memoryHost({ files: { '/var/log/kubelet/kubelet.log': 'x\n' } });
    assert.deepEqual(await serviceLog(host, 'kubelet', 10), ['x']);
  });

  test('is its end where it is long, from the beginning of a line', async () => {
    const text = Array.from({ length: 100_000 }, (_, index) => `line ${index}\n`).join('');
    const host = memoryHost({ files: { '/var/log/kubelet.log': text } });
    const lines = await serviceLog(host, 'kubelet', 1_000_000);
    assert.equal(lines.at(-1), 'line 99999');
    assert.ok(lines.length < 100_000);
    assert.match(lines[0] ?? '', /^line \d+$/);
  });

  test('is empty where there is none, or where it cannot be read', async () => {
    assert.deepEqual(await serviceLog(memoryHost(), 'kubelet', 10), []);
    const host = memoryHost({ files: { '/var/log/kubelet.log': { type: 'directory' } } });
    assert.deepEqual(await serviceLog(host, 'kubelet', 10), []);
  });
});
