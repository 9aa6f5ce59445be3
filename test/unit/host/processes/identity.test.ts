import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { readProcess } from '../../../../src/host/linux/processes.ts';
import { isProcessAlive, ownProcess, selfCommand } from '../../../../src/host/processes/identity.ts';
import { waitUntil } from '../../../support/wait-until.ts';

describe('the identity of a process', () => {
  test('includes its start time: this process is alive; the same pid with another start is not', async () => {
    const own = ownProcess();
    assert.equal(own.pid, process.pid);
    assert.equal(await isProcessAlive(own), true);
    assert.equal(await isProcessAlive({ ...own, startTicks: own.startTicks - 1 }), false);
  });

  test('shows a process that ended as not alive, not even as a zombie', async () => {
    // The shell becomes sleep, which never waits for the child that the shell has started.
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const pid = await new Promise<number>((resolve) => parent.stdout.once('data', (text) => resolve(Number(text))));
      const running = (await readProcess(pid)) ?? assert.fail('not found');
      assert.equal(await isProcessAlive(running), true);
      process.kill(pid, 'SIGKILL');
      await waitUntil(async () => (await readProcess(pid))?.state === 'Z', 'it becomes a zombie');
      assert.equal(await isProcessAlive(running), false);
    } finally {
      parent.kill('SIGKILL');
    }
  });
});

test('the agent is started again by Node and an absolute path, outside the binary', () => {
  assert.deepEqual(selfCommand(), [process.execPath, resolve(process.argv[1] ?? '')]);
});
