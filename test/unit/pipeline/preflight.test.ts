import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { FindSource } from '../../../src/pipeline/change-source.ts';
import {
  findingsOf,
  type PreflightScope,
  preflight,
  refuseUnlessRoot,
  requireAfter,
  requirements,
} from '../../../src/pipeline/preflight.ts';
import { StepFailure } from '../../../src/pipeline/runner.ts';
import { EMPTY_RECORD, notChecked, type UnmetRequirement } from '../../../src/step/index.ts';
import { facts } from '../../support/facts.ts';
import { hostModel } from '../../support/host-model.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { type FakeStep, fakeSteps } from './fake-steps.ts';

const KUBEADM: UnmetRequirement = {
  reason: 'KubeadmNotInstalled',
  what: 'kubeadm is not installed',
  remedy: 'Install the packages.',
  scope: 'node',
};
const CONTAINERD: UnmetRequirement = {
  reason: 'ContainerRuntimeMissing',
  what: 'containerd is not installed',
  remedy: 'Install the packages.',
};
const missing = (id: string, ...found: UnmetRequirement[]): FakeStep => ({ id, preflight: async () => found });

function asked(scope: 'base' | 'all' = 'all', ...done: readonly string[]): PreflightScope {
  const record = (step: string) => ({ ...EMPTY_RECORD, done: new Set(done.includes(step) ? [`${step}/run`] : []) });
  return { host: memoryHost(), model: hostModel(), facts: facts(), scope, record };
}

async function ask(wishes: readonly FakeStep[], scope: 'base' | 'all' = 'all'): Promise<MachineadmError | undefined> {
  try {
    await preflight(fakeSteps(...wishes), asked(scope));
    return undefined;
  } catch (error) {
    assert.ok(error instanceof MachineadmError, String(error));
    return error;
  }
}

describe('preflight', () => {
  test('lets a run begin when nothing is missing', async () => {
    assert.equal(await ask([missing('a'), { id: 'asks-nothing' }]), undefined);
  });

  test('refuses with what a step throws: nothing was changed yet', async () => {
    const thrown = new MachineadmError({ reason: 'PasswordHashInvalid', summary: 'no hash', remedy: 'Give a hash.' });
    const error = await ask([{ id: 'a', preflight: () => Promise.reject(thrown) }]);
    assert.deepEqual([error?.reason, error?.exit], ['PasswordHashInvalid', 'Refused']);
  });

  test('refuses with the reason of the one thing that is missing', async () => {
    const error = await ask([missing('a'), missing('b', KUBEADM)]);
    assert.deepEqual(
      [error?.reason, error?.exit, error?.message, error?.remedy],
      ['KubeadmNotInstalled', 'Refused', KUBEADM.what, KUBEADM.remedy],
    );
  });

  test('refuses so even where that reason ends another way elsewhere', async () => {
    const error = await ask([missing('a', { ...KUBEADM, reason: 'KubeletServiceMissing' })]);
    assert.deepEqual([error?.reason, error?.exit], ['KubeletServiceMissing', 'Refused']);
  });

  test('reports all that is missing at once, each remedy once', async () => {
    const error = await ask([missing('a', CONTAINERD), missing('b', KUBEADM)]);
    assert.equal(error?.reason, 'PreflightFailed');
    assert.equal(error?.message, '2 requirements are not met: ContainerRuntimeMissing, KubeadmNotInstalled');
    assert.equal(error?.remedy, 'Install the packages.');
    assert.deepEqual(error?.evidence, [
      { source: 'ContainerRuntimeMissing', text: CONTAINERD.what },
      { source: 'KubeadmNotInstalled', text: KUBEADM.what },
    ]);
  });

  test('lets an image bake pass over what only a node needs', async () => {
    assert.equal(await ask([missing('a', KUBEADM)], 'base'), undefined);
    assert.equal((await ask([missing('a', KUBEADM, CONTAINERD)], 'base'))?.reason, 'ContainerRuntimeMissing');
  });

  test('does not check a step that the document does not need', async () => {
    assert.equal(await ask([{ ...missing('a', KUBEADM), unasked: true }]), undefined);
  });
});

