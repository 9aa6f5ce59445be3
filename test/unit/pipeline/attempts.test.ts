import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Failure } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { type Attempts, performAttempts } from '../../../src/pipeline/attempts.ts';
import type { Conclusion } from '../../../src/pipeline/conclusion.ts';
import { BOOTSTRAP_STEPS } from '../../../src/pipeline/journal.ts';
import { ALL_STEPS } from '../../../src/pipeline/pipeline.ts';
import { StepFailure } from '../../../src/pipeline/runner.ts';
import { fakeClock } from '../../support/fake-clock.ts';

const HOUR = 3_600_000;

/** What else an attempt may be told: the step that fails, the time that is left, and when a signal comes. */
type More = Partial<Attempts> & { readonly step?: string; readonly leftMs?: number; readonly stopAfterMs?: number };

function failed(reason: Reason, retryable: boolean, more: Partial<Conclusion> = {}): Conclusion {
  const failure: Failure = { reason, summary: `${reason}.`, evidence: [], remedy: 'Mend it.', retryable };
  return { outcome: 'Failed', exit: 'BootstrapperFailed', failure, ...more };
}

/** Attempts that fail like this, one after the other; undefined = one that succeeds. */
async function attempt(
  endings: readonly (Conclusion | undefined)[],
  { leftMs = HOUR, stopAfterMs, ...more }: More = {},
) {
  using clock = fakeClock();
  const stop = new AbortController();
  if (stopAfterMs !== undefined) clock.at(stopAfterMs, () => stop.abort(new Error('SIGTERM')));
  const told: string[] = [];
  let performed = 0;
  const attempts = performAttempts(
    async () => {
      performed += 1;
      if (endings[performed - 1] !== undefined) throw new StepFailure(more.step ?? 'kubeadm', new Error('x'));
    },
    {
      retry: { attempts: 3, backoffMs: 1 },
      signal: stop.signal,
      deadlineMs: clock.now() + leftMs,
      bootstraps: (step) => step === 'kubeadm',
      conclude: async (error) => {
        const ending = endings[performed - 1];
        if (!(error instanceof StepFailure) || ending === undefined)
          return { outcome: 'Interrupted', exit: 'Interrupted' };
        return ending;
      },
      reporter: {
        warn: (message) => void told.push(message),
        waitingFor: () => {},
        attemptFailed: ({ attempt: number, failure }) => void told.push(`${number}: ${failure.reason}`),
      },
      ...more,
    },
  );
  return { result: await clock.until(attempts), performed, told };
}

describe('another attempt in the same run', () => {
  test('is made if the cause may be temporary, and each is reported with its reason', async () => {
    const { result, performed, told } = await attempt([
      failed('APIEndpointTimeout', true),
      failed('EtcdClusterUnhealthy', true),
      undefined,
    ]);
    assert.equal(result, undefined);
    assert.equal(performed, 3);
    assert.deepEqual(told, [
      '1: APIEndpointTimeout',
      'attempt 1 failed (APIEndpointTimeout): APIEndpointTimeout. Attempt 2 of 3 follows.',
      '2: EtcdClusterUnhealthy',
      'attempt 2 failed (EtcdClusterUnhealthy): EtcdClusterUnhealthy. Attempt 3 of 3 follows.',
    ]);
  });

  test('is made twice at most: the third failure ends the run', async () => {
    const failure = failed('APIEndpointTimeout', true);
    const { result, performed } = await attempt([failure, failure, failure, failure]);
    assert.equal(performed, 3);
    assert.equal(result, failure);
  });

  const refused: readonly (readonly [string, Conclusion, More])[] = [
    ['for a cause that will not pass', failed('CACertHashMismatch', false), {}],
    ['for a failure that nobody knows', failed('BootstrapperFailed', false), {}],
    ['for a step that only prepares', failed('APIEndpointTimeout', true), { step: 'containerd' }],
    ['for a node that does not get ready', failed('NodeNotReady', true, { exit: 'NotReady' }), {}],
    ['for a step whose own deadline passed', failed('DeadlinePassed', true, { exit: 'DeadlinePassed' }), {}],
    ['after an interruption', failed('Interrupted', true, { outcome: 'Interrupted', exit: 'Interrupted' }), {}],
    ['after a signal', failed('APIEndpointTimeout', true), { signal: AbortSignal.abort(new Error('SIGTERM')) }],
    ['when the time is nearly up', failed('APIEndpointTimeout', true), { leftMs: 30_000 }],
    ['where the document wants one only', failed('APIEndpointTimeout', true), { retry: { attempts: 1, backoffMs: 1 } }],
    ['without Kubernetes', failed('APIEndpointTimeout', true), { retry: undefined }],
  ];
  for (const [when, ending, more] of refused) {
    test(`is not made ${when}`, async () => {
      const { result, performed, told } = await attempt([ending, undefined], more);
      assert.equal(performed, 1);
      assert.equal(result, ending);
      assert.deepEqual(told, []);
    });
  }

  test('is given up when a signal comes while it waits', async () => {
    const { result, performed } = await attempt([failed('APIEndpointTimeout', true), undefined], {
      retry: { attempts: 3, backoffMs: HOUR / 2 },
      stopAfterMs: 20,
    });
    assert.equal(performed, 1);
    assert.equal(result?.outcome, 'Interrupted');
  });
});

test('the journal knows every step that bootstraps, and no other', () => {
  const bootstraps = ALL_STEPS.filter((step) => step.bootstrapper !== undefined).map(({ id }) => id);
  assert.deepEqual(bootstraps, BOOTSTRAP_STEPS);
});
