import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { instanceIdentity, isBootstrapped, type JournalState, readJournal } from '../../../src/pipeline/journal.ts';
import { isSameInstance, type JournalRecord } from '../../../src/pipeline/journal-record.ts';
import { stepRecord } from '../../../src/pipeline/step-record.ts';
import { facts } from '../../support/facts.ts';
import { AT, begun, bootstrapped, done, ended, identity, lines, MACHINE_A, MACHINE_B, started } from './records.ts';

function stateOf(records: readonly JournalRecord[], foreign = false): JournalState {
  const state = readJournal('/journal', lines(records, {}, foreign));
  assert.ok(state !== undefined);
  return state;
}

describe('a journal without lines', () => {
  test('is an empty record', () => assert.equal(readJournal('/journal', []), undefined));
});

describe('runs', () => {
  test('are counted, whatever became of them', () => {
    assert.equal(stateOf([begun('1'), ended('1', 'Failed', 10), begun('2'), begun('3')]).attempts, 3);
  });

  test('without a conclusion were killed', () => {
    assert.equal(stateOf([begun('1'), begun('2')]).open?.run, '2');
    assert.equal(stateOf([begun('1'), ended('1')]).open, undefined);
  });
});

describe('runs whose commands may still run', () => {
  const unfinished = (records: readonly JournalRecord[]) => [...stateOf(records).unfinishedRuns];

  test('are the last one, until it concluded: each run ends first what the one before it left', () => {
    assert.deepEqual(unfinished([]), []);
    assert.deepEqual(unfinished([begun('1')]), ['1']);
    assert.deepEqual(unfinished([begun('1'), begun('2')]), ['2']);
    assert.deepEqual(unfinished([begun('1'), ended('1', 'Failed', 10)]), []);
  });

  test('are one that concluded without a command that did not end', () => {
    const concluded: JournalRecord = {
      is: 'concluded',
      run: '1',
      outcome: 'Failed',
      exitCode: 13,
      reason: 'DeadlinePassed',
      commandsLeft: true,
      at: AT,
    };
    assert.deepEqual(unfinished([begun('1'), concluded]), ['1']);
    assert.deepEqual(unfinished([begun('1'), concluded, begun('2'), ended('2')]), []);
  });

  test('are a reset that was killed', () => {
    assert.deepEqual(unfinished([begun('1'), ended('1'), { is: 'reset', run: '2', at: AT }]), ['2']);
  });
});

describe('in the record of one step', () => {
  test('a change that was started and not done is interrupted', () => {
    const state = stateOf([begun('1'), started('hooks-early', 'hooks-early/run')]);
    const record = stepRecord(state, 'hooks-early');
    assert.deepEqual([...record.interrupted], ['hooks-early/run']);
    assert.deepEqual([...record.done], []);
  });

  test('one that was done is done, in every later run', () => {
    const state = stateOf([begun('1'), started('h', 'h/run'), done('h', 'h/run'), ended('1'), begun('2')]);
    const record = stepRecord(state, 'h');
    assert.deepEqual([...record.interrupted], []);
    assert.deepEqual([...record.done], ['h/run']);
  });

  test('one that was done is done in that run alone', () => {
    const records = [begun('1'), started('h', 'h/run'), done('h', 'h/run'), ended('1')];
    assert.deepEqual([...stepRecord(stateOf(records), 'h').doneInRun], ['h/run']);
    assert.deepEqual([...stepRecord(stateOf([...records, begun('2')]), 'h').doneInRun], []);
  });

  test('one that was killed and then done is not interrupted any more', () => {
    const state = stateOf([started('h', 'h/run'), begun('2'), started('h', 'h/run'), done('h', 'h/run')]);
    assert.equal(stepRecord(state, 'h').interrupted.size, 0);
  });

  test('the last note of each change counts', () => {
    const note = (change: string, note: unknown): JournalRecord => ({ is: 'note', step: 'h', change, note });
    const state = stateOf([note('h/a', 1), note('h/b', { x: [2] }), note('h/a', 3)]);
    assert.deepEqual(
      [...stepRecord(state, 'h').notes],
      [
        ['h/a', 3],
        ['h/b', { x: [2] }],
      ],
    );
  });

  test("another step's memory is not its own", () => {
    const state = stateOf([started('h', 'h/run')]);
    assert.equal(stepRecord(state, 'other').interrupted.size, 0);
  });

  test('without a journal nothing is remembered', () => {
    const { bootstrap, foreignLeftovers, owed } = stepRecord(undefined, 'h');
    assert.deepEqual([bootstrap, foreignLeftovers, owed.size], ['none', false, 0]);
  });
});

