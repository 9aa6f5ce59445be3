import assert from 'node:assert/strict';
import { afterEach, describe, mock, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { runSteps, StepFailure } from '../../../src/pipeline/runner.ts';
import type { Execution, Step, StepRecord } from '../../../src/step/index.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { type Bench, fakeSteps, memoryJournal, runBench } from './fake-steps.ts';
import { begun, done, started } from './records.ts';

const FAILURE = new MachineadmError({ reason: 'ModuleMissing', summary: 'no such module', remedy: 'Install it.' });
const fail = () => {
  throw FAILURE;
};
const forever = () => new Promise<never>(() => {});

/** Runs steps that fail; gives the step and the error. */
async function failureOf(steps: readonly Step[], bench: Bench) {
  const failure = await runSteps(steps, bench).then(
    () => assert.fail('the run succeeded'),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof StepFailure);
  return failure;
}

async function machineadmErrorOf(steps: readonly Step[], bench: Bench, reason: Reason): Promise<MachineadmError> {
  const { error } = await failureOf(steps, bench);
  assert.ok(error instanceof MachineadmError, String(error));
  assert.equal(error.reason, reason);
  return error;
}

describe('steps', () => {
  test('run in their order, and report their changes', async () => {
    const bench = runBench();
    await runSteps(
      fakeSteps({ id: 'a', changes: [{ id: 'a/1' }, { id: 'a/2' }] }, { id: 'b', changes: [{ id: 'b/1' }] }),
      bench,
    );
    assert.deepEqual(bench.story, ['a started', 'a Succeeded [a/1 a/2]', 'b started', 'b Succeeded [b/1]']);
    assert.deepEqual(bench.journal.records, [
      { is: 'step', step: 'a', changes: ['a/1', 'a/2'] },
      { is: 'step', step: 'b', changes: ['b/1'] },
    ]);
  });

  test('report as a warning what they do not repeat, and the run continues', async () => {
    const [step] = fakeSteps({ id: 'a', changes: [{ id: 'a/1' }] });
    const bench = runBench();
    await runSteps([{ ...(step as Step), remarks: () => ['changed since it ran'] }], bench);
    assert.deepEqual(bench.story, ['a started', 'warning: changed since it ran', 'a Succeeded [a/1]']);
  });

  test('that may not be repeated have what is there recorded first, as long as it is not their own work', async () => {
    const entry = { path: '/etc/kubernetes/pki/ca.crt', type: 'file', size: 3 } as const;
    const seen: string[] = [];
    const inventory = async (_host: unknown, _desired: unknown, { bootstrap }: StepRecord) => {
      seen.push(bootstrap);
      return bootstrap === 'attempted' ? undefined : [entry];
    };
    const steps = fakeSteps({
      id: 'kubeadm',
      inventory,
      changes: [{ id: 'kubeadm/init', repeatable: false, apply: fail }],
    });
    const bench = runBench();
    await failureOf(steps, bench);
    await failureOf(steps, bench);
    assert.deepEqual(bench.journal.records, [
      { is: 'inventory', step: 'kubeadm', entries: [entry] },
      started('kubeadm', 'kubeadm/init'),
      started('kubeadm', 'kubeadm/init'),
    ]);
    assert.deepEqual(seen, ['none', 'attempted']);
    assert.deepEqual(bench.journal.record('kubeadm-reset').inventory, [entry]);
  });

  test('that find nothing to do are unchanged, and journal nothing', async () => {
    const settled = mock.fn(async () => {});
    const bench = runBench();
    await runSteps(fakeSteps({ id: 'a', settled }), bench);
    assert.deepEqual(bench.story, ['a started', 'a Unchanged []']);
    assert.deepEqual(bench.journal.records, []);
    assert.equal(settled.mock.callCount(), 0);
  });

  test('that the document asks nothing of are not mentioned', async () => {
    const bench = runBench();
    await runSteps(fakeSteps({ id: 'a', unasked: true, changes: [{ id: 'a/1' }] }), bench);
    assert.deepEqual(bench.story, []);
  });

  test('run again change nothing', async () => {
    const steps = fakeSteps({ id: 'a', changes: [{ id: 'a/1' }] });
    await runSteps(steps, runBench());
    const again = runBench();
    await runSteps(steps, again);
    assert.deepEqual(again.story, ['a started', 'a Unchanged []']);
  });

  describe('with a group of parallel changes', () => {
    /** Changes that note when they begin and end, each after its number of turns. */
    const traced = (story: string[], id: string, turns: number, failure?: Error) => ({
      id,
      concurrently: 2,
      async apply(execution: Execution) {
        story.push(`+${id}`);
        execution.waitingFor(id);
        for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
        execution.waitingFor(undefined);
        story.push(`-${id}`);
        if (failure !== undefined) throw failure;
      },
    });

    test('make so many of its changes at a time, and other changes before and after it', async () => {
      const story: string[] = [];
      const last = { ...traced(story, 'last', 1), concurrently: 1 };
      const changes = [traced(story, 'a', 4), traced(story, 'b', 2), traced(story, 'c', 9), last];
      const bench = runBench();
      await runSteps(fakeSteps({ id: 's', changes }), bench);
      assert.deepEqual(story, ['+a', '+b', '-b', '+c', '-a', '-c', '+last', '-last']);
      assert.deepEqual(
        bench.story.filter((line) => line.includes('waits')),
        ['a', 'a, b', 'a', 'a, c', 'c', 'last'].map((what) => `s waits for ${what}`),
      );
    });

    test('complete the active changes when one fails, start no other, and report the first failure', async () => {
      const story: string[] = [];
      const changes = [traced(story, 'a', 6), traced(story, 'b', 2, FAILURE), traced(story, 'c', 1)];
      const bench = runBench();
      const failure = await failureOf(fakeSteps({ id: 's', changes }), bench);
      assert.equal(failure.error, FAILURE);
      assert.deepEqual(story, ['+a', '+b', '-b', '-a']);
      assert.equal(bench.story.at(-1), 's Failed [a]');
    });
  });

  test('stop at the first that fails; later ones are skipped, except those that the document does not need', async () => {
    const bench = runBench();
    const failure = await failureOf(
      fakeSteps(
        { id: 'a', changes: [{ id: 'a/1' }] },
        { id: 'b', changes: [{ id: 'b/1' }, { id: 'b/2', apply: fail }, { id: 'b/3' }] },
        { id: 'c', changes: [{ id: 'c/1' }] },
        { id: 'd', unasked: true },
        { id: 'e' },
      ),
      bench,
    );
    assert.deepEqual([failure.step, failure.error], ['b', FAILURE]);
    assert.deepEqual(bench.story.slice(2), ['b started', 'b Failed [b/1]', 'c Skipped []', 'e Skipped []']);
    assert.deepEqual(
      bench.journal.records.map(({ is }) => is),
      ['step'],
    );
  });

  test('that fail to inspect fail as such', async () => {
    const failure = await failureOf(fakeSteps({ id: 'a', inspect: fail, changes: [{ id: 'a/1' }] }), runBench());
    assert.equal(failure.error, FAILURE);
  });

  test('that throw an unexpected error pass it on, and the run reports it as a defect', async () => {
    const bug = new TypeError('x is undefined');
    const apply = () => {
      throw bug;
    };
    const { step, error } = await failureOf(fakeSteps({ id: 'a', changes: [{ id: 'a/1', apply }] }), runBench());
    assert.deepEqual([step, error], ['a', bug]);
  });

  test('report what they wait for, print and warn of, without secrets', async () => {
    const secret = new Secret('correct-horse-battery');
    const bench = runBench();
    await runSteps(
      fakeSteps({
        id: 'a',
        changes: [
          {
            id: 'a/1',
            apply(execution) {
              execution.waitingFor('the kernel');
              execution.output('program', `it is ${secret.reveal()}`);
              execution.warn(`do not tell ${secret.reveal()}`);
              execution.remember({ half: true });
            },
          },
        ],
      }),
      bench,
    );
    assert.deepEqual(bench.story.slice(1, 4), [
      'a waits for the kernel',
      'a program: it is [redacted]',
      'warning: do not tell [redacted]',
    ]);
    assert.deepEqual(bench.journal.records[0], { is: 'note', step: 'a', change: 'a/1', note: { half: true } });
  });
});

describe('a change', () => {
  test('that may not be repeated is journalled before and after it, with what it undoes', async () => {
    const bench = runBench();
    const seen: unknown[] = [];
    const apply = () => void seen.push(...bench.journal.records);
    const change = { id: 'k/init', repeatable: false, undoes: ['hooks'], apply };
    await runSteps(fakeSteps({ id: 'k', changes: [change] }), bench);
    assert.deepEqual(seen, [started('k', 'k/init')]);
    assert.deepEqual(bench.journal.records.slice(0, 2), [started('k', 'k/init'), done('k', 'k/init', ['hooks'])]);
  });

  test('that fails is started and not done', async () => {
    const bench = runBench();
    await failureOf(fakeSteps({ id: 'k', changes: [{ id: 'k/init', repeatable: false, apply: fail }] }), bench);
    assert.deepEqual(bench.journal.records, [started('k', 'k/init')]);
  });

  test('that was interrupted is passed to inspect, in the record', async () => {
    const journal = memoryJournal(begun('1'), started('k', 'k/init'));
    const met: string[] = [];
    const inspect = ({ interrupted }: { interrupted: ReadonlySet<string> }) => void met.push(...interrupted);
    await runSteps(fakeSteps({ id: 'k', inspect }), runBench({ journal }));
    assert.deepEqual(met, ['k/init']);
  });

  test('is explained by the step if the machine shows the cause; an error in the explanation hides nothing', async () => {
    const change = { id: 'a/1', futile: true, ineffective: 'ServiceFailed' } as const;
    const why = {
      summary: 'app ended',
      remedy: 'Mend app.',
      evidence: [{ source: 'journal', text: 'no' }],
      retryable: true,
    };
    const error = await machineadmErrorOf(
      fakeSteps({ id: 'a', changes: [change], whyNotEffective: async () => why }),
      runBench(),
      'ServiceFailed',
    );
    assert.deepEqual([error.message, error.remedy, error.retryable], ['app ended', 'Mend app.', true]);
    assert.deepEqual(
      error.evidence.map(({ text }) => text),
      ['no', 'pending: do a/1'],
    );
    const unknown = fakeSteps({ id: 'a', changes: [change], whyNotEffective: () => Promise.reject(new Error('x')) });
    assert.match(
      (await machineadmErrorOf(unknown, runBench(), 'ServiceFailed')).message,
      /made its changes, but they did not last/,
    );
  });

  test('that is absent when it is read back is StepNotEffective, and is named', async () => {
    const steps = fakeSteps({ id: 'sysctl', changes: [{ id: 'sysctl/1', futile: true }] });
    const error = await machineadmErrorOf(steps, runBench(), 'StepNotEffective');
    assert.match(error.message, /"kernel settings"/);
    assert.deepEqual(error.evidence, [{ source: 'sysctl/1', text: 'pending: do sysctl/1' }]);
    assert.equal(error.exit, 'HostStepFailed');
  });

  test('that is absent when it is read back has the reason that it gives for that', async () => {
    const change = { id: 'a/1', futile: true, ineffective: 'SysctlNotEffective' } as const;
    await machineadmErrorOf(fakeSteps({ id: 'a', changes: [change] }), runBench(), 'SysctlNotEffective');
  });

  test('of this node is not made in an image', async () => {
    const changes = [{ id: 'a/base' }, { id: 'a/node', scope: 'node' }] as const;
    const bench = runBench({ scope: 'base' });
    await runSteps(fakeSteps({ id: 'a', changes }, { id: 'b', changes: [{ id: 'b/node', scope: 'node' }] }), bench);
    assert.deepEqual(bench.story, ['a started', 'a Succeeded [a/base]', 'b started', 'b Unchanged []']);
  });
});

describe('follow-ups', () => {
  const owing = (id: string, ...owes: ('daemon-reload' | 'restart:containerd')[]) => ({ id, owes });

  test('are journalled as pending before the change, performed once after all changes, and marked as done', async () => {
    const bench = runBench();
    const changes = [owing('c/1', 'restart:containerd', 'daemon-reload'), owing('c/2', 'restart:containerd')];
    await runSteps(fakeSteps({ id: 'c', settles: ['restart:containerd', 'daemon-reload'], changes }), bench);
    assert.deepEqual(bench.host.log, ['service reload', 'service restart containerd'], 'the reload first');
    const records = bench.journal.records.filter(({ is }) => is !== 'before' && is !== 'after');
    assert.deepEqual(records, [
      { is: 'owed', step: 'c', change: 'c/1', followUps: ['restart:containerd', 'daemon-reload'] },
      { is: 'owed', step: 'c', change: 'c/2', followUps: ['restart:containerd'] },
      { is: 'settled', followUp: 'daemon-reload' },
      { is: 'settled', followUp: 'restart:containerd' },
      { is: 'step', step: 'c', changes: ['c/1', 'c/2', 'follow-up/daemon-reload', 'follow-up/restart:containerd'] },
    ]);
    assert.equal(bench.story[1], 'c Succeeded [c/1 c/2 follow-up/daemon-reload follow-up/restart:containerd]');
  });

  test('are performed by the later step that settles them', async () => {
    const bench = runBench();
    const steps = fakeSteps(
      { id: 'a', changes: [owing('a/1', 'daemon-reload')] },
      { id: 'b', settles: ['daemon-reload'] },
    );
    await runSteps(steps, bench);
    assert.deepEqual(bench.story, [
      'a started',
      'a Succeeded [a/1]',
      'b started',
      'b Succeeded [follow-up/daemon-reload]',
    ]);
  });

  test('of a killed run are performed even if there is nothing else to do', async () => {
    const journal = memoryJournal(begun('1'), {
      is: 'owed',
      step: 'c',
      change: 'c/1',
      followUps: ['restart:containerd'],
    });
    const bench = runBench({ journal });
    await runSteps(fakeSteps({ id: 'c', settles: ['restart:containerd'] }), bench);
    assert.deepEqual(bench.host.log, ['service restart containerd']);
    assert.deepEqual(bench.story, ['c started', 'c Succeeded [follow-up/restart:containerd]']);
    assert.equal(journal.owed().size, 0);
  });

  test('stay pending when the change, or the follow-up itself, fails', async () => {
    const broken = [{ ...owing('c/1', 'restart:containerd'), apply: fail }];
    const first = runBench();
    await failureOf(fakeSteps({ id: 'c', settles: ['restart:containerd'], changes: broken }), first);
    assert.deepEqual([...first.journal.owed()], ['restart:containerd']);
    const second = runBench({ journal: first.journal });
    second.host.setService('containerd', { fails: 'containerd does not start' });
    const steps = fakeSteps({ id: 'c', settles: ['restart:containerd'] });
    await machineadmErrorOf(steps, second, 'ServiceFailed');
    assert.deepEqual([...first.journal.owed()], ['restart:containerd']);
  });

  test('are performed by the step that has its own way of performing them', async () => {
    const followed: string[] = [];
    const followUp = (owed: string) => void followed.push(owed);
    const bench = runBench();
    const changes = [owing('c/1', 'restart:containerd')];
    await runSteps(fakeSteps({ id: 'c', settles: ['restart:containerd'], changes, followUp }), bench);
    assert.deepEqual([followed, bench.host.log], [['restart:containerd'], []]);
  });

  test('are performed before settled, which runs before the second inspection', async () => {
    const order: string[] = [];
    const step = {
      id: 'c',
      settles: ['restart:containerd'],
      changes: [{ ...owing('c/1', 'restart:containerd'), apply: () => void order.push('apply') }],
      inspect: () => void order.push('inspect'),
      followUp: () => void order.push('follow-up'),
      settled: async () => void order.push('settled'),
    } as const;
    await runSteps(fakeSteps(step), runBench());
    assert.deepEqual(order, ['inspect', 'apply', 'follow-up', 'settled', 'inspect']);
  });
});

describe('a run that is aborted', () => {
  afterEach(() => mock.timers.reset());

  const interrupted = new MachineadmError({
    reason: 'Interrupted',
    summary: 'the run was ended by SIGTERM',
    remedy: 'Run it again.',
    retryable: true,
  });
  const stepThat = (apply: (execution: { signal: AbortSignal }) => Promise<void>) =>
    fakeSteps({ id: 'h', changes: [{ id: 'h/run', repeatable: false, apply }] }, { id: 'later' });

  test('before a step starts does not start it', async () => {
    const bench = runBench({ signal: AbortSignal.abort(interrupted) });
    const { error } = await failureOf(stepThat(forever), bench);
    assert.equal(error, interrupted);
    assert.deepEqual(bench.story, ['h started', 'h Failed []', 'later Skipped []']);
    assert.deepEqual(bench.journal.records, []);
  });

  test('in a step that handles the signal ends with Interrupted, and names the step and its last output', async () => {
    const stop = new AbortController();
    const apply = async ({ signal }: { signal: AbortSignal }) => {
      stop.abort(interrupted);
      assert.equal(signal.aborted, true);
      throw new MachineadmError({ reason: 'HookFailed', summary: 'the shell was killed', remedy: '-' });
    };
    const error = await machineadmErrorOf(stepThat(apply), runBench({ signal: stop.signal }), 'Interrupted');
    assert.equal(error.message, 'the run was ended by SIGTERM (in the step "h")');
    assert.deepEqual([error.exit, error.retryable, error.remedy], ['Interrupted', true, 'Run it again.']);
    assert.deepEqual(error.evidence, [{ source: 'h', text: 'the shell was killed' }]);
  });

  test('in a step that ignores the signal continues without it after 15 seconds, not before', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const stop = new AbortController();
    const bench = runBench({ signal: stop.signal });
    const run = failureOf(stepThat(forever), bench);
    await turns();
    stop.abort(interrupted);
    mock.timers.tick(14_999);
    await turns();
    assert.deepEqual(bench.story, ['h started'], 'it may still stop by itself');
    mock.timers.tick(1);
    const { error } = await run;
    assert.ok(error instanceof MachineadmError && error.reason === 'Interrupted');
    assert.deepEqual(bench.journal.records, [started('h', 'h/run')], 'the next run finds it interrupted');
  });

  test('keeps the changes of a step that succeeds in that time', async () => {
    const stop = new AbortController();
    const bench = runBench({ signal: stop.signal });
    const apply = async () => stop.abort(interrupted);
    const { error } = await failureOf(stepThat(apply), bench);
    assert.equal(error, interrupted);
    assert.deepEqual(bench.journal.records.slice(0, 2), [started('h', 'h/run'), done('h', 'h/run')]);
    assert.deepEqual(bench.story, ['h started', 'h Succeeded [h/run]', 'later started', 'later Failed []']);
  });
});

