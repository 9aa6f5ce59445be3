import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { MachineadmError } from '../../../src/document/errors.ts';
import { withChecksum } from '../../../src/host/checksum.ts';
import type { RunStatus } from '../../../src/reporting/status.ts';
import { type Liveness, parseStatus, readStatus, waitForStatus } from '../../../src/reporting/status-file.ts';
import { FAILURE, IDENTITY, statusAfter } from './runs.ts';

const RUNNING = statusAfter({ kind: 'stepStarted', step: 'kubeadm' });
const DONE = statusAfter({ kind: 'concluded', conclusion: { outcome: 'Succeeded', exitCode: 0 } });
const alive: Liveness = { bootId: async () => 'b1', isRunning: async () => true };
const killed: Liveness = { bootId: async () => 'b1', isRunning: async () => false };
const rebooted: Liveness = { bootId: async () => 'b2', isRunning: async () => true };

let root: string;
const paths = () => ({ current: join(root, 'run', 'status.json'), copy: join(root, 'lib', 'status.json') });

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'machineadm-status-'));
});
afterEach(() => rm(root, { recursive: true }));

/** Replaces the file as the writer does. */
async function put(status: RunStatus | string, which: 'current' | 'copy' = 'current'): Promise<void> {
  const path = paths()[which];
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(`${path}.new`, typeof status === 'string' ? status : JSON.stringify(status));
  await rename(`${path}.new`, path);
}

describe('reading the status', () => {
  test('finds nothing where nothing ran', async () => assert.equal(await readStatus(paths(), alive), undefined));

  test('tells a running run as it is', async () => {
    await put(RUNNING);
    assert.deepEqual(await readStatus(paths(), alive), RUNNING);
  });

  test('tells a killed run as interrupted: exit 14, condition Unknown', async () => {
    await put(RUNNING);
    const status = await readStatus(paths(), killed);
    assert.equal(status?.outcome, 'Interrupted');
    assert.equal(status?.exitCode, 14);
    assert.equal(status?.failure?.reason, 'Interrupted');
    assert.equal(status?.failure?.step, 'kubeadm');
    assert.deepEqual(
      status?.conditions.map((condition) => [condition.status, condition.reason]),
      [['Unknown', 'Interrupted']],
    );
  });

  test('tells a run of an earlier boot as interrupted, whatever process has its number now', async () => {
    await put(RUNNING, 'copy');
    const status = await readStatus(paths(), rebooted);
    assert.equal(status?.outcome, 'Interrupted');
    assert.match(status?.failure?.summary ?? '', /started again/);
  });

  test('keeps a conclusion over a reboot', async () => {
    await put(DONE, 'copy');
    assert.equal((await readStatus(paths(), rebooted))?.outcome, 'Succeeded');
  });

  test('prefers the file of this boot over the copy', async () => {
    await put(DONE, 'copy');
    await put(RUNNING);
    assert.equal((await readStatus(paths(), alive))?.phase, 'Loading');
  });

  test('takes the good copy where the file is damaged, and refuses where both are', async () => {
    const damaged = withChecksum(JSON.stringify(RUNNING)).replace('"runId":"', '"runId":"x');
    await put(damaged);
    await assert.rejects(readStatus(paths(), alive), { reason: 'StatusUnreadable' });
    await put(DONE, 'copy');
    assert.equal((await readStatus(paths(), alive))?.outcome, 'Succeeded');
    await put('{', 'copy');
    await assert.rejects(readStatus(paths(), alive), { reason: 'StatusUnreadable' });
  });

  test('asks the real machine: this process runs, one with another start time does not', async () => {
    const process_ = { ...IDENTITY.process, pid: process.pid, startTicks: 1 };
    await put({ ...RUNNING, process: process_ });
    assert.equal((await readStatus(paths()))?.outcome, 'Interrupted');
  });
});

