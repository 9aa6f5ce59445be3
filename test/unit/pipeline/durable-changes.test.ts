import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { requireLasting } from '../../../src/pipeline/durable-changes.ts';
import { RunTrace } from '../../../src/pipeline/run-trace.ts';
import { runSteps, StepFailure } from '../../../src/pipeline/runner.ts';
import type { Change, Step } from '../../../src/step/index.ts';
import { type MemoryHost, memoryHost } from '../../support/memory-host.ts';
import { fakeSteps, madeUp, runBench } from './fake-steps.ts';

/** A step that has a file hold a text, and how often it looked. */
function writing(id: string, path: string, content: string, more: Partial<Change> = {}): Step & { looked: number } {
  const step: Step & { looked: number } = {
    id: madeUp(id),
    looked: 0,
    desired: () => ({}),
    async inspect(host) {
      step.looked += 1;
      return await host.readText(path);
    },
    plan: (_desired, actual) =>
      actual === content ? [] : [{ id: `${id}/file`, summary: `update it`, scope: 'base', payload: {}, ...more }],
    apply: (host) => host.writeFile({ path, content, mode: 0o644 }),
  };
  return step;
}

function bench(host: MemoryHost = memoryHost({ services: { containerd: { active: true } } })) {
  return { ...runBench({ host }), trace: new RunTrace() };
}

async function runAll(steps: readonly Step[], options: ReturnType<typeof bench>): Promise<void> {
  await runSteps(steps, options);
  await requireLasting(steps, options);
}

async function failureOf(work: Promise<void>, step: string, reason: Reason): Promise<MachineadmError> {
  const failure = await work.then(
    () => assert.fail('it lasted'),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof StepFailure, String(failure));
  assert.ok(failure.error instanceof MachineadmError, String(failure.error));
  assert.deepEqual([failure.step, failure.error.reason, failure.error.exit], [step, reason, 'HostStepFailed']);
  return failure.error;
}

describe('a state that a step created', () => {
  test('and that another step changes again is StepUndone: both steps and the path are named', async () => {
    const steps = [writing('swap', '/etc/fstab', 'no swap'), writing('files', '/etc/fstab', 'swap')];
    const options = bench();
    const error = await failureOf(runAll(steps, options), 'swap', 'StepUndone');
    assert.equal(
      error.message,
      'The result of the step "swap" (swap) did not last until the end of the run: the step "files" (files) changed /etc/fstab after it.',
    );
    assert.deepEqual(error.evidence, [
      { source: 'swap/file', text: 'to do again: update it' },
      { source: 'files', text: 'changed /etc/fstab in this run' },
    ]);
    assert.equal(options.story.at(-1), 'swap Failed []');
  });

  test('lasts if each step has its own: no step after the last change is inspected again', async () => {
    const steps = [writing('a', '/etc/a', 'a'), writing('b', '/etc/b', 'b')];
    await runAll(steps, bench());
    // Inspect and verify, and once more only what another step followed.
    assert.deepEqual(
      steps.map(({ looked }) => looked),
      [3, 2],
    );
  });

  test('is not planned again in a run that changed nothing', async () => {
    const host = memoryHost({ files: { '/etc/a': 'a', '/etc/b': 'b' } });
    const steps = [writing('a', '/etc/a', 'a'), writing('b', '/etc/b', 'b')];
    await runAll(steps, bench(host));
    assert.deepEqual(
      steps.map(({ looked }) => looked),
      [1, 1],
    );
  });

  test('is inspected once for each later change, however often the run comes to it', async () => {
    const steps = [writing('a', '/etc/a', 'a'), writing('b', '/etc/b', 'b')];
    const options = bench();
    await runAll(steps, options);
    await requireLasting(steps, options);
    assert.equal(steps[0]?.looked, 3);
  });

  test('and that an unobserved program changed: the steps since are named, with the reason of the change', async () => {
    const host = memoryHost({});
    const undo = () => host.writeFile({ path: '/etc/a', content: 'other', mode: 0o644 });
    const [hooks] = fakeSteps({ id: 'hooks', changes: [{ id: 'hooks/run', apply: undo }] });
    assert.ok(hooks !== undefined);
    const a = writing('a', '/etc/a', 'a', { ineffective: 'SwapNotDisabled' });
    const error = await failureOf(runAll([a, hooks], bench(host)), 'a', 'SwapNotDisabled');
    assert.match(error.message, /did not last .* Since then the run performed "hooks" \(hooks\)\.$/);
  });

  test('and that an unobserved program changed, with the cause where the step knows it', async () => {
    const why = { summary: 'the disk is full', remedy: 'Free space.', evidence: [{ source: 'disk', text: '99 %' }] };
    const failing = async (whyNotEffective: Step['whyNotEffective']) => {
      const host = memoryHost({});
      const undo = () => host.writeFile({ path: '/etc/a', content: 'other', mode: 0o644 });
      const [hooks] = fakeSteps({ id: 'hooks', changes: [{ id: 'hooks/run', apply: undo }] });
      assert.ok(hooks !== undefined && whyNotEffective !== undefined);
      const a = { ...writing('a', '/etc/a', 'a', { ineffective: 'ImageMissing' }), whyNotEffective };
      return await failureOf(runAll([a, hooks], bench(host)), 'a', 'ImageMissing');
    };
    const error = await failing(async () => why);
    assert.match(error.message, /did not last until the end of the run: the disk is full\. Since then/);
    assert.deepEqual([error.remedy, error.evidence[0]], ['Free space.', why.evidence[0]]);
    const unsure = await failing(() => Promise.reject(new Error('no answer')));
    assert.match(unsure.message, /did not last until the end of the run\. Since then/);
  });

  test('of a service: the step that stopped it is named', async () => {
    const host = memoryHost({ services: { containerd: { active: true } } });
    const wanting = (id: string, active: boolean): Step => ({
      id: madeUp(id),
      desired: () => ({}),
      inspect: async (asked) => (await asked.service('containerd.service')).active,
      plan: (_desired, is) =>
        is === active ? [] : [{ id: `${id}/act`, summary: 'act', scope: 'base', payload: undefined }],
      apply: (acting) => acting.services[active ? 'start' : 'stop']('containerd'),
    });
    await host.services.stop('containerd');
    const work = runAll([wanting('containerd', true), wanting('services', false)], bench(host));
    const error = await failureOf(work, 'containerd', 'StepUndone');
    assert.match(error.message, /"services" \(services\) changed containerd after it/);
  });

  test('belongs to the machine: an image bake does not miss it', async () => {
    const steps = [writing('a', '/etc/a', 'a', { scope: 'node' }), writing('b', '/etc/b', 'b')];
    const options = { ...bench(), scope: 'base' as const };
    await runAll(steps, options);
  });

  test('is waited for as long as the run may last', async () => {
    const stop = new AbortController();
    const reason = new MachineadmError({ reason: 'Interrupted', summary: 'stopped', remedy: 'Run again.' });
    let looked = 0;
    const hanging: Step = {
      ...writing('a', '/etc/a', 'a'),
      async inspect(host) {
        looked += 1;
        if (looked < 3) return await host.readText('/etc/a');
        stop.abort(reason);
        return await new Promise(() => {});
      },
    };
    const options = { ...bench(), signal: stop.signal };
    const failure = await runAll([hanging, writing('b', '/etc/b', 'b')], options).catch((error: unknown) => error);
    assert.ok(failure instanceof StepFailure);
    assert.equal(failure.error, reason);
  });
});