describe('the deadline of a step', () => {
  const listening = ({ signal }: { signal: AbortSignal }) =>
    new Promise<void>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('stopped')));
    });

  test('ends it with DeadlinePassed, naming the step and the time', async () => {
    using clock = fakeClock({ deadlines: true });
    const steps = fakeSteps({
      id: 'kubeadm',
      deadlineMs: () => 30,
      changes: [{ id: 'kubeadm/1', apply: listening }],
    });
    const error = await clock.until(machineadmErrorOf(steps, runBench(), 'DeadlinePassed'));
    assert.equal(error.message, 'the step "kubeadm" did not end within 30 ms');
    assert.deepEqual([error.exit, error.retryable], ['DeadlinePassed', true]);
  });

  test('includes the inspection', async () => {
    using clock = fakeClock({ deadlines: true });
    const inspect = () => listening({ signal: AbortSignal.timeout(40) }).catch(() => fail());
    const steps = fakeSteps({ id: 'k', deadlineMs: () => 20, inspect });
    await clock.until(machineadmErrorOf(steps, runBench(), 'DeadlinePassed'));
  });

  test('is ignored if it is longer than Node can count', async () => {
    using clock = fakeClock({ deadlines: true });
    const bench = runBench();
    const apply = () => new Promise<void>((resolve) => clock.at(20, resolve));
    const deadlineMs = () => 90 * 24 * 3_600_000;
    await clock.until(runSteps(fakeSteps({ id: 'k', deadlineMs, changes: [{ id: 'k/1', apply }] }), bench));
    assert.deepEqual(bench.story, ['k started', 'k Succeeded [k/1]']);
  });
});

/** Lets every promise that can settle by now do so. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
