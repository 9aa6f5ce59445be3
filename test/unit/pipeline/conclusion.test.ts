import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { conclude, overallDeadline } from '../../../src/pipeline/conclusion.ts';
import { asRefusal } from '../../../src/pipeline/refusal.ts';
import { StepFailure } from '../../../src/pipeline/runner.ts';
import { loaded } from '../../support/document.ts';
import { memoryHost } from '../../support/memory-host.ts';

const error = (reason: 'DiskFull' | 'RebootRequired' | 'Interrupted' | 'DocumentInvalid' | 'SecretUnavailable') =>
  new MachineadmError({
    reason,
    summary: 'what failed',
    remedy: 'What to do.',
    evidence: [{ source: 'a', text: 'b' }],
  });

describe('a run that met an error', () => {
  test('failed with its reason, in its step', async () => {
    const { outcome, exit, failure } = await conclude(
      memoryHost(),
      new StepFailure('files', error('DiskFull')),
      undefined,
      0,
    );
    assert.deepEqual([outcome, exit], ['Failed', 'HostStepFailed']);
    assert.deepEqual(failure, {
      reason: 'DiskFull',
      summary: 'what failed',
      evidence: [{ source: 'a', text: 'b' }],
      remedy: 'What to do.',
      retryable: false,
      step: 'files',
    });
  });

  test('in a step is never called refused, which means that nothing was changed', async () => {
    const missing = error('SecretUnavailable');
    assert.equal(
      (await conclude(memoryHost(), new StepFailure('files', missing), undefined, 0)).exit,
      'HostStepFailed',
    );
    assert.equal((await conclude(memoryHost(), missing, undefined, 0)).exit, 'Refused');
  });

  test('before its first step has none', async () => {
    const { failure, exit } = await conclude(memoryHost(), error('DocumentInvalid'), undefined, 0);
    assert.deepEqual([exit, failure?.step], ['DocumentInvalid', undefined]);
  });

  test('has an outcome of its own where it was interrupted, or needs a reboot', async () => {
    const ends = [];
    for (const reason of ['Interrupted', 'RebootRequired'] as const) {
      const { outcome, exit } = await conclude(memoryHost(), new StepFailure('a', error(reason)), undefined, 0);
      ends.push([outcome, exit]);
    }
    assert.deepEqual(ends, [
      ['Interrupted', 'Interrupted'],
      ['RebootRequired', 'RebootRequired'],
    ]);
  });

  test('that passed its overall deadline says which', async () => {
    const { outcome, exit, failure } = await conclude(memoryHost(), overallDeadline(90_000), undefined, 0);
    assert.deepEqual([outcome, exit, failure?.retryable], ['Failed', 'DeadlinePassed', true]);
    assert.equal(failure?.summary, 'the run did not end within 1 m 30 s');
  });

  for (const [what, thrown, said] of [
    ['an error that nobody foresaw', new TypeError('x is undefined'), 'x is undefined'],
    ['something that is no error', 'a bare word', 'a bare word'],
  ] as const) {
    test(`of ${what} is a defect, and says where`, async () => {
      const { outcome, exit, failure } = await conclude(memoryHost(), new StepFailure('a', thrown), undefined, 0);
      assert.deepEqual([outcome, exit, failure?.reason], ['Failed', 'InternalError', 'InternalError']);
      assert.ok(failure?.summary.includes(said), failure?.summary);
      assert.ok(failure?.evidence[0]?.text.includes(said));
      assert.match(failure?.remedy ?? '', /report/);
    });
  }
});

describe('the place of a failure in the document', () => {
  const body = [
    'host:',
    '  swap: Disabled',
    '  sysctl: {vm.max_map_count: 262144}',
    'kubernetes: {version: v1.34.1, role: InitControlPlane}',
    '',
  ].join('\n');
  const broken = (remedy: string) => new MachineadmError({ reason: 'DiskFull', summary: 'what failed', remedy });

  async function placeOf(thrown: unknown) {
    const { failure } = await conclude(memoryHost(), thrown, await loaded(body), 0);
    return failure === undefined || !('field' in failure) ? undefined : [failure.field, failure.position?.line];
  }

  test('is where the document asks for the change that failed', async () => {
    const thrown = new StepFailure('sysctl', broken('Set host.swap to Enabled.'), 'sysctl/vm/max_map_count');
    assert.deepEqual(await placeOf(thrown), ['host.sysctl["vm.max_map_count"]', 6]);
  });

  test('is else the field that the remedy names', async () => {
    assert.deepEqual(await placeOf(new StepFailure('files', broken('Set host.swap to Enabled.'))), ['host.swap', 5]);
  });

  test('is else the section of the step', async () => {
    assert.deepEqual(await placeOf(new StepFailure('sysctl', broken('Set host.nothing to it.'))), ['host.sysctl', 6]);
  });

  test('is none where it would be all of Kubernetes, or the run did not fail in a step', async () => {
    assert.equal(await placeOf(new StepFailure('kubeadm', broken('Look at it.'))), undefined);
    assert.equal(await placeOf(broken('Set host.swap to Enabled.')), undefined);
    assert.equal(await placeOf(new StepFailure('sysctl', error('RebootRequired'))), undefined);
  });
});

describe('an obstacle that a run found before it changed anything', () => {
  test('refuses the run, where the same would be a failed host step later', () => {
    const refused = asRefusal(error('DiskFull'));
    assert.ok(refused instanceof MachineadmError);
    assert.deepEqual([refused.reason, refused.exit, refused.remedy], ['DiskFull', 'Refused', 'What to do.']);
    assert.deepEqual(refused.evidence, [{ source: 'a', text: 'b' }]);
  });

  test('stays what it is otherwise', () => {
    const [invalid, bug] = [error('DocumentInvalid'), new TypeError('x')];
    assert.equal(asRefusal(invalid), invalid);
    assert.equal(asRefusal(bug), bug);
  });
});