describe('a file that is not a status is refused as StatusUnreadable', () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['cut off', JSON.stringify(DONE).slice(0, 50), /not JSON/],
    ['empty', '', /not JSON/],
    ['foreign', '{"kind":"Pod"}', /not a bootstrap status/],
    ['of a later version', '{"kind":"BootstrapStatus","apiVersion":"machineadm.dev/status/v2"}', /v2.*reads v1/],
    ['without its fields', JSON.stringify({ ...DONE, conditions: undefined }), /fields are missing/],
    ['changed', withChecksum(JSON.stringify(DONE)).replace('Succeeded', 'succeeded'), /checksum is wrong/],
    ['with another thing for a step', JSON.stringify({ ...DONE, steps: ['kubeadm'] }), /hold something else/],
    ['with a time that is none', JSON.stringify({ ...DONE, startedAt: 'soon' }), /hold something else/],
    ['with half a failure', JSON.stringify({ ...DONE, failure: { reason: 'X' } }), /hold something else/],
    [
      'with a cause that is no word',
      JSON.stringify({ ...DONE, failure: { ...FAILURE, causes: [1] } }),
      /hold something/,
    ],
    ['with a number for a warning', JSON.stringify({ ...DONE, warnings: [1] }), /hold something else/],
    ['without its process', JSON.stringify({ ...DONE, process: { pid: 'x' } }), /fields are missing/],
  ];
  for (const [what, text, why] of cases) {
    test(what, () => {
      assert.throws(
        () => parseStatus(text, '/x'),
        (error) => error instanceof MachineadmError && error.reason === 'StatusUnreadable' && why.test(error.message),
      );
    });
  }

  test('but fields that a later machineadm added are let through', () => {
    assert.deepEqual(parseStatus(JSON.stringify({ ...DONE, added: 1 }), '/x'), { ...DONE, added: 1 });
  });
});

describe('waiting for a conclusion', () => {
  test('returns at once when there is one', async () => {
    await put(DONE);
    assert.equal((await waitForStatus({ timeoutMs: 5000, paths: paths(), liveness: alive }))?.outcome, 'Succeeded');
  });

  test('is told of each change by the kernel, long before it would look again', async () => {
    await put(RUNNING);
    const phases: string[] = [];
    const began = performance.now();
    const waiting = waitForStatus({
      timeoutMs: 10_000,
      paths: paths(),
      liveness: alive,
      onChange: (status) => phases.push(status.phase),
    });
    setTimeout(() => void put({ ...RUNNING, phase: 'Kubernetes' }), 100);
    setTimeout(() => void put(DONE), 250);
    assert.equal((await waiting)?.outcome, 'Succeeded');
    assert.ok(performance.now() - began < 1500);
    assert.deepEqual(phases, ['Loading', 'Kubernetes', 'Concluded']);
  });

  test('finds a file whose directory did not exist yet', async () => {
    setTimeout(() => void put(DONE), 50);
    assert.equal((await waitForStatus({ timeoutMs: 6000, paths: paths(), liveness: alive }))?.outcome, 'Succeeded');
  });

  test('ends when the run was killed, though no file changes then', async () => {
    await put(RUNNING);
    let running = true;
    setTimeout(() => {
      running = false;
    }, 50);
    const liveness = { ...alive, isRunning: async () => running };
    assert.equal((await waitForStatus({ timeoutMs: 8000, paths: paths(), liveness }))?.outcome, 'Interrupted');
  });

  test('returns what it saw last when the time is over', async () => {
    await put(RUNNING);
    const status = await waitForStatus({ timeoutMs: 50, paths: paths(), liveness: alive });
    assert.equal(status?.outcome, undefined);
    assert.equal(status?.step, 'kubeadm');
  });

  test('stops when it is told to', async () => {
    const controller = new AbortController();
    const waiting = waitForStatus({ timeoutMs: 10_000, paths: paths(), liveness: alive, signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await assert.rejects(waiting, { name: 'AbortError' });
  });
});
