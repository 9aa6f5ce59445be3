import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { type Reported, summaryOf, summaryPath } from '@machineadm/status/summary.ts';
import { withChecksum } from '../../../src/host/files/checksum.ts';
import { FileError } from '../../../src/host/files/file-error.ts';
import { readText as readFromDisk } from '../../../src/host/linux/read.ts';
import { parseStatus, parseSummary } from '../../../src/reporting/parse-status.ts';
import {
  type Liveness,
  readReported,
  readStatus,
  remedyForDetails,
  waitForStatus,
} from '../../../src/reporting/status-file.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { needs } from '../../support/needs.ts';
import { FAILURE, IDENTITY, statusAfter } from './runs.ts';

const RUNNING = statusAfter({ kind: 'stepStarted', step: 'kubeadm' });
const DONE = statusAfter({ kind: 'concluded', conclusion: { outcome: 'Succeeded', exitCode: 0 } });
const alive: Liveness = { bootId: async () => 'b1', isRunning: async () => true };
const killed: Liveness = { bootId: async () => 'b1', isRunning: async () => false };
const rebooted: Liveness = { bootId: async () => 'b2', isRunning: async () => true };

let root: string;
const paths = () => ({ current: join(root, 'run', 'status.json'), copy: join(root, 'lib', 'status.json') });

/** Gives each test of a suite files of its own. Outside of a suite it would be done for all files that share the process. */
function inItsOwnDirectory(): void {
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'machineadm-status-'));
  });
  afterEach(() => rm(root, { recursive: true }));
}

/** When the files were written, in seconds: only which of them is older counts. */
const WRITTEN = 1_790_000_000;

/** Replaces the file as the writer does. */
async function put(status: RunStatus | string, which: 'current' | 'copy' = 'current'): Promise<void> {
  const path = paths()[which];
  await mkdir(join(path, '..'), { recursive: true });
  await replace(path, typeof status === 'string' ? status : JSON.stringify(status));
}

async function replace(path: string, text: string, seconds = WRITTEN): Promise<void> {
  await writeFile(`${path}.new`, text);
  await utimes(`${path}.new`, seconds, seconds);
  await rename(`${path}.new`, path);
}

