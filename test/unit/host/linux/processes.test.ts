import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { describe, test } from 'node:test';
import { environmentVariable, isRunning, parseProcessStat, readProcess } from '../../../../src/host/linux/processes.ts';

describe('processes in /proc', () => {
  test('a name with blanks and brackets does not shift the fields', () => {
    const text = '42 (a) R 1 (b) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1000 1 18446744073709551615';
    const expected = { pid: 42, name: 'a) R 1 (b', state: 'S', group: 42, startTicks: 98765 };
    assert.deepEqual(parseProcessStat(text), expected);
    assert.equal(parseProcessStat('garbage'), undefined);
  });

  test('a process is found with its group and environment, and is gone after its end', async () => {
    const child = spawn('sleep', ['60'], {
      detached: true,
      env: { MARK: 'x=y', PATH: '/usr/bin:/bin' },
      stdio: 'ignore',
    });
    const pid = child.pid ?? assert.fail('not started');
    const found = await readProcess(pid);
    assert.deepEqual([found?.pid, found?.group], [pid, pid]);
    assert.equal(found !== undefined && isRunning(found), true);
    assert.equal(await environmentVariable(pid, 'MARK'), 'x=y');
    assert.equal(await environmentVariable(pid, 'MAR'), undefined);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    process.kill(pid);
    await ended;
    assert.equal(await readProcess(pid), undefined);
    assert.equal(await environmentVariable(pid, 'MARK'), undefined);
  });
});