describe('a finding of preflight', () => {
  const SOURCE = { field: 'host.sysctl', position: { file: 'b.yaml', line: 3, column: 5 } };
  const warning: UnmetRequirement = { ...CONTAINERD, what: 'an unknown key', severity: 'warning' };
  const skipped = notChecked('the rules in /etc/sudoers.d/ops', 'no visudo');

  test('is reported with its place in the document, and with its evidence', async () => {
    const known = {
      ...asked(),
      source: (step: string, id: string) => (`${step} ${id}` === 'a a/x' ? SOURCE : undefined),
    };
    const found = { ...CONTAINERD, change: 'a/x', evidence: [{ source: 'modprobe', text: 'not found' }] };
    await assert.rejects(preflight(fakeSteps(missing('a', found)), known), {
      evidence: [
        { source: 'b.yaml:3:5', text: 'host.sysctl' },
        { source: 'modprobe', text: 'not found' },
      ],
    });
    const [one] = findingsOf(await requirements(fakeSteps(missing('a', found)), known));
    assert.deepEqual(
      [one?.id, one?.field, one?.position],
      ['document/ContainerRuntimeMissing', 'host.sysctl', SOURCE.position],
    );
  });

  test('is at the key that is wrong, where the document has it', async () => {
    const ownerOf = (written: boolean): FindSource => {
      const at = (field: string) => ({ field, position: SOURCE.position });
      return (_, id) => (id === 'a/x' || !written ? at('host.files[1].path') : at(id));
    };
    const found = { ...CONTAINERD, change: 'a/x', key: 'owner' as const };
    const fieldOf = async (written: boolean) =>
      findingsOf(await requirements(fakeSteps(missing('a', found)), { ...asked(), source: ownerOf(written) }))[0]
        ?.field;
    assert.deepEqual([await fieldOf(true), await fieldOf(false)], ['host.files[1].owner', 'host.files[1].path']);
  });

  test('is reported and refuses nothing if it is a warning, or could not be checked', async () => {
    const found = await preflight(fakeSteps(missing('a', warning, skipped)), asked());
    assert.deepEqual(
      findingsOf(found).map(({ id, severity, text }) => [id, severity, text]),
      [
        ['document/ContainerRuntimeMissing', 'warning', 'an unknown key'],
        ['document/not-checked', 'skipped', 'the rules in /etc/sudoers.d/ops: not checked: no visudo'],
      ],
    );
  });

  test('is reported for all steps, even if one of them throws', async () => {
    const broken: FakeStep = { id: 'a', preflight: () => Promise.reject(new TypeError('x is undefined')) };
    const error = await ask([broken, missing('b', KUBEADM)]);
    assert.deepEqual([error?.reason, error?.exit], ['PreflightFailed', 'Refused']);
    assert.deepEqual(
      error?.evidence.map(({ text }) => text),
      ['the requirements of the step a could not be checked: x is undefined', KUBEADM.what],
    );
  });

  test('is collected from all steps at once', async () => {
    const both = Promise.withResolvers<readonly UnmetRequirement[]>();
    const first: FakeStep = { id: 'a', preflight: () => both.promise };
    const second: FakeStep = {
      id: 'b',
      async preflight() {
        both.resolve([]);
        return [];
      },
    };
    assert.equal(await ask([first, second]), undefined);
  });
});