describe('follow-ups', () => {
  const owed = (...followUps: ('daemon-reload' | 'restart:containerd')[]): JournalRecord => ({
    is: 'owed',
    step: 's',
    change: 's/c',
    followUps,
  });

  test('are owed until they are settled', () => {
    const records = [owed('daemon-reload', 'restart:containerd'), owed('restart:containerd')];
    assert.deepEqual([...stateOf(records).owed], ['daemon-reload', 'restart:containerd']);
    const settled: JournalRecord = { is: 'settled', followUp: 'restart:containerd' };
    assert.deepEqual([...stateOf([...records, settled]).owed], ['daemon-reload']);
    assert.deepEqual([...stepRecord(stateOf([...records, settled]), 'any').owed], ['daemon-reload']);
  });

  test('are owed by a killed run, and by one that failed', () => {
    assert.equal(stateOf([begun('1'), owed('daemon-reload'), begun('2')]).owed.size, 1);
    assert.equal(stateOf([begun('1'), owed('daemon-reload'), ended('1', 'Failed', 10)]).owed.size, 1);
  });
});

describe('the bootstrap', () => {
  const far = (records: readonly JournalRecord[]) => stepRecord(stateOf(records), 'any').bootstrap;

  test('is none, attempted, done', () => {
    assert.equal(far([begun('1')]), 'none');
    assert.equal(far([begun('1'), started('kubeadm', 'kubeadm/init')]), 'attempted');
    assert.equal(far(bootstrapped('1')), 'done');
  });

  test('is attempted again where it is repeated after it was done', () => {
    assert.equal(far([...bootstrapped('1'), started('kubeadm', 'kubeadm/init')]), 'attempted');
  });

  test('is of the kubernetes section that the run had which ended it', () => {
    assert.equal(stateOf(bootstrapped('1', 'digest-1')).bootstrappedFrom, 'digest-1');
    const killedThenDone = [
      begun('1', { lasting: 'first' }),
      started('kubeadm', 'kubeadm/init'),
      begun('2', { lasting: 'second' }),
      started('kubeadm', 'kubeadm/init'),
      done('kubeadm', 'kubeadm/init'),
      begun('3', { lasting: 'third' }),
    ];
    assert.equal(stateOf(killedThenDone).bootstrappedFrom, 'second');
  });

  test('is not done by a step of another name', () => {
    assert.equal(stateOf([begun('1'), done('kubeadm-reset', 'kubeadm-reset/reset')]).bootstrappedFrom, undefined);
  });

  test('is forgotten, with all that rested on it, by what undoes it', () => {
    const state = stateOf(
      [
        ...bootstrapped('1'),
        started('kubeadm-reset', 'kubeadm-reset/reset'),
        done('kubeadm-reset', 'kubeadm-reset/reset', ['kubeadm', 'hooks-before-bootstrap']),
      ],
      true,
    );
    assert.equal(stepRecord(state, 'kubeadm').bootstrap, 'none');
    assert.equal(state.bootstrappedFrom, undefined);
    assert.equal(state.foreign, false, 'what another instance left is gone');
    assert.equal(state.proven, false);
    assert.ok(stepRecord(state, 'kubeadm-reset').done.has('kubeadm-reset/reset'), 'the step that undoes stays');
  });

  test('is not forgotten before the undoing is done', () => {
    const state = stateOf([...bootstrapped('1'), started('kubeadm-reset', 'kubeadm-reset/reset')], true);
    assert.equal(state.foreign, true);
    assert.equal(stepRecord(state, 'kubeadm').bootstrap, 'done');
  });
});

