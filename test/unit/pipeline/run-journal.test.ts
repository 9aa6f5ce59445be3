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
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { withChecksum } from '../../../src/host/files/checksum.ts';
import { openQueryHost } from '../../../src/host/index.ts';
import type { NewFile } from '../../../src/host/seam/host.ts';
import type { JournalState } from '../../../src/pipeline/journal.ts';
import { recordingHost } from '../../../src/pipeline/recording-host.ts';
import { journalForInstance, openJournal, peekJournal, type RunJournal } from '../../../src/pipeline/run-journal.ts';
import { memoryHost } from '../../support/memory-host.ts';
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

  /** What a journal says, with its sets and maps as lists. */
  const stateOf = (state: JournalState | undefined) =>
    JSON.parse(
      JSON.stringify(state, (_, value) => (value instanceof Map || value instanceof Set ? [...value] : value)) ??
        'null',
    );
  const here = () => readdirSync(join(directory, 'state')).sort();
  const text = (name = 'journal') => readFileSync(join(directory, 'state', name), 'utf8');
  /** A journal of this machine that holds what an earlier run left. */
  async function left(...records: Parameters<typeof lines>[0]) {
    const journal = await openJournal(host, identity(), path);
    for (const record of records) journal.append(record);
    journal.close();
  }

  test('starts with its instance, readable for root only', async () => {
    await left();
    const [first] = text().split('\n');
    const { at: _, crc32, ...header } = JSON.parse(first ?? '');
    assert.match(crc32, /^[0-9a-f]{8}$/);
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

  test('records a change when the change is made, with one write for each', async () => {
    const journal = await openJournal(host, identity(), path);
    let writes = 0;
    const counted: RunJournal = {
      ...journal,
      write() {
        writes += 1;
        journal.write();
      },
    };
    const machine = memoryHost({ files: { '/etc/there': 'before' } });
    const seen: string[] = [];
    const look = async (name: string) => {
      const peeked = await peekJournal(host, path);
      const of = `path:${name}` as const;
      seen.push(`${name} ${peeked?.before.has(of)} ${peeked?.after.get(of)?.length} ${peeked?.owned.get(name)?.type}`);
    };
    const watched = {
      ...machine,
      writeFile: async (file: NewFile) => {
        if (!file.path.startsWith('/var/lib/machineadm/')) await look(file.path);
        await machine.writeFile(file);
      },
      makeDirectory: async (name: string) => void (await look(name)),
      removeFile: async (name: string) => void (await look(name)),
    };
    const recorded = recordingHost(watched, { id: 'files', owned: true }, counted);
    await recorded.writeFile({ path: '/opt/new/one', content: '1', mode: 0o600 });
    await recorded.writeFile({ path: '/opt/new/two', content: '2', mode: 0o600 });
    await recorded.makeDirectory('/srv/new', 0o755);
    await recorded.removeFile('/etc/there');
    assert.deepEqual(seen, [
      '/opt/new/one true 1 file',
      '/opt/new/two true 1 file',
      '/srv/new true undefined directory',
      '/etc/there true 1 undefined',
    ]);
    assert.equal(writes, 4);
    const known = () => peekJournal(host, path).then((state) => state?.owned.get('/opt/new/two'));
    journal.append(ended('1'));
    assert.equal(
      (await known())?.type === 'file' && 'stamp' in ((await known()) ?? {}),
      true,
      'a later record takes it along',
    );
    journal.close();
  });

  test('is read without a change', async () => {
    assert.equal(await peekJournal(host, path), undefined);
    assert.equal(existsSync(join(directory, 'state')), false);
    await left(begun('1'));
    appendFileSync(path, '{"is":"torn');
    const before = text();
    assert.equal((await peekJournal(host, path))?.attempts, 1);
    assert.equal(text(), before);
  });

  test('loses an incomplete last line after a crash', async () => {
    await left(begun('1'), started('h', 'h/run'));
    const whole = text();
    appendFileSync(path, '{"is":"done","step":"h","cha');
    const journal = await openJournal(host, identity(), path);
    assert.deepEqual([...journal.record('h').interrupted], ['h/run'], 'what was not said did not happen');
    journal.append(done('h', 'h/run'));
    journal.close();
    assert.equal(text(), `${whole}${withChecksum(JSON.stringify(done('h', 'h/run')))}\n`);
  });

  test('is read, or refused, after each flip of a bit, and never as something else', async () => {
    await left(begun('1'), started('h', 'h/run'), done('h', 'h/run'), ended('1'));
    const whole = readFileSync(path);
    const real = JSON.stringify(stateOf(await peekJournal(host, path)));
    let refused = 0;
    for (let bit = 0; bit < whole.length * 8; bit += 1) {
      const damaged = Buffer.from(whole);
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      try {
        const found = JSON.stringify(stateOf(await peekJournal({ ...host, readFile: async () => damaged }, path)));
        assert.equal(found, real, `bit ${bit} changed what the journal says`);
      } catch (error) {
        if (!(error instanceof MachineadmError)) throw error;
        assert.equal(error.reason, 'JournalUnreadable');
        refused += 1;
      }
    }
    assert.ok(refused > whole.length * 7, `${refused} of ${whole.length * 8} flips were noticed`);
  });

  test('is continued wherever it was cut off, within a character too', async () => {
    await left(begun('1'), started('h', 'h/größe-€'));
    const whole = readFileSync(path);
    const first = whole.indexOf(0x0a) + 1;
    for (let length = first; length < whole.length; length += 1) {
      writeFileSync(path, whole.subarray(0, length));
      const journal = await openJournal(host, identity(), path);
      journal.append(done('h', 'h/after'));
      journal.close();
      // But for its end the last line is whole.
      const end = length === whole.length - 1 ? length : whole.subarray(0, length).lastIndexOf(0x0a) + 1;
      assert.deepEqual(readFileSync(path).subarray(0, end), whole.subarray(0, end));
      assert.deepEqual([...((await peekJournal(host, path))?.steps.get('h')?.done ?? [])], ['h/after']);
    }
  });

  test('drops a last line of zeros, which a power cut leaves, and refuses zeros before it', async () => {
    await left(begun('1'));
    const whole = readFileSync(path);
    appendFileSync(path, Buffer.from('\0\0\0\0}\n'));
    const journal = await openJournal(host, identity(), path);
    journal.close();
    assert.deepEqual(readFileSync(path), whole);
    writeFileSync(path, Buffer.concat([Buffer.from('\0\0}\n'), whole]));
    await assert.rejects(peekJournal(host, path), { reason: 'JournalUnreadable' });
  });

  test('of a version without checksums is read, and continued with them', async () => {
    await left(begun('1'), started('h', 'h/run'));
    writeFileSync(path, text().replace(/,"crc32":"\w{8}"/g, ''));
    const journal = await openJournal(host, identity(), path);
    assert.deepEqual([...journal.record('h').interrupted], ['h/run']);
    journal.append(done('h', 'h/run'));
    journal.close();
    assert.deepEqual([...((await peekJournal(host, path))?.steps.get('h')?.done ?? [])], ['h/run']);
  });

  test('drops a torn line that ends within a character of several bytes', async () => {
    await left(begun('1'));
    const whole = text();
    appendFileSync(path, Buffer.from('{"é":"€').subarray(0, -1));
    (await openJournal(host, identity(), path)).close();
    assert.equal(text(), whole);
  });

  test('that is damaged in its middle is refused and left as it is', async () => {
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

    test('keeps the data from before its own bootstrap: it is no leftover of that', async () => {
      const entry = { path: '/etc/kubernetes/pki/ca.crt', type: 'file', size: 3 } as const;
      await left({ is: 'inventory', step: 'kubeadm', entries: [entry] }, ...bootstrapped('1'));
      assert.deepEqual(
        journalForInstance(await peekJournal(host, path), other).inventory,
        [entry],
        'so does plan see it',
      );
      (await openJournal(host, other, path)).close();
      const again = await openJournal(host, other, path);
      again.close();
      assert.deepEqual(again.record('kubeadm-reset').inventory, [entry]);
    });

    test('is recognised by plan, which writes nothing', async () => {
      await left(...bootstrapped('1'));
      const seen = journalForInstance(await peekJournal(host, path), other);
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
