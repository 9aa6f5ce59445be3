import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { resolve as resolvePath } from 'node:path';
import { describe, test } from 'node:test';
import {
  environmentVariable,
  groupEnded,
  isRunning,
  parseProcessStat,
  readProcess,
  signalGroup,
} from '../../../../src/host/linux/processes.ts';
import { needs } from '../../../support/needs.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const PROCESSES = resolvePath(import.meta.dirname, '../../../../src/host/linux/processes.ts');

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

  test('the environment of a process is found also while it executes another program', {
    skip: needs('Linux'),
  }, async () => {
    const source = 'exec sh -c "$SOURCE"';
    const env = { MARK: 'x', SOURCE: source, PATH: '/usr/bin:/bin' };
    const child = spawn('sh', ['-c', source], { env, stdio: 'ignore' });
    const pid = child.pid ?? assert.fail('not started');
    try {
      for (let times = 0; times < 500; times += 1) assert.equal(await environmentVariable(pid, 'MARK'), 'x');
    } finally {
      child.kill('SIGKILL');
    }
  });

  test('a group is signalled as long as it has members', {
    skip: needs('Linux'),
  }, async () => {
    const child = spawn('sh', ['-c', 'sleep 60 & wait'], { detached: true, stdio: 'ignore' });
    const group = child.pid ?? assert.fail('not started');
    const ended = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
    assert.equal(await groupEnded(group, 0), false);
    assert.equal(signalGroup(group, 'SIGTERM'), true);
    assert.equal(await ended, 'SIGTERM');
    assert.equal(await groupEnded(group, 10_000), true);
    await waitUntil(() => !signalGroup(group, 'SIGKILL'), 'nothing is left of the group');
  });

  test('a signal that may not be sent is an error, not an empty group', {
    skip: needs('root'),
  }, async () => {
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    try {
      const script = `import { signalGroup } from ${JSON.stringify(PROCESSES)};
        process.setgroups([]); process.setgid(65534); process.setuid(65534);
        try { console.log(signalGroup(${child.pid}, 'SIGTERM')); } catch (error) { console.log(error.code); }`;
      const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
      assert.equal(stdout, 'EPERM\n');
    } finally {
      child.kill();
    }
  });
});
