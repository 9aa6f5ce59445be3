import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import type { RunEvent } from '@machineadm/status/status.ts';
import { openProgress, type ProgressOptions } from '../../../src/cli/progress.ts';
import { statusAfter } from '../reporting/runs.ts';

const PLANNED = { kind: 'planned', steps: ['swap', 'kubeadm'] } as const;
const STARTED: RunEvent = { kind: 'started', status: statusAfter(PLANNED, { kind: 'stepStarted', step: 'swap' }) };
const WARNING: RunEvent = { kind: 'warning', message: 'the disk is nearly full', status: STARTED.status };
const NEXT: RunEvent = {
  kind: 'started',
  status: statusAfter(PLANNED, { kind: 'stepStarted', step: 'kubeadm' }),
};

/** A stream that keeps what is written: a terminal of 60 columns, or a pipe. */
function stream(isTTY = true) {
  const written: string[] = [];
  const fake = { isTTY, columns: 60, rows: 24, write: (text: string) => written.push(text) > 0 };
  return { written, stream: fake as unknown as NodeJS.WriteStream, fake };
}

function shown(options: ProgressOptions = {}, isTTY = true) {
  const made = stream(isTTY);
  return { ...made, progress: openProgress(made.stream, options) };
}

/** How many rows a text erases before it draws new ones. */
function rowsErased(text = ''): number {
  return text.startsWith('\r\x1b[') && text.includes('A\x1b[J') ? Number.parseInt(text.slice(3), 10) : 0;
}

