import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { openQueryHost } from '../../../src/host/index.ts';
import { asSeenBy, openJournal, peekJournal } from '../../../src/pipeline/run-journal.ts';
import { begun, bootstrapped, done, ended, identity, type lines, MACHINE_A, MACHINE_B, started } from './records.ts';

describe('the journal on disk', () => {
  const host = openQueryHost();
  let directory = '';
  let path = '';

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-journal-'));
    path = join(directory, 'state/journal');
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const here = () => readdirSync(join(directory, 'state')).sort();
  const text = (name = 'journal') => readFileSync(join(directory, 'state', name), 'utf8');
  /** A journal of this machine that holds what an earlier run left. */
  async function left(...records: Parameters<typeof lines>[0]) {
    const journal = await openJournal(host, identity(), path);
    for (const record of records) journal.append(record);
    journal.close();
  }

  test('begins with the instance it belongs to, readable for root only', async () => {
    await left();
    const [first] = text().split('\n');
    const { at: _, ...header } = JSON.parse(first ?? '');
    assert.deepEqual(header, { is: 'instance', identity: { machineId: MACHINE_A }, foreign: false });
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(here(), ['journal']);
  });

  test('holds each record when append returns, and the next run finds it', async () => {
    const journal = await openJournal(host, identity(), path);
    journal.append(begun('1'));
    journal.append(started('h', 'h/run'));
    assert.deepEqual([...journal.record('h').interrupted], ['h/run']);
    const peeked = await peekJournal(host, path);
    assert.deepEqual([...(peeked?.steps.get('h')?.started ?? [])], ['h/run']);
    journal.close();
    const next = await openJournal(host, identity(), path);
    assert.equal(next.state().open?.run, '1');
    assert.deepEqual([...next.record('h').interrupted], ['h/run']);
    next.close();
  });

  test('is read without being touched', async () => {
    assert.equal(await peekJournal(host, path), undefined);
    assert.equal(existsSync(join(directory, 'state')), false);
    await left(begun('1'));
    appendFileSync(path, '{"is":"torn');
    const before = text();
    assert.equal((await peekJournal(host, path))?.attempts, 1);
    assert.equal(text(), before);
  });

  test('drops a last line that a crash cut off, for good', async () => {
    await left(begun('1'), started('h', 'h/run'));
    const whole = text();
    appendFileSync(path, '{"is":"done","step":"h","cha');
    const journal = await openJournal(host, identity(), path);
    assert.deepEqual([...journal.record('h').interrupted], ['h/run'], 'what was not said did not happen');
    journal.append(done('h', 'h/run'));
    journal.close();
    assert.equal(text(), `${whole}${JSON.stringify(done('h', 'h/run'))}\n`);
  });

  test('drops a torn line that ends within a character of several bytes', async () => {
    await left(begun('1'));
    const whole = text();
    appendFileSync(path, Buffer.from('{"é":"€').subarray(0, -1));
    (await openJournal(host, identity(), path)).close();
    assert.equal(text(), whole);
  });

  test('damaged in its middle is refused and left as it is', async () => {
    await left(begun('1'));
    appendFileSync(path, 'rubbish\n{"is":"settled","followUp":"daemon-reload"}\n');
    const before = text();
    await assert.rejects(openJournal(host, identity(), path), { reason: 'JournalUnreadable' });
    assert.equal(text(), before);
    assert.deepEqual(here(), ['journal']);
  });

  test('takes no record after it was closed: its descriptor may be another file by then', async () => {
    const journal = await openJournal(host, identity(), path);
    journal.close();
    journal.close();
    const other = join(directory, 'other');
    writeFileSync(other, 'untouched');
    assert.throws(() => journal.append(begun('1')), { reason: 'FileNotWritten' });
    assert.equal(readFileSync(other, 'utf8'), 'untouched');
  });

  describe('of another instance', () => {
    const other = identity({ machineId: MACHINE_B });

    test('is kept under its machine-id, and remembered only as leftovers', async () => {
      await left(...bootstrapped('1'), ended('1'));
      const theirs = text();
      const journal = await openJournal(host, other, path);
      journal.close();
      assert.deepEqual(here(), ['journal', `journal.${MACHINE_A}`]);
      assert.equal(text(`journal.${MACHINE_A}`), theirs);
      const state = journal.state();
      assert.deepEqual([state.attempts, state.bootstrappedFrom, state.foreign], [0, undefined, true]);
      assert.deepEqual(journal.record('kubeadm').bootstrap, 'none');
      assert.equal(journal.record('kubeadm').foreignLeftovers, true);
    });

    test('is seen so by plan, which writes nothing', async () => {
      await left(...bootstrapped('1'));
      const seen = asSeenBy(await peekJournal(host, path), other);
      assert.deepEqual([seen.attempts, seen.foreign, seen.identity], [0, true, other]);
      assert.deepEqual(here(), ['journal']);
    });

    test('stays foreign in the next run of the new instance', async () => {
      await left(...bootstrapped('1'));
      (await openJournal(host, other, path)).close();
      const again = await openJournal(host, other, path);
      again.close();
      assert.equal(again.state().foreign, true);
      assert.deepEqual(here(), ['journal', `journal.${MACHINE_A}`]);
    });

    test('is not lost when the run was killed between keeping it and beginning the new one', async () => {
      await left(...bootstrapped('1'));
      const theirs = text();
      // What the kill leaves: the new journal is written under another name, and the old one has two names.
      writeFileSync(`${path}.new`, 'half of a line');
      linkSync(path, `${path}.${MACHINE_A}`);
      const journal = await openJournal(host, other, path);
      journal.close();
      assert.deepEqual(here(), ['journal', `journal.${MACHINE_A}`]);
      assert.equal(text(`journal.${MACHINE_A}`), theirs);
      assert.equal(journal.state().foreign, true);
      assert.notEqual(statSync(path).ino, statSync(`${path}.${MACHINE_A}`).ino);
    });

    test('never takes the place of one that was kept before', async () => {
      await left(begun('of A, first'));
      (await openJournal(host, other, path)).close();
      // The disk comes back to A, and goes to B once more.
      await left(begun('of A, second'));
      (await openJournal(host, other, path)).close();
      assert.deepEqual(here(), ['journal', `journal.${MACHINE_A}`, `journal.${MACHINE_A}.2`, `journal.${MACHINE_B}`]);
      assert.match(text(`journal.${MACHINE_A}`), /of A, first/);
      assert.match(text(`journal.${MACHINE_A}.2`), /of A, second/);
    });

    test('is kept under a name of its own where the image had no machine-id', async () => {
      const baked = await openJournal(host, identity({ machineId: '' }), path);
      baked.close();
      (await openJournal(host, identity(), path)).close();
      assert.deepEqual(here(), ['journal', 'journal.no-machine-id']);
    });
  });
});