describe('whether a success was published', () => {
  const KUBERNETES = { lastingDigest: 'sha-of-kubernetes' };
  const HOST_ONLY = { lastingDigest: undefined };
  const cases: readonly (readonly [string, readonly JournalRecord[], typeof KUBERNETES | typeof HOST_ONLY, boolean])[] =
    [
      ['never ran', [], KUBERNETES, false],
      ['failed', [begun('1'), ended('1', 'Failed', 10)], HOST_ONLY, false],
      ['kubeadm ended, but the node was never proved', bootstrapped('1').slice(0, 3), KUBERNETES, false],
      ['proved, then killed before its conclusion', bootstrapped('1'), KUBERNETES, true],
      ['proved, concluded, failed later', [...bootstrapped('1'), ended('1'), begun('2')], KUBERNETES, true],
      ['proved; now a document without kubernetes', [...bootstrapped('1'), ended('1')], HOST_ONLY, true],
      ['a host alone', [begun('1'), ended('1')], HOST_ONLY, true],
      ['a host alone; now with kubernetes', [begun('1'), ended('1')], KUBERNETES, false],
      [
        'a host alone, then a bootstrap that was not proved',
        [begun('1'), ended('1'), ...bootstrapped('2').slice(0, 3)],
        KUBERNETES,
        false,
      ],
      ['an image that was prepared', [begun('1', { command: 'prepare' }), ended('1')], HOST_ONLY, false],
    ];
  for (const [what, records, document, expected] of cases) {
    test(`${what}: ${expected ? 'yes' : 'no'}`, () =>
      assert.equal(isBootstrapped(stateOf(records), document), expected));
  }
  test('a document that could not be loaded asks for nothing new', () =>
    assert.equal(isBootstrapped(stateOf([...bootstrapped('1'), ended('1')]), undefined), true));
});

describe('whose journal it is', () => {
  const A = { machineId: MACHINE_A };
  const B = { machineId: MACHINE_B };
  const cases: readonly (readonly [string, Parameters<typeof identity>[0], Parameters<typeof identity>[0], boolean])[] =
    [
      ['the same machine', A, A, true],
      ['a clone with a machine-id of its own', A, B, false],
      ['a clone that kept the machine-id, in a cloud', { cloudInstanceId: 'i-1' }, { cloudInstanceId: 'i-2' }, false],
      [
        'an instance whose machine-id was drawn anew',
        { ...A, cloudInstanceId: 'i' },
        { ...B, cloudInstanceId: 'i' },
        true,
      ],
      [
        'a Machine that moved: the uid is the strongest',
        { ...A, uid: 'u', cloudInstanceId: 'i-1' },
        { ...B, uid: 'u', cloudInstanceId: 'i-2' },
        true,
      ],
      ['a machine used again as another Machine', { ...A, uid: 'u-1' }, { ...A, uid: 'u-2' }, false],
      ['a uid that only one side knows', { ...A, uid: 'u' }, A, true],
      ['an instance id that only one side knows', { ...A, cloudInstanceId: 'i' }, A, true],
      ['an instance id that only one side knows, on a clone', { ...A, cloudInstanceId: 'i' }, B, false],
      ['an image baked without a machine-id', { machineId: '' }, A, false],
    ];
  for (const [what, a, b, same] of cases) {
    test(`${what}: ${same ? 'the same' : 'another'} instance`, () => {
      assert.equal(isSameInstance(identity(a), identity(b)), same);
      assert.equal(isSameInstance(identity(b), identity(a)), same, 'whichever way one asks');
    });
  }

  test('is gathered from the document and the facts', () => {
    assert.deepEqual(instanceIdentity(facts({ cloudInstanceId: 'i-1', machineId: MACHINE_B }), 'u'), {
      uid: 'u',
      cloudInstanceId: 'i-1',
      machineId: MACHINE_B,
    });
  });
});

describe('a damaged journal', () => {
  const good = lines([begun('1'), started('h', 'h/run'), done('h', 'h/run')]);
  const damages: readonly (readonly [string, string])[] = [
    ['is not JSON', '{"is":"run","ru'],
    ['is no object', '42'],
    ['is null', 'null'],
    ['has no kind', '{"step":"h"}'],
    ['is of a kind that this version does not know', '{"is":"vanished"}'],
    ['names a kind by accident of language', '{"is":"constructor"}'],
    ['lacks what its kind must have', '{"is":"owed","step":"h","change":"h/run"}'],
    ['has it of another type', '{"is":"done","step":"h","change":7}'],
    ['is full of zeros', '\0\0\0\0'],
  ];
  for (const [what, line] of damages) {
    test(`where a line ${what} is JournalUnreadable, and the line is named`, () => {
      const damaged = [...good.slice(0, 2), line, ...good.slice(3)];
      assert.throws(
        () => readJournal('/var/lib/machineadm/journal', damaged),
        (error) => {
          assert.ok(error instanceof MachineadmError);
          assert.equal(error.reason, 'JournalUnreadable');
          assert.match(error.message, /^\/var\/lib\/machineadm\/journal: line 3 /);
          assert.match(error.remedy, /kubeadm reset/);
          return true;
        },
      );
    });
  }

  test('whose first line says not whose it is, is JournalUnreadable', () => {
    assert.throws(() => readJournal('/journal', good.slice(1)), { reason: 'JournalUnreadable' });
  });
});
