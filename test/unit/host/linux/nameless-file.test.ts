import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { namelessFile } from '../../../../src/host/linux/nameless-file.ts';

describe('nameless file', () => {
  test('a child that opens /dev/stdin by name reads it from the start; a pipe of Node fails there', async () => {
    const byName = ['-c', 'cat /dev/stdin && cat /dev/stdin'];
    await using file = await namelessFile('hello\n');
    const child = spawnSync('sh', byName, { stdio: [file.fd, 'pipe', 'pipe'], encoding: 'utf8' });
    assert.deepEqual([child.status, child.stdout], [0, 'hello\nhello\n']);
    assert.notEqual(spawnSync('sh', byName, { input: 'hello\n' }).status, 0, 'the reason for this module is gone');
  });

  test('it has no name, is private, and leaves nothing behind', async () => {
    const before = await readdir('/dev/shm');
    const file = await namelessFile('secret');
    assert.deepEqual(await readdir('/dev/shm'), before);
    const { nlink, mode } = await file.stat();
    assert.deepEqual([nlink, mode & 0o777], [0, 0o600]);
    await file.close();
  });
});
