import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import type { Facts } from '../../../src/host/seam/facts.ts';
import { withHooks } from '../../../src/pipeline/after-hooks.ts';
import { requireLasting } from '../../../src/pipeline/durable-changes.ts';
import { RunTrace } from '../../../src/pipeline/run-trace.ts';
import { runSteps, StepFailure } from '../../../src/pipeline/runner.ts';
import { facts } from '../../support/facts.ts';
import { type FakeStep, fakeSteps, madeUp, runBench } from './fake-steps.ts';

const EARLY: FakeStep = {
  id: 'early',
  runsHooks: true,
  changes: [{ id: 'early/run', scope: 'node', repeatable: false }],
};
const BEFORE: FakeStep = { ...EARLY, id: 'before', changes: [{ id: 'before/run', scope: 'node', repeatable: false }] };
const BOOTSTRAP: FakeStep = { id: 'bootstrap', bootstraps: true, changes: [{ id: 'bootstrap/run' }] };
const BARE = facts({ containerd: undefined, kubeadm: undefined, kubelet: undefined });

/** Runs steps as a run does; the hooks leave a machine with these facts. */
async function run(wishes: readonly FakeStep[], now: Facts, before = BARE) {
  const steps = fakeSteps(...wishes);
  const bench = runBench();
  const options = withHooks({ ...bench, facts: before, trace: new RunTrace() }, steps, async () => now);
  const hooks = steps.findIndex(({ id }) => id === madeUp('before'));
  const [host, kubernetes] = hooks < 0 ? [steps, []] : [steps.slice(0, hooks), steps.slice(hooks)];
  let failure: unknown;
  try {
    await runSteps(host, options);
    await requireLasting(host, options);
    await runSteps(options.withPostponed(kubernetes), options);
    await requireLasting(steps, options);
  } catch (error) {
    failure = error;
  }
  return { story: bench.story, options, failure };
}

function assertMissing(failure: unknown, step: string, message: RegExp): void {
  assert.ok(failure instanceof StepFailure, String(failure));
  assert.ok(failure.error instanceof MachineadmError);
  assert.equal(failure.step, step);
  assert.deepEqual([failure.error.reason, failure.error.exit], ['KubeadmNotInstalled', 'HostStepFailed']);
  assert.match(failure.error.message, message);
}

/** Lacks kubeadm unless the machine has it by then. */
const lacking = (id: string, now: () => Facts, more: Partial<FakeStep> = {}): FakeStep => ({
  id,
  changes: [{ id: `${id}/change` }],
  ...more,
  preflight: async () =>
    now().kubeadm === undefined
      ? [{ reason: 'KubeadmNotInstalled', what: 'kubeadm is not installed', remedy: 'Install kubeadm.' }]
      : [],
});

describe('files that bring what Kubernetes needs', () => {
  const FILES: FakeStep = { id: 'files', brings: () => ['kubeadm'], changes: [{ id: 'files/kubeadm' }] };

  test('give the steps after them its version', async () => {
    const { options, failure } = await run([FILES, BOOTSTRAP], facts());
    assert.equal(failure, undefined);
    assert.equal(options.facts.kubeadm?.text, facts().kubeadm?.text);
  });

  test('that do not bring it fail the step that needs it, without a remark about hooks', async () => {
    const { story, failure } = await run([FILES, lacking('bootstrap', () => BARE, { bootstraps: true })], BARE);
    assertMissing(failure, 'bootstrap', /^kubeadm is not installed \(after the files\)$/);
    assert.ok(failure instanceof StepFailure && failure.error instanceof MachineadmError);
    assert.equal(failure.error.remedy, 'Install kubeadm.');
    assert.deepEqual(story, ['files started', 'files Succeeded [files/kubeadm]', 'bootstrap Failed []']);
  });

  test('are no reason to look again where it is there and nothing was written', async () => {
    const { options } = await run([{ ...FILES, changes: [] }, BOOTSTRAP], BARE, facts());
    assert.equal(options.facts.kubeadm?.text, facts().kubeadm?.text);
  });

  test('that replace it give the steps after them its new version', async () => {
    const newer = facts({ kubeadm: parseVersion('v1.36.9') });
    const { options } = await run([FILES, BOOTSTRAP], newer, facts());
    assert.equal(options.facts.kubeadm?.text, newer.kubeadm?.text);
  });
});

describe('hooks that install what Kubernetes needs', () => {
  test('give the steps after them the versions that they installed', async () => {
    const { options, failure } = await run([EARLY, { ...BOOTSTRAP }], facts());
    assert.equal(failure, undefined);
    assert.equal(options.facts.kubeadm?.text, facts().kubeadm?.text);
    assert.equal(options.facts.machineId, BARE.machineId);
  });

  test('that do not install it fail the step that needs it, and the steps after them are skipped', async () => {
    const { story, failure } = await run(
      [EARLY, { id: 'files' }, lacking('bootstrap', () => BARE, { bootstraps: true })],
      BARE,
    );
    assertMissing(failure, 'bootstrap', /^kubeadm is not installed \(after the early\)$/);
    assert.deepEqual(story, [
      'early started',
      'early Succeeded [early/run]',
      'files Skipped []',
      'bootstrap Failed []',
    ]);
  });

  test('are followed by the steps before them that could do nothing yet, in their order', async () => {
    const now = facts();
    const containerd: FakeStep = { id: 'containerd', needs: ['containerd'], changes: [{ id: 'containerd/config' }] };
    const images: FakeStep = { id: 'images', needs: ['containerd'], changes: [{ id: 'images/import' }] };
    const { story, failure } = await run([containerd, images, { id: 'files' }, BEFORE, BOOTSTRAP], now);
    assert.equal(failure, undefined);
    assert.deepEqual(
      story.filter((line) => line.endsWith('started')),
      ['files started', 'before started', 'containerd started', 'images started', 'bootstrap started'],
    );
  });

  test('leave such a step in its place where its program is installed', async () => {
    const containerd: FakeStep = { id: 'containerd', needs: ['containerd'], changes: [{ id: 'containerd/config' }] };
    const { story } = await run([containerd, BEFORE, BOOTSTRAP], facts(), facts());
    assert.deepEqual(story[0], 'containerd started');
  });

  test('renew what earlier steps wrote for another version, before it is recorded that they ran', async () => {
    const renewed: (readonly string[])[] = [];
    const config: FakeStep = {
      id: 'config',
      changes: [{ id: 'config/file' }],
      desired: ({ kubeadm }) => ({ kubeadm: kubeadm?.text }),
      async renew(_host, desired, record) {
        renewed.push([JSON.stringify(desired), ...record.done]);
        return new Map([['config/file', { sha256: 'new' }]]);
      },
    };
    const { options } = await run([config, BEFORE, BOOTSTRAP], facts());
    assert.deepEqual(renewed, [[JSON.stringify({ kubeadm: facts().kubeadm?.text })]]);
    assert.deepEqual(options.journal.record('config').notes.get('config/file'), { sha256: 'new' });
    const again = await run([config, BEFORE, BOOTSTRAP], facts(), facts());
    assert.equal(again.failure, undefined);
    assert.equal(renewed.length, 1, 'the same version renews nothing');
  });
});
