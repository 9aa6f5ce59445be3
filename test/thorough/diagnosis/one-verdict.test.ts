import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Failure, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { REASONS, type Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { ObservedLine } from '@machineadm/failures/classify.ts';
import { failureOf, type Verdict, verdict } from '@machineadm/failures/verdict.ts';
import { formatFailure } from '@machineadm/status/progress.ts';
import { formatVerdict } from '../../../src/commands/diagnose/run.ts';
import { verdictOn } from '../../../src/diagnosis/index.ts';
import { capturedTranscripts } from '../../unit/diagnosis/transcripts.ts';

/** The error with which a run meets such a failure of kubeadm. */
function errorOf(lines: readonly ObservedLine[], reason: Reason = 'BootstrapperFailed'): MachineadmError {
  return new MachineadmError({
    reason,
    summary: 'kubeadm init failed (exit status 1).',
    remedy: 'Read the lines of kubeadm in the evidence.',
    transcript: lines.filter(({ source }) => source === 'kubeadm').map(({ text }) => ({ source: 'kubeadm', text })),
  });
}

const beside = (lines: readonly ObservedLine[]) => lines.filter(({ source }) => source !== 'kubeadm');
const shown = ({ evidence }: Verdict | Failure) => evidence.map(({ source, text }) => `${source}: ${text}`);

describe('a run, and a command that reads its status later, give the same verdict', () => {
  for (const { name, expected, lines } of capturedTranscripts()) {
    if (expected.outcome !== 'failure') continue;
    test(name, () => {
      const found = verdictOn(errorOf(lines), beside(lines));
      const failure = failureOf(found);
      const later = verdict({ lines, run: { state: 'concluded', failure } });
      assert.deepEqual(failureOf(later), failure);
      assert.deepEqual(later.causes, found.causes);
      assert.equal(later.cleanup, found.cleanup);

      // Saved logs of the same run, without its status: what they name is what the run named.
      const fromLogs = verdict({ lines });
      assert.equal(fromLogs.phase, later.phase);
      if (fromLogs.reason === 'Unknown') {
        const general = ['BootstrapperFailed', ...fromLogs.symptoms];
        assert.ok(general.includes(failure.reason), `${failure.reason} is not among ${general.join(', ')}`);
        return;
      }
      assert.equal(fromLogs.reason, failure.reason);
      assert.equal(fromLogs.retryable, failure.retryable);
      assert.equal(fromLogs.remedy, failure.remedy);
      assert.equal(shown(fromLogs)[0], shown(failure)[0]);
    });
  }
});

describe('a verdict that was published stays', () => {
  const failure: Failure = {
    reason: 'HookFailed',
    summary: 'early hook 2 failed',
    remedy: 'Correct it.',
    evidence: [{ source: 'hook', text: 'no' }],
    retryable: false,
  };
  const swap: ObservedLine = {
    source: 'kubelet',
    origin: 'journal of kubelet',
    text: '"command failed" err="failed to run Kubelet: running with swap on is not supported"',
  };

  test('whatever the logs say by now, which is an additional symptom', () => {
    const later = verdict({ lines: [swap], run: { state: 'concluded', failure } });
    assert.deepEqual(failureOf(later), failure);
    assert.deepEqual(later.symptoms, ['SwapEnabled']);
  });

  test('for every reason that there is', () => {
    for (const reason of Object.keys(REASONS) as Reason[]) {
      const published = { ...failure, reason };
      assert.deepEqual(
        failureOf(verdict({ lines: [swap], run: { state: 'concluded', failure: published } })),
        published,
      );
    }
  });

  test('unless the bootstrapper is known to have succeeded', () => {
    assert.equal(verdict({ lines: [swap], exitStatus: 0, run: { state: 'concluded', failure } }).outcome, 'success');
  });
});

test('the causes lead from the root to what the run saw', () => {
  const error = errorOf([], 'KubeletNotHealthy');
  const found = verdictOn(error, [
    { source: 'kubelet', origin: 'journal of kubelet', text: 'kubelet.service: Start request repeated too quickly.' },
    {
      source: 'kubelet',
      origin: 'journal of kubelet',
      text: '"command failed" err="failed to run Kubelet: running with swap on is not supported"',
    },
  ]);
  assert.deepEqual(found.causes, ['SwapEnabled', 'KubeletStartLimitHit', 'KubeletNotHealthy']);
  assert.deepEqual(failureOf(found).causes, found.causes);
});

test('a reason alone has no chain of causes in the status', () => {
  const found = verdictOn(errorOf([]));
  assert.deepEqual(found.causes, ['BootstrapperFailed']);
  assert.equal(failureOf(found).causes, undefined);
});

test('the status of a deadline that passed keeps the cause, and shows it before the reason', () => {
  const failure = failureOf(
    verdictOn(errorOf([], 'DeadlinePassed'), [
      { source: 'kubelet', origin: 'journal of kubelet', text: 'running with swap on is not supported' },
    ]),
  );
  assert.equal(failure.reason, 'DeadlinePassed');
  assert.deepEqual(failure.causes, ['SwapEnabled', 'DeadlinePassed']);
  const later = verdict({ lines: [], run: { state: 'concluded', failure } });
  for (const text of [formatFailure(failure), formatVerdict(later)]) assert.match(text, /^caused by: SwapEnabled$/m);
});

test('status and diagnose show the same chain of causes', () => {
  const failure: Failure = { ...failureOf(verdictOn(errorOf([], 'KubeletNotHealthy'))), reason: 'SwapEnabled' };
  const causes = ['SwapEnabled', 'KubeletStartLimitHit', 'KubeletNotHealthy'];
  const later = verdict({ lines: [], run: { state: 'concluded', failure: { ...failure, causes } } });
  assert.deepEqual(later.causes, causes);
  for (const text of [formatFailure({ ...failure, causes }), formatVerdict(later)]) {
    assert.match(text, /^led to: KubeletStartLimitHit, then KubeletNotHealthy$/m);
  }
});

test('kubelet lines in the transcript of a readiness failure are those of the kubelet, not of kubeadm', () => {
  const error = new MachineadmError({
    reason: 'KubeletNotHealthy',
    summary: 'The kubelet did not become healthy within 120 s.',
    remedy: 'Read its journal.',
    transcript: [{ source: 'kubelet', text: 'F1120 10:00:00.000000 1 server.go:1] unknown flag: --x' }],
  });
  const journal: ObservedLine = {
    source: 'kubelet',
    origin: 'journal of kubelet',
    text: 'running with swap on is not supported',
  };
  assert.equal(verdictOn(error).reason, 'KubeletUnknownFlag');
  assert.equal(
    verdictOn(
      new MachineadmError({ ...error, summary: error.message, transcript: [{ source: 'kubelet', text: 'x' }] }),
      [journal],
    ).reason,
    'SwapEnabled',
  );
});
