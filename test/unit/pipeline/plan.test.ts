import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { newJournalState } from '../../../src/pipeline/journal.ts';
import { planSteps } from '../../../src/pipeline/plan.ts';
import { runSteps } from '../../../src/pipeline/runner.ts';
import { refuseIfChanged } from '../../../src/pipeline/upgrade.ts';
import { loaded } from '../../support/document.ts';
import { type FakeStep, fakeSteps, memoryJournal, runBench } from './fake-steps.ts';
import { begun, done, ended, identity, started } from './records.ts';

/** Plans steps and then runs the same ones: the ids of both, with the step each belongs to. */
async function plannedAndDone(wishes: readonly FakeStep[], different: Parameters<typeof runBench>[0] = {}) {
  const steps = fakeSteps(...wishes);
  const bench = runBench(different);
  const { changes } = await planSteps(steps, { ...bench, journal: bench.journal.state() });
  assert.deepEqual([bench.story, bench.host.log, bench.journal.records], [[], [], []], 'plan changes nothing');
  await runSteps(steps, bench);
  const done = bench.journal.records.flatMap((record) =>
    record.is === 'step' ? record.changes.map((id) => `${record.step} ${id}`) : [],
  );
  return { planned: changes.map(({ id, step }) => `${step} ${id}`), done };
}

describe('the ids in a plan are those of the run', () => {
  const steps: readonly FakeStep[] = [
    { id: 'a', changes: [{ id: 'a/1' }, { id: 'a/2', scope: 'node', owes: ['daemon-reload'] }] },
    { id: 'unasked', unasked: true, changes: [{ id: 'unasked/1' }] },
    {
      id: 'c',
      settles: ['restart:containerd', 'daemon-reload'],
      changes: [
        { id: 'c/1', owes: ['restart:containerd'] },
        { id: 'c/2', owes: ['restart:containerd'] },
      ],
    },
    { id: 'nothing', settles: ['daemon-reload'] },
    { id: 'k', changes: [{ id: 'k/init', scope: 'node', repeatable: false }] },
  ];

  test('on a fresh machine', async () => {
    const { planned, done } = await plannedAndDone(steps);
    assert.deepEqual(planned, [
      'a a/1',
      'a a/2',
      'c c/1',
      'c c/2',
      'c follow-up/daemon-reload',
      'c follow-up/restart:containerd',
      'k k/init',
    ]);
    assert.deepEqual(done, planned);
  });

  test('where a change makes an earlier hook of a named document count no more', async () => {
    const hook = 'hooks-before-bootstrap';
    const wishes: readonly FakeStep[] = [
      { id: 'config', changes: [{ id: 'config/write', repeatable: false, undoes: [hook] }] },
      { id: hook, changes: [{ id: `${hook}/run`, repeatable: false }] },
    ];
    const of = { name: 'edge-7' };
    const ran = memoryJournal({ ...begun('1'), ...of }, done(hook, `${hook}/run`), ended('1'));
    const planned = await planSteps(fakeSteps(...wishes), {
      ...runBench(),
      journal: ran.state(),
      id: { command: 'provision', ...of },
    });
    assert.deepEqual(
      planned.changes.map(({ id }) => id),
      ['config/write', `${hook}/run`],
    );
    ran.append({ ...begun('2'), ...of });
    await runSteps(fakeSteps(...wishes), runBench({ journal: ran }));
    assert.deepEqual(
      ran.records.flatMap((record) => (record.is === 'done' ? record.change : [])),
      ['config/write', `${hook}/run`],
    );
  });

  test('in an image', async () => {
    const { planned, done } = await plannedAndDone(steps, { scope: 'base' });
    assert.deepEqual(planned, ['a a/1', 'c c/1', 'c c/2', 'c follow-up/restart:containerd']);
    assert.deepEqual(done, planned);
  });

  test('after a run that was killed', async () => {
    const journal = memoryJournal(begun('1'), { is: 'owed', step: 'a', change: 'a/2', followUps: ['daemon-reload'] });
    const { planned, done } = await plannedAndDone([{ id: 'c', settles: ['daemon-reload'] }], { journal });
    assert.deepEqual(planned, ['c follow-up/daemon-reload']);
    assert.deepEqual(done, planned);
  });

  test('and inspect gets the same record', async () => {
    const journal = memoryJournal(begun('1'), started('k', 'k/init'));
    const met: string[] = [];
    const inspect = ({ interrupted }: { interrupted: ReadonlySet<string> }) => void met.push([...interrupted].join());
    await plannedAndDone([{ id: 'k', inspect }], { journal });
    assert.deepEqual(met, ['k/init', 'k/init']);
  });
});