describe('the progress of a run', () => {
  const before = { ...process.env };
  beforeEach(() => {
    for (const name of ['CI', 'NO_COLOR', 'FORCE_COLOR', 'LC_ALL', 'LC_CTYPE'])
      Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, { TERM: 'xterm', LANG: 'C.UTF-8' });
    mock.timers.enable({ apis: ['setInterval', 'Date'] });
  });
  afterEach(() => {
    mock.timers.reset();
    for (const name of Object.keys(process.env)) if (!(name in before)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, before);
  });

  test('is a list on a terminal, which is erased before it is drawn again', () => {
    const { progress, written } = shown();
    progress.onEvent(STARTED);
    const rows = (written[0] ?? '').split('\n').length - 1;
    assert.ok(rows > 0);
    assert.ok(!(written[0] ?? '').startsWith('\r'), 'there was nothing to erase');
    progress.onEvent(NEXT);
    assert.ok((written[1] ?? '').startsWith(`\r\x1b[${rows}A\x1b[J`));
    progress.close();
  });

  test('is not redrawn while nothing changes', () => {
    const { progress, written } = shown();
    progress.onEvent(STARTED);
    progress.onEvent(STARTED);
    assert.equal(written.length, 1);
    mock.timers.tick(1_000);
    assert.ok(written.length > 1, 'the time of the step goes on');
    progress.close();
    const { length } = written;
    mock.timers.tick(10_000);
    assert.equal(written.length, length, 'nothing is drawn after the end');
  });

  test('counts the rows of a terminal that became narrower', () => {
    const { progress, written, fake } = shown();
    progress.onEvent(STARTED);
    const rows = (written[0] ?? '').split('\n').length - 1;
    fake.columns = 10;
    progress.onEvent(NEXT);
    const erased = rowsErased(written[1]);
    assert.ok(erased > rows, `${erased} rows of ${rows}`);
    progress.close();
  });

  test('has a warning above the list, unless the text at the end says it', () => {
    for (const [options, isPrinted] of [
      [{}, true],
      [{ isFollowed: true }, false],
      [{ isFollowed: true, withEvents: true }, true],
    ] as const) {
      const { progress, written } = shown(options);
      progress.onEvent(STARTED);
      progress.onEvent(WARNING);
      assert.equal(/nearly full/.test(written.join('')), isPrinted, JSON.stringify(options));
      progress.close();
    }
  });

  test('has a line for each event on request, and few rows', () => {
    const many = shown();
    const few = shown({ withEvents: true });
    const status = statusAfter(
      { kind: 'planned', steps: ['swap', 'hosts', 'hostname', 'users', 'groups', 'sysctl', 'limits', 'kubeadm'] },
      { kind: 'stepStarted', step: 'swap' },
    );
    for (const { progress } of [many, few]) progress.onEvent({ kind: 'started', status });
    const rowsOf = ({ written }: typeof many) => (written[0] ?? '').split('\n').length;
    assert.ok(rowsOf(few) < rowsOf(many), `${rowsOf(few)} and ${rowsOf(many)} rows`);
    for (const { progress } of [many, few]) progress.close();
  });

  test('stays at the end, unless something follows it; closing twice is closing once', () => {
    for (const [options, isErased] of [
      [{}, false],
      [{ isFollowed: true }, true],
      [{ withEvents: true }, true],
    ] as const) {
      const { progress, written } = shown(options);
      progress.onEvent(STARTED);
      const { length } = written;
      progress.close();
      progress.close();
      assert.equal(written.length - length, isErased ? 1 : 0);
      if (isErased) assert.ok(rowsErased(written.at(-1)) > 0);
    }
  });

  test('shows what a program prints, in one line, until the step ends', () => {
    const { progress, written } = shown();
    progress.onEvent(STARTED);
    progress.onOutput('swapoff', 'reading\tback');
    mock.timers.tick(1_000);
    assert.match(written.at(-1) ?? '', /swapoff: reading/);
    progress.onEvent(NEXT);
    assert.doesNotMatch(written.at(-1) ?? '', /swapoff: reading/);
    progress.close();
  });

  for (const [what, env, isTTY, options] of [
    ['in a pipe', {}, false, {}],
    ['on a dumb terminal', { TERM: 'dumb' }, true, {}],
    ['in CI', { CI: 'true' }, true, {}],
    ['where something else writes to the terminal', {}, true, { isShared: true }],
  ] as const) {
    test(`is one line for each thing that happens, and nothing is rewritten, ${what}`, () => {
      Object.assign(process.env, env);
      const { progress, written } = shown(options, isTTY);
      progress.onEvent(WARNING);
      progress.onOutput('kubeadm', 'a\nb');
      progress.close();
      mock.timers.tick(10_000);
      assert.equal(written.length, 2);
      assert.match(written[0] ?? '', /nearly full\n$/);
      assert.match(written[1] ?? '', /^ {2}kubeadm: a.*b\n$/);
      assert.ok(!written.join('').includes('\r'));
    });
  }

  for (const CI of ['', 'false']) {
    test(`is a list where CI is "${CI}"`, () => {
      process.env.CI = CI;
      const { progress, written } = shown();
      progress.onOutput('kubeadm', 'a');
      assert.deepEqual(written, []);
      progress.close();
    });
  }

  test('has more than ASCII only where the locale and the terminal have it', () => {
    for (const [env, isUnicode] of [
      [{ LANG: 'de_DE.UTF-8' }, true],
      [{ LANG: 'C' }, false],
      [{ LANG: 'C', LC_ALL: 'C.utf8' }, true],
      [{ LANG: 'C.UTF-8', LC_ALL: 'C' }, false],
      [{ LANG: 'C.UTF-8', LC_ALL: '', LC_CTYPE: 'C' }, false],
      [{ LANG: 'C.UTF-8', TERM: 'linux' }, false],
    ] as const) {
      for (const name of ['LC_ALL', 'LC_CTYPE']) Reflect.deleteProperty(process.env, name);
      Object.assign(process.env, { TERM: 'xterm', ...env });
      const { progress, written } = shown();
      progress.onEvent(STARTED);
      const hasMore = [...written.join('')].some((character) => character.charCodeAt(0) > 127);
      assert.equal(hasMore, isUnicode, JSON.stringify(env));
      progress.close();
    }
  });
});
