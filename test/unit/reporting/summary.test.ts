import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { REASONS, type Reason } from '@machineadm/document/outcomes/reasons.ts';
import { formatSummary } from '@machineadm/status/progress.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { summaryOf } from '@machineadm/status/summary.ts';
import { summarySchema } from '../../../scripts/generate/status-schema.ts';
import { FAILURE, statusAfter } from './runs.ts';

const FAILED = statusAfter(
  { kind: 'planned', steps: ['kubeadm'] },
  { kind: 'waiting', step: 'kubeadm', waitingFor: 'the kubelet' },
  { kind: 'warning', message: 'the disk is nearly full' },
  { kind: 'attemptFailed', attempt: { attempt: 1, failure: FAILURE, durationMs: 1 } },
  {
    kind: 'concluded',
    conclusion: { outcome: 'Failed', exitCode: 11, failure: { ...FAILURE, causes: ['SwapEnabled', 'Unknown'] } },
  },
);

/** Replaces every text of a value but those at `kept`, so that what leaks is seen wherever it stood. */
function seeded(value: unknown, path: string, kept: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return kept.has(path) ? value : `canary-${path}`;
  if (Array.isArray(value)) return value.map((item) => seeded(item, path, kept));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, seeded(item, path === '' ? key : `${path}.${key}`, kept)]),
  );
}

describe('the public summary of a status', () => {
  test('has the phase, the outcome, the reason and the times, and keeps its schema', () => {
    const summary = summaryOf(FAILED);
    assert.deepEqual(summary, {
      apiVersion: 'machineadm.dev/summary/v1',
      kind: 'BootstrapSummary',
      command: 'provision',
      runId: FAILED.runId,
      phase: 'Concluded',
      outcome: 'Failed',
      exitCode: 11,
      reason: 'SwapEnabled',
      startedAt: FAILED.startedAt,
      updatedAt: FAILED.updatedAt,
      host: { bootId: FAILED.host.bootId },
      process: FAILED.process,
    });
    for (const status of [FAILED, statusAfter()]) {
      const made = summaryOf(status);
      assert.deepEqual(summarySchema.parse(made), made);
    }
  });

  test('has no text of the status, wherever it stands', () => {
    const words = ['command', 'runId', 'phase', 'outcome', 'failure.reason', 'startedAt', 'updatedAt', 'host.bootId'];
    const status = seeded(FAILED, '', new Set(words)) as RunStatus;
    assert.ok(JSON.stringify(status).split('canary-').length > 20);
    const summary = summaryOf(status);
    for (const text of [JSON.stringify(summary), formatSummary(summary)]) assert.doesNotMatch(text, /canary/);
  });

  test('takes no reason that is none: a damaged status does not become public text', () => {
    const failure = { ...FAILURE, reason: 'the password is hunter2' as Reason };
    assert.equal('reason' in summaryOf({ ...FAILED, failure }), false);
  });

  test('is shown with the meaning of its reason', () => {
    const text = formatSummary(summaryOf(FAILED));
    assert.match(text, /^provision Failed \(exit 11\)\n {2}run \S+\n {2}started \S+, last change \S+\n/);
    assert.ok(text.endsWith(`  SwapEnabled: ${REASONS.SwapEnabled.meaning}`), text);
    assert.match(formatSummary(summaryOf(statusAfter())), /^provision Running \(Loading\)\n/);
    assert.match(
      formatSummary({ ...summaryOf(FAILED), reason: 'OfALaterVersion' as Reason }),
      /^ {2}OfALaterVersion$/m,
    );
  });
});
