import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { overwrite } from '../../../../src/host/linux/overwrite.ts';

const directory = mkdtempSync(join(tmpdir(), 'machineadm-overwrite-'));
after(() => rmSync(directory, { recursive: true }));
const bytes = (text: string) => Buffer.from(text);

describe('overwriting in place', () => {
  test('changes what differs and nothing else: the file stays the same file, and what came behind it stays', async () => {
    const path = join(directory, 'log');
    writeFileSync(path, 'one SECRET two SECRET three', { mode: 0o640 });
    const { ino, mode } = statSync(path);
    const present = readFileSync(path);
    writeFileSync(path, ' and more', { flag: 'a' });
    await overwrite(path, present, bytes('one xxxxxx two yyyyyy three'));
    assert.equal(readFileSync(path, 'utf8'), 'one xxxxxx two yyyyyy three and more');
    assert.deepEqual([statSync(path).ino, statSync(path).mode], [ino, mode]);
  });

  test('follows no symbolic link', async () => {
    const target = join(directory, 'target');
    writeFileSync(target, 'SECRET');
    symlinkSync(target, join(directory, 'link'));
    await assert.rejects(overwrite(join(directory, 'link'), bytes('SECRET'), bytes('xxxxxx')), { code: 'ELOOP' });
    assert.equal(readFileSync(target, 'utf8'), 'SECRET');
  });

  test('refuses another length', async () => {
    await assert.rejects(overwrite(join(directory, 'any'), bytes('a'), bytes('ab')), RangeError);
  });
});