describe('a plan', () => {
  test('has the description of each change, but none of its payload, and no secret', async () => {
    const secret = new Secret('correct-horse-battery');
    const changes = [{ id: 'a/1', summary: `write ${secret.reveal()}`, diff: '+x\n', knownAfter: 'hooks-early' }];
    const bench = runBench();
    const plan = await planSteps(fakeSteps({ id: 'a', changes }), { ...bench, journal: bench.journal.state() });
    assert.deepEqual(plan.changes, [
      {
        id: 'a/1',
        step: 'a',
        summary: 'write [redacted]',
        action: 'change',
        scope: 'base',
        diff: '+x\n',
        knownAfter: 'hooks-early',
      },
    ]);
  });

  test('says what each change does, from what the change says of itself', async () => {
    const changes = [
      { id: 'a/said', action: 'add' as const },
      { id: 'a/created', diff: '@@ -0,0 +1,1 @@\n+x' },
      { id: 'a/edited', diff: '@@ -1,1 +1,1 @@\n-x\n+y' },
      { id: 'a/extended', diff: '@@ -1,1 +1,2 @@\n x\n+y' },
      { id: 'a/emptied', diff: '@@ -1,1 +0,0 @@\n-x' },
      { id: 'a/deleted', removes: ['/x'] },
      { id: 'a/ran', repeatable: false, owes: ['restart:x' as const] },
      { id: 'a/other' },
    ];
    const bench = runBench();
    const steps = fakeSteps({ id: 'a', changes, settles: ['restart:x'] });
    const plan = await planSteps(steps, { ...bench, journal: bench.journal.state() });
    const actions = plan.changes.map(({ action }) => action);
    assert.deepEqual(actions, ['add', 'add', 'change', 'change', 'remove', 'remove', 'run', 'change', 'restart']);
  });

  test('has what is known where a step lacks something, and says of the step that it is not known yet', async () => {
    const fails = async (): Promise<void> => {
      throw new MachineadmError({
        reason: 'KubeadmNotInstalled',
        summary: 'kubeadm is not installed',
        remedy: 'Install it.',
      });
    };
    const steps = fakeSteps(
      { id: 'a', changes: [{ id: 'a/1' }] },
      { id: 'k', inspect: fails, changes: [{ id: 'k/1' }] },
    );
    const [, lacking] = steps;
    assert.ok(lacking !== undefined);
    const bench = runBench();
    const options = { ...bench, journal: bench.journal.state() };
    await assert.rejects(planSteps(steps, options), { reason: 'KubeadmNotInstalled' });
    const missing = { reason: 'KubeadmNotInstalled', what: 'kubeadm', remedy: 'Install it.' } as const;
    const plan = await planSteps(steps, { ...options, unmet: [{ step: lacking, missing }] });
    assert.deepEqual(
      plan.changes.map(({ id }) => id),
      ['a/1'],
    );
    assert.deepEqual(plan.remarks, [{ step: 'k', message: 'not known yet: kubeadm' }]);
  });
});

describe('another document on a machine that was bootstrapped', () => {
  const { host } = runBench();
  const before = { ...newJournalState(identity(), false), bootstrappedFrom: 'from-this' };
  const withDigest = async (lastingDigest: string | undefined): Promise<LoadedDocument> => ({
    ...(await loaded('')),
    lastingDigest,
  });

  test('is DocumentChanged if its kubernetes section differs', async () => {
    const document = await withDigest('from-that');
    await assert.rejects(refuseIfChanged(host, before, document), { reason: 'DocumentChanged', exit: 'Refused' });
  });

  test('is accepted if that section is the same, or absent', async () => {
    await refuseIfChanged(host, before, await withDigest('from-this'));
    await refuseIfChanged(host, before, await withDigest(undefined));
  });

  test('is accepted on a machine that was not bootstrapped', async () => {
    await refuseIfChanged(host, newJournalState(identity(), false), await withDigest('from-that'));
  });
});