describe('reading the status', () => {
  inItsOwnDirectory();

  test('finds nothing where nothing ran', async () => assert.equal(await readStatus(paths(), alive), undefined));

  test('shows a running run as it is', async () => {
    await put(RUNNING);
    assert.deepEqual(await readStatus(paths(), alive), RUNNING);
  });

  test('shows a killed run as interrupted: exit 14, condition Unknown', async () => {
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

  test('shows a run of an earlier boot as interrupted, whatever process has its number now', async () => {
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

  test('checks the real machine: this process runs, one with another start time does not', async () => {
    const process_ = { ...IDENTITY.process, pid: process.pid, startTicks: 1 };
    await put({ ...RUNNING, process: process_ });
    assert.equal((await readStatus(paths()))?.outcome, 'Interrupted');
  });
});

/** The machine as a user sees it who may read no status: `readable` are the names of the files that he may read. */
function unprivileged(liveness: Liveness, readable: readonly string[] = ['summary.json']): Liveness {
  const readText = async (path: string) =>
    readable.includes(basename(path)) ? await readFromDisk(path) : await deny(path);
  return { ...liveness, readText };
}

async function deny(path: string): Promise<undefined> {
  if (!existsSync(path)) return undefined;
  throw new FileError(
    'read',
    path,
    Object.assign(new Error(`EACCES: permission denied, open '${path}'`), { code: 'EACCES' }),
  );
}

/** Replaces both files as the writer does. The summary may be of another status, and older or newer by so many seconds. */
async function putBoth(
  status: RunStatus,
  which: 'current' | 'copy' = 'current',
  summary: { readonly of?: RunStatus | string; readonly laterBy?: number } = {},
): Promise<void> {
  await mkdir(join(paths()[which], '..'), { recursive: true });
  await replace(paths()[which], JSON.stringify(status));
  const text = typeof summary.of === 'string' ? summary.of : JSON.stringify(summaryOf(summary.of ?? status));
  await replace(summaryPath(paths()[which]), text, WRITTEN + (summary.laterBy ?? 0));
}

describe('reading the status without the right to', () => {
  inItsOwnDirectory();

  const FAILED = statusAfter({ kind: 'concluded', conclusion: { outcome: 'Failed', exitCode: 11, failure: FAILURE } });

  test('finds the summary, with the outcome, the exit code and the reason', async () => {
    await putBoth(FAILED);
    assert.deepEqual(await readReported(paths(), unprivileged(alive)), summaryOf(FAILED));
    await assert.rejects(readStatus(paths(), unprivileged(alive)), {
      reason: 'NotPrivilegedUser',
      message: /only its summary is public/,
    });
  });

  test('finds the status where that may be read, and asks for no summary', async () => {
    await putBoth(FAILED, 'current', { of: '{' });
    assert.deepEqual(await readReported(paths(), unprivileged(alive, ['status.json'])), FAILED);
  });

  test('tells a running run from one that was killed, and from one of an earlier boot', async () => {
    await putBoth(RUNNING);
    assert.deepEqual(await readReported(paths(), unprivileged(alive)), summaryOf(RUNNING));
    const ended = { phase: 'Concluded', outcome: 'Interrupted', reason: 'Interrupted', exitCode: 14 } as const;
    assert.deepEqual(await readReported(paths(), unprivileged(killed)), { ...summaryOf(RUNNING), ...ended });
    await rm(join(root, 'run'), { recursive: true });
    await putBoth(RUNNING, 'copy');
    assert.deepEqual(await readReported(paths(), unprivileged(rebooted)), { ...summaryOf(RUNNING), ...ended });
  });

  test('finds nothing false in a summary older than its status: of a run, of a killed one, of the one before', async () => {
    await putBoth(DONE, 'current', { of: RUNNING, laterBy: -1 });
    assert.deepEqual(await readReported(paths(), unprivileged(alive)), summaryOf(RUNNING), 'it was so a moment ago');
    using clock = fakeClock();
    await assert.rejects(clock.until(readReported(paths(), unprivileged(killed))), {
      reason: 'NotPrivilegedUser',
      message: /its summary is older/,
    });
    await putBoth(RUNNING, 'current', { of: DONE, laterBy: -1 });
    await putBoth(DONE, 'copy');
    await assert.rejects(clock.until(readReported(paths(), unprivileged(killed))), { message: /its summary is older/ });
  });

  test('a summary that follows its status in a moment is waited for', async () => {
    await putBoth(DONE, 'current', { of: RUNNING, laterBy: -1 });
    using clock = fakeClock();
    clock.at(40, () => replace(summaryPath(paths().current), JSON.stringify(summaryOf(DONE))));
    assert.deepEqual(await clock.until(readReported(paths(), unprivileged(killed))), summaryOf(DONE));
    assert.equal(clock.passedMs, 40);
  });

  test('the first summary, which is not there yet, is waited for', async () => {
    await put(RUNNING);
    using clock = fakeClock();
    clock.at(3_000, () => replace(summaryPath(paths().current), JSON.stringify(summaryOf(RUNNING))));
    assert.deepEqual(await clock.until(readReported(paths(), unprivileged(alive))), summaryOf(RUNNING));
    assert.equal(clock.passedMs, 3_000);
  });

  test('takes the good copy of a summary that is damaged, and refuses where both are', async () => {
    for (const damaged of [
      '{',
      '',
      withChecksum(JSON.stringify(summaryOf(FAILED))).replace('"Failed"', '"Succeeded"'),
    ]) {
      await putBoth(FAILED, 'current', { of: damaged });
      await putBoth(FAILED, 'copy');
      assert.deepEqual(await readReported(paths(), unprivileged(alive)), summaryOf(FAILED));
      await putBoth(FAILED, 'copy', { of: damaged });
      await assert.rejects(readReported(paths(), unprivileged(alive)), {
        reason: 'StatusUnreadable',
        message: /summary\.json cannot be read/,
      });
    }
  });

  test('is refused where there is no summary, or none that may be read; an older copy is not taken for it', async () => {
    await putBoth(DONE, 'copy');
    await put(FAILED);
    using clock = fakeClock();
    await assert.rejects(clock.until(readReported(paths(), unprivileged(alive))), {
      reason: 'NotPrivilegedUser',
      message: /it has no summary/,
      remedy: 'Run the command as root.',
    });
    await putBoth(FAILED);
    await assert.rejects(readReported(paths(), unprivileged(alive, [])), { reason: 'NotPrivilegedUser' });
  });

  test('finds nothing where nothing ran', async () =>
    assert.equal(await readReported(paths(), unprivileged(alive)), undefined));

  test('names the group that the status belongs to, once it belongs to one', {
    skip: needs('root'),
  }, async () => {
    await putBoth(FAILED);
    assert.equal(remedyForDetails(paths()), 'Run the command as root.');
    await chown(paths().current, 0, 998);
    assert.match(remedyForDetails(paths()), /a member of the group machineadm \("usermod -aG machineadm USER"\)/);
  });

  test('waits by the summary as by the status', async () => {
    await putBoth(RUNNING);
    const phases: string[] = [];
    const onChange = (found: Reported): void => {
      phases.push(`${found.kind} ${found.phase}`);
      if (found.phase === 'Loading') void putBoth({ ...RUNNING, phase: 'Kubernetes' });
      if (found.phase === 'Kubernetes') void putBoth(FAILED);
    };
    const liveness = unprivileged(alive);
    const found = await waitForStatus({ timeoutMs: 3_600_000, paths: paths(), liveness, onChange });
    assert.deepEqual([found?.outcome, found?.exitCode], ['Failed', 11]);
    assert.deepEqual(
      phases.filter((phase, index) => phase !== phases[index - 1]),
      ['Loading', 'Kubernetes', 'Concluded'].map((phase) => `BootstrapSummary ${phase}`),
    );
  });
});

describe('a status that is written while it is read', () => {
  inItsOwnDirectory();

  test('a run that concludes while it is looked for is not called interrupted', async () => {
    await putBoth(RUNNING);
    const isRunning = async () => {
      await putBoth(DONE);
      return false;
    };
    for (const liveness of [{ ...alive, isRunning }, unprivileged({ ...alive, isRunning })]) {
      await putBoth(RUNNING);
      assert.equal((await readReported(paths(), liveness))?.outcome, 'Succeeded');
    }
  });
});

describe('a file that is not a summary is refused as StatusUnreadable', () => {
  const summary = summaryOf(DONE);
  const cases: readonly (readonly [string, object, RegExp])[] = [
    ['a status', DONE, /not a bootstrap summary/],
    ['of a later version', { ...summary, apiVersion: 'machineadm.dev/summary/v2' }, /v2.*reads v1/],
    ['without its process', { ...summary, process: {} }, /fields are missing/],
    ['with a time that is none', { ...summary, updatedAt: 'soon' }, /missing or have wrong values/],
    ['with a number for a reason', { ...summary, reason: 1 }, /missing or have wrong values/],
    ['with a word for an exit code', { ...summary, exitCode: 'x' }, /missing or have wrong values/],
  ];
  for (const [what, value, why] of cases) {
    test(what, () => {
      assert.throws(() => parseSummary(JSON.stringify(value), '/x'), { reason: 'StatusUnreadable', message: why });
    });
  }
});

describe('a file that is not a status is refused as StatusUnreadable', () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['cut off', JSON.stringify(DONE).slice(0, 50), /not JSON/],
    ['empty', '', /not JSON/],
    ['foreign', '{"kind":"Pod"}', /not a bootstrap status/],
    ['of a later version', '{"kind":"BootstrapStatus","apiVersion":"machineadm.dev/status/v2"}', /v2.*reads v1/],
    ['without its fields', JSON.stringify({ ...DONE, conditions: undefined }), /fields are missing/],
    ['changed', withChecksum(JSON.stringify(DONE)).replace('Succeeded', 'succeeded'), /checksum is wrong/],
    ['with another thing for a step', JSON.stringify({ ...DONE, steps: ['kubeadm'] }), /missing or have wrong values/],
    ['with a time that is none', JSON.stringify({ ...DONE, startedAt: 'soon' }), /missing or have wrong values/],
    ['with half a failure', JSON.stringify({ ...DONE, failure: { reason: 'X' } }), /missing or have wrong values/],
    [
      'with a cause that is no word',
      JSON.stringify({ ...DONE, failure: { ...FAILURE, causes: [1] } }),
      /missing or have/,
    ],
    ['with a number for a warning', JSON.stringify({ ...DONE, warnings: [1] }), /missing or have wrong values/],
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

  test('except with fields that a later machineadm added, which are accepted', () => {
    assert.deepEqual(parseStatus(JSON.stringify({ ...DONE, added: 1 }), '/x'), { ...DONE, added: 1 });
  });
});

describe('waiting for a conclusion', () => {
  inItsOwnDirectory();

  test('returns at once when there is one', async () => {
    await put(DONE);
    assert.equal((await waitForStatus({ timeoutMs: 5000, paths: paths(), liveness: alive }))?.outcome, 'Succeeded');
  });

  test('is notified of each change by the kernel, before it would look again', { timeout: 120_000 }, async () => {
    // No time passes: who only looked now and then would never see the changes.
    using _clock = fakeClock({ deadlines: true });
    await put(RUNNING);
    const phases: string[] = [];
    const onChange = ({ phase }: Reported): void => {
      phases.push(phase);
      if (phase === 'Loading') void put({ ...RUNNING, phase: 'Kubernetes' });
      if (phase === 'Kubernetes') void put(DONE);
    };
    const found = await waitForStatus({ timeoutMs: 10_000, paths: paths(), liveness: alive, onChange });
    assert.equal(found?.outcome, 'Succeeded');
    assert.deepEqual(phases, ['Loading', 'Kubernetes', 'Concluded']);
  });

  test('finds a file whose directory did not exist yet', async () => {
    using clock = fakeClock({ deadlines: true });
    clock.at(50, () => put(DONE));
    const waiting = waitForStatus({ timeoutMs: 6000, paths: paths(), liveness: alive });
    assert.equal((await clock.until(waiting))?.outcome, 'Succeeded');
  });

  test('ends when the run was killed, though no file changes then', async () => {
    await put(RUNNING);
    using clock = fakeClock({ deadlines: true });
    let running = true;
    clock.at(50, () => {
      running = false;
    });
    const liveness = { ...alive, isRunning: async () => running };
    const waiting = waitForStatus({ timeoutMs: 8000, paths: paths(), liveness });
    assert.equal((await clock.until(waiting))?.outcome, 'Interrupted');
    assert.equal(clock.passedMs, 2_000);
  });

  test('returns what it saw last when the time is over', async () => {
    await put(RUNNING);
    const status = await waitForStatus({ timeoutMs: 50, paths: paths(), liveness: alive });
    assert.equal(status?.outcome, undefined);
    assert.equal(status?.kind === 'BootstrapStatus' && status.step, 'kubeadm');
  });

  test('stops on request', async () => {
    using clock = fakeClock({ deadlines: true });
    const controller = new AbortController();
    const waiting = waitForStatus({ timeoutMs: 10_000, paths: paths(), liveness: alive, signal: controller.signal });
    clock.at(20, () => controller.abort());
    await clock.until(assert.rejects(waiting, { name: 'AbortError' }));
    assert.equal(clock.passedMs, 20);
  });
});
