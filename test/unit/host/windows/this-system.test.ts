import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Command } from '../../../../src/host/seam/host.ts';
import { thisSystem } from '../../../../src/host/windows/this-system.ts';
import { needs } from '../../../support/needs.ts';

/** The code is that of Windows; what it does with processes is the same here, in a directory that is named as its drive. */
describe('a program on Windows', { skip: needs('Linux') }, () => {
  const home = process.cwd();
  let directory = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-drive-'));
    for (const name of ['C:\\', 'C:\\data']) mkdirSync(join(directory, name));
    process.chdir(directory);
  });
  after(() => {
    process.chdir(home);
    rmSync(directory, { recursive: true });
  });

  const sh = (script: string, more: Partial<Command> = {}, recorder?: Parameters<typeof thisSystem>[0]) =>
    thisSystem(recorder).run({ program: '/bin/sh', args: ['-c', script], ...more });

  test('gives its output and its exit code, and has a clean environment with what was added', async () => {
    assert.deepEqual(await sh('echo out; echo err >&2; exit 3'), {
      status: 3,
      stdout: 'out\n',
      stderr: 'err\n',
      timedOut: false,
    });
    const { stdout } = await sh('/usr/bin/env', { env: { ADDED: 'x' } });
    assert.match(stdout, /^SystemRoot=C:\\Windows$/m);
    assert.match(stdout, /^ADDED=x$/m);
    assert.doesNotMatch(stdout, /^HOME=/m);
    assert.equal(thisSystem().native('C:\\x'), 'C:\\x');
  });

  test('runs at the top of the drive, or in the given directory', async () => {
    assert.equal((await sh('pwd')).stdout, `${directory}/C:\\\n`);
    assert.equal((await sh('pwd', { cwd: '/data' })).stdout, `${directory}/C:\\data\n`);
  });

  test('reads its input, as a text and in pieces, and tells each line', async () => {
    assert.equal((await sh('/bin/cat', { input: 'given' })).stdout, 'given');
    assert.equal((await sh('/bin/cat')).stdout, '');
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a\nb');
      yield Buffer.from('c\n');
    }
    const lines: string[] = [];
    const told = await sh('/bin/cat; echo e >&2', {
      input: pieces(),
      onLine: (stream, line) => lines.push(`${stream} ${line}`),
    });
    assert.equal(told.stdout, 'a\nbc\n');
    assert.deepEqual(lines.sort(), ['stderr e', 'stdout a', 'stdout bc']);
    // It may end before it has read everything.
    assert.equal((await sh('exec <&-; exit 0', { input: 'x'.repeat(1_000_000) })).status, 0);
  });

  test('is recorded while it runs, if it must not outlive the run', async () => {
    const records: string[] = [];
    const recorder = {
      started: (pid: number) => records.push(`+${pid}`),
      ended: (pid: number) => records.push(`-${pid}`),
    };
    const { stdout } = await sh('echo $$', { supervised: true }, recorder);
    assert.deepEqual(records, [`+${stdout.trim()}`, `-${stdout.trim()}`]);
    await sh('true', {}, recorder);
    assert.equal(records.length, 2);
  });

  test('that does not exist is an error that names it', async () => {
    await assert.rejects(thisSystem().run({ program: '/nowhere/x', args: [] }), {
      reason: 'HostStepFailed',
      message: '/nowhere/x could not be run',
      evidence: [{ source: '/nowhere/x', text: 'spawn /nowhere/x ENOENT' }],
    });
  });

  test('is not started once it was aborted', async () => {
    const reason = new Error('no more');
    await assert.rejects(sh('echo x', { signal: AbortSignal.abort(reason) }), {
      message: '/bin/sh was ended because the run was aborted',
      cause: reason,
    });
  });
});
