import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { writtenDocument } from '@machineadm/document/loading/source-tree.ts';
import { appliedFrom, decideBootWork } from '../../../src/pipeline/boot-apply.ts';
import { afterRecord, newJournalState } from '../../../src/pipeline/journal.ts';
import type { JournalRecord } from '../../../src/pipeline/journal-record.ts';
import { absoluteSource } from '../../../src/pipeline/load.ts';
import { loaded } from '../../support/document.ts';
import { identity } from './records.ts';

const AT = '2026-03-01T10:00:00.000Z';
const SOURCE = '/etc/machineadm/bootstrap.yaml';

function begun(different: Partial<Extract<JournalRecord, { is: 'run' }>> = {}): JournalRecord {
  return {
    is: 'run',
    run: 'r',
    command: 'provision',
    agent: '0.1.0',
    document: 'd',
    lasting: undefined,
    written: 'w1',
    sources: [SOURCE],
    bootId: 'b',
    at: AT,
    ...different,
  };
}

function concluded(outcome: string, at = AT): JournalRecord {
  return { is: 'concluded', run: 'r', outcome, exitCode: 0, reason: undefined, at };
}

const after = (...records: readonly JournalRecord[]) => records.reduce(afterRecord, newJournalState(identity(), false));
const applied = (...records: readonly JournalRecord[]) => appliedFrom(after(...records), [SOURCE])?.written;

describe('the applied document in the journal', () => {
  test('is the document of the last run of these sources, where it succeeded', () => {
    assert.equal(applied(), undefined);
    assert.equal(applied(begun(), concluded('Succeeded')), 'w1');
    assert.equal(applied(begun(), concluded('Succeeded'), begun({ written: 'w2' }), concluded('Succeeded')), 'w2');
  });

  test('is nothing while a run is open, and after one that did not succeed', () => {
    assert.equal(applied(begun()), undefined);
    assert.equal(applied(begun(), concluded('Succeeded'), begun()), undefined);
    for (const outcome of ['Failed', 'Interrupted', 'RebootRequired'])
      assert.equal(applied(begun(), concluded('Succeeded'), begun(), concluded(outcome)), undefined, outcome);
  });

  test('is not changed by a document that was read elsewhere, nor by an image bake', () => {
    const first = [begun(), concluded('Succeeded')];
    assert.equal(applied(...first, begun({ written: 'x', sources: ['/tmp/x'] }), concluded('Failed')), 'w1');
    assert.equal(applied(...first, begun({ command: 'prepare' }), concluded('Succeeded')), 'w1');
    assert.equal(applied(begun({ command: 'prepare' }), concluded('Succeeded')), undefined);
  });

  test('counts for all sources where an earlier version recorded none', () => {
    const { written: _written, sources: _sources, ...earlier } = begun() as Extract<JournalRecord, { is: 'run' }>;
    const state = after(earlier, concluded('Succeeded'));
    assert.deepEqual(appliedFrom(state, [SOURCE]), { written: undefined, at: AT, document: '[]' });
    assert.equal(appliedFrom(after(earlier, concluded('Failed')), [SOURCE]), undefined);
  });

  test('is known by the sources in their order, from whatever directory they were named', () => {
    const state = after(begun({ sources: ['/a', '/b'] }), concluded('Succeeded'));
    assert.notEqual(appliedFrom(state, ['/a', '/tmp/../b']), undefined);
    assert.equal(appliedFrom(state, ['/b', '/a']), undefined);
    assert.equal(absoluteSource('-'), '-');
    assert.equal(absoluteSource('x.yaml'), `${process.cwd()}/x.yaml`);
  });
});

describe('a boot', () => {
  const ONCE = { digest: 'w1', apply: 'Once' } as const;
  const cases = [
    ['that comes first applies the document', undefined, ONCE, true],
    ['after the document was applied does nothing', { written: 'w1', at: AT }, ONCE, false],
    ['after the document changed applies it', { written: 'w0', at: AT }, ONCE, true],
    ['applies again what asks for it', { written: 'w1', at: AT }, { ...ONCE, apply: 'EveryBoot' }, true],
    ['leaves what cannot be read to the run', { written: 'w1', at: AT }, undefined, true],
    ['counts what an earlier version applied', { written: undefined, at: AT }, ONCE, false],
  ] as const;
  for (const [what, before, document, run] of cases) {
    test(what, () => {
      const work = decideBootWork(before, document);
      assert.equal(work.run, run);
      if (!work.run) assert.equal(work.why, `this document was applied at ${AT} and has not changed (apply: Once)`);
    });
  }
});

describe('a document as it is written', () => {
  const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n';
  const written = (text: string) => writtenDocument([{ name: 'd', bytes: new TextEncoder().encode(text) }]);

  test('is the same whatever its comments, the order of its keys and the values of its variables', async () => {
    const one = await written(`${HEADER}host: {hostname: a, swap: Disabled}\n`);
    const same = await written(`# a comment\nhost: {swap: Disabled, hostname: a}\n${HEADER}`);
    const other = await written(`${HEADER}host: {hostname: b, swap: Disabled}\n`);
    assert.equal(one?.digest, same?.digest);
    assert.notEqual(one?.digest, other?.digest);
  });

  test('has the digest that the run records, and applies once unless it says otherwise', async () => {
    for (const [body, apply] of [
      ['', 'Once'],
      ['apply: Once\n', 'Once'],
      ['apply: EveryBoot\n', 'EveryBoot'],
    ] as const) {
      const document = await loaded(body);
      assert.deepEqual(await written(HEADER + body), { digest: document.writtenDigest, apply });
      assert.equal(document.model.apply, apply);
    }
  });

  test('is invalid if it is no document', async () => {
    assert.equal(await written(''), undefined);
    assert.equal(await written('[1]'), undefined);
    assert.equal(await written('a: "'), undefined);
  });
});