describe('a program that hooks may still install', () => {
  const EARLY: FakeStep = { id: 'early', runsHooks: true };
  const BEFORE: FakeStep = { id: 'before', runsHooks: true };
  const BOOTSTRAP: FakeStep = { id: 'bootstrap', bootstraps: true };
  const awaited = async (wishes: readonly FakeStep[], scope: PreflightScope) =>
    (await preflight(fakeSteps(...wishes), scope)).awaited.map(({ step, after }) => [step.id, after.id]);

  test('is awaited by all steps after them, and looked for again', async () => {
    const steps = [EARLY, missing('a', CONTAINERD), { ...missing('b', KUBEADM), bootstraps: true as const }];
    assert.deepEqual(await awaited(steps, asked()), [
      ['a', 'early'],
      ['b', 'early'],
    ]);
  });

  test('is awaited by a step before them only if it can be postponed', async () => {
    const postponed = { ...missing('a', CONTAINERD), needs: ['containerd'] as const };
    assert.deepEqual(await awaited([postponed, BEFORE, BOOTSTRAP], asked()), [['a', 'before']]);
    assert.equal((await ask([missing('a', CONTAINERD), BEFORE, BOOTSTRAP]))?.reason, 'ContainerRuntimeMissing');
  });

  test('is awaited of a step that brings the program, and only that program', async () => {
    const bare = { ...asked('base'), facts: facts({ containerd: undefined, kubeadm: undefined }) };
    const files: FakeStep = { id: 'files', brings: () => ['containerd'] };
    assert.deepEqual(await awaited([files, missing('a', CONTAINERD)], bare), [['a', 'files']]);
    const refused = { exit: 'Refused', reason: 'KubeadmNotInstalled' };
    const needsKubeadm = missing('a', { ...KUBEADM, scope: 'base' });
    await assert.rejects(preflight(fakeSteps(files, needsKubeadm), bare), refused);
    await assert.rejects(preflight(fakeSteps(missing('a', CONTAINERD), files), bare), { exit: 'Refused' });
    // A containerd that is there and is not right is not replaced by hope.
    await assert.rejects(preflight(fakeSteps(files, missing('a', CONTAINERD)), asked()), { exit: 'Refused' });
  });

  test('is not awaited where no hook can help', async () => {
    const steps = [EARLY, missing('a', { ...CONTAINERD, certain: true }), BOOTSTRAP];
    assert.equal((await ask(steps))?.reason, 'ContainerRuntimeMissing');
  });

  test('is not awaited of hooks that ran, of hooks after the bootstrap, and in an image bake', async () => {
    const steps = [EARLY, missing('a', CONTAINERD), BOOTSTRAP];
    await assert.rejects(preflight(fakeSteps(...steps), asked('all', 'early')), { exit: 'Refused' });
    await assert.rejects(preflight(fakeSteps(...steps), asked('base')), { exit: 'Refused' });
    const after = [{ ...missing('a', CONTAINERD), needs: ['containerd'] as const }, BOOTSTRAP, BEFORE];
    await assert.rejects(preflight(fakeSteps(...after), asked()), { exit: 'Refused' });
  });
});

test('a user other than root is NotPrivilegedUser', () => {
  assert.throws(() => refuseUnlessRoot(facts({ isRoot: false })), { reason: 'NotPrivilegedUser', exit: 'Refused' });
  refuseUnlessRoot(facts());
});

describe('after a step that may have installed what was missing', () => {
  const HOOKS: FakeStep = { id: 'hooks-early', runsHooks: true };
  const AGAIN = 'A hook that ran runs again only after its commands are changed.';
  /** What is missing after the step of this name. */
  async function after(id: string, ...wishes: readonly FakeStep[]): Promise<unknown> {
    const steps = fakeSteps(...wishes);
    const scope = { ...asked(), facts: facts({ containerd: undefined, kubeadm: undefined }) };
    try {
      return await requireAfter(steps.find((step) => step.id === id) ?? assert.fail(id), steps, scope);
    } catch (error) {
      assert.ok(error instanceof StepFailure && error.error instanceof MachineadmError, String(error));
      const { reason, message, remedy, exit } = error.error;
      return { step: error.step, reason, message, remedy, exit };
    }
  }

  test('nothing is missing that it brought', async () => {
    assert.equal(await after('hooks-early', HOOKS, { id: 'a', preflight: async () => [] }), undefined);
  });

  test('the first step after it fails that still lacks something; hooks do not run again', async () => {
    assert.deepEqual(await after('hooks-early', missing('z', KUBEADM), HOOKS, missing('a', KUBEADM)), {
      step: 'a',
      reason: 'KubeadmNotInstalled',
      message: 'kubeadm is not installed (after the early hooks)',
      remedy: `Install the packages. ${AGAIN}`,
      exit: 'HostStepFailed',
    });
    const both = await after('hooks-early', HOOKS, missing('a', KUBEADM), missing('b', CONTAINERD));
    assert.deepEqual(both, {
      step: 'a',
      reason: 'PreflightFailed',
      message: '2 requirements are not met (after the early hooks): KubeadmNotInstalled, ContainerRuntimeMissing',
      remedy: `Install the packages. ${AGAIN}`,
      exit: 'HostStepFailed',
    });
  });

  test('files may be written again: nothing is said of hooks', async () => {
    assert.deepEqual(await after('files', { id: 'files' }, missing('a', CONTAINERD)), {
      step: 'a',
      reason: 'ContainerRuntimeMissing',
      message: 'containerd is not installed (after the files)',
      remedy: 'Install the packages.',
      exit: 'HostStepFailed',
    });
  });
});
