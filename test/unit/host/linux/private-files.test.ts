import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, test } from 'node:test';
import { withPrivateFiles } from '../../../../src/host/linux/private-files.ts';
import { PRIVATE_FILES } from '../../../../src/host/seam/queries.ts';
import { needs } from '../../../support/needs.ts';

const RESULT = { status: 0, stdout: '', stderr: '', timedOut: false };

describe('the files of a query', () => {
  test('exist while it runs, readable for root alone, and its paths are as they were named', async () => {
    let root = '';
    const asked = {
      program: 'visudo',
      args: ['-cf', `${PRIVATE_FILES}/sudoers`],
      files: { '/sudoers': `@includedir ${PRIVATE_FILES}/d\n`, '../d/up': 'x' },
    };
    const answer = await withPrivateFiles(asked, async ({ program, args: [option, path = ''] }) => {
      root = dirname(path);
      assert.deepEqual([program, option, path], ['visudo', '-cf', `${root}/sudoers`]);
      assert.match(root, new RegExp(`^/(?:run|dev/shm|tmp)/machineadm-check-${process.pid}-`));
      assert.equal(readFileSync(path, 'utf8'), `@includedir ${root}/d\n`);
      assert.equal(readFileSync(`${root}/d/up`, 'utf8'), 'x');
      const modes = [root, `${root}/d`, path, `${root}/d/up`].map((one) => statSync(one).mode & 0o777);
      assert.deepEqual(modes, [0o700, 0o700, 0o600, 0o600]);
      return { ...RESULT, status: 1, stdout: `${path}: bad`, stderr: `${root}/d/up: worse, ${root}/x` };
    });
    assert.deepEqual(answer, { ...RESULT, status: 1, stdout: '/sudoers: bad', stderr: '/d/up: worse, /x' });
    assert.equal(existsSync(root), false);
  });

  test('that the program wrote are in the result, as far as they are asked for', async () => {
    const asked = {
      program: 'x',
      args: [PRIVATE_FILES],
      files: { a: '' },
      reads: ['/b/c', '/none', '../../etc/hostname'],
    };
    const { files } = await withPrivateFiles(asked, async ({ args: [root = ''] }) => {
      mkdirSync(`${root}/b`);
      writeFileSync(`${root}/b/c`, 'written');
      writeFileSync(`${root}/b/d`, 'not asked for');
      return RESULT;
    });
    assert.deepEqual(files, { '/b/c': 'written' });
  });

  test('are removed after a query that failed, too', async () => {
    let root = '';
    const asked = { program: 'x', args: [PRIVATE_FILES], files: { a: '' } };
    const failing = withPrivateFiles(asked, async ({ args: [path = ''] }) => {
      root = path;
      throw new Error('no');
    });
    await assert.rejects(failing, /no/);
    assert.equal(existsSync(root), false);
  });

  test('are not created for a query without any', async () => {
    const asked = { program: 'x', args: [PRIVATE_FILES] };
    await withPrivateFiles(asked, async (given) => {
      assert.equal(given, asked);
      return RESULT;
    });
  });

  test('that a killed process left are removed, and those of one that runs are not', {
    skip: needs('root'),
  }, async () => {
    // No process has such an id (proc_sys_kernel(5), pid_max).
    const left = '/run/machineadm-check-4194999-abc';
    const used = `/run/machineadm-check-${process.ppid}-abc`;
    try {
      for (const path of [left, used]) mkdirSync(path);
      await withPrivateFiles({ program: 'x', args: [], files: { a: '' } }, async () => RESULT);
      assert.deepEqual([existsSync(left), existsSync(used)], [false, true]);
    } finally {
      for (const path of [left, used]) rmSync(path, { recursive: true, force: true });
    }
  });
});
