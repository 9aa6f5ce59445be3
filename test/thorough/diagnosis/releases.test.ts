import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { CATALOGUE } from '@machineadm/failures/catalogue.ts';
import { classify } from '@machineadm/failures/classify.ts';
import { verdict } from '@machineadm/failures/verdict.ts';
import { verdictOn } from '../../../src/diagnosis/index.ts';
import { capturedTranscripts, RELEASES, type Transcript } from '../../unit/diagnosis/transcripts.ts';

const runs = capturedTranscripts('1.36');
const failed = runs.filter(({ expected }) => expected.outcome === 'failure');

/** The verdict of a run that meets such a failure of kubeadm, without what checks find on its machine. */
function verdictOfRun({ lines }: Transcript) {
  const error = new MachineadmError({
    reason: 'BootstrapperFailed',
    summary: 'kubeadm failed (exit status 1).',
    remedy: 'Read the lines of kubeadm in the evidence.',
    transcript: lines.filter(({ source }) => source === 'kubeadm').map(({ text }) => ({ source: 'kubeadm', text })),
  });
  return verdictOn(
    error,
    lines.filter(({ source }) => source !== 'kubeadm'),
  );
}

describe('captured runs of Kubernetes 1.36', () => {
  for (const { name, how, expected, lines } of runs) {
    test(`${name} is ${expected.reason || 'a success'}: ${how}`, () => {
      const { outcome, reason, retryable, evidence } = verdict({ lines });
      assert.equal(outcome, expected.outcome);
      assert.equal(reason, expected.reason, evidence[0]?.text);
      assert.equal(retryable, expected.retryable);
      if (outcome === 'failure') assert.ok(evidence.length > 0);
    });
  }

  for (const transcript of failed) {
    if (transcript.expected.reason === 'Unknown') continue;
    test(`${transcript.name} as a run of machineadm reports it`, () => {
      assert.equal(verdictOfRun(transcript).reason, transcript.expected.reason);
    });
  }

  test('name at least 95 % of the true causes, and at most one other cause', (context) => {
    const results = failed.map(({ name, cause = '', lines }) => ({ name, cause, named: verdict({ lines }).reason }));
    const others = results.filter(({ cause, named }) => named !== cause);
    const wrong = others.filter(({ named }) => named !== 'Unknown');
    context.diagnostic(`${results.length - others.length} of ${results.length} named`);
    for (const { name, cause, named } of others) context.diagnostic(`${name}: ${cause}, named ${named}`);
    assert.ok(others.length <= results.length * 0.05, others.map(({ name }) => name).join(', '));
    assert.ok(wrong.length <= 1, wrong.map(({ name }) => name).join(', '));
  });
});

describe('nothing that a successful run logs is a cause', () => {
  /** Broken on purpose in a way that does not stop kubeadm: the run succeeds, and the log tells what is broken. */
  const BROKEN_ON_PURPOSE: Readonly<Record<string, readonly string[]>> = {
    'b20-init-static-pod-junk': ['StaticPodManifestInvalid'],
    'b25-init-scheduler-flag': ['ComponentUnknownFlag', 'StaticPodCrashLoop'],
    'b27-init-node-ip': ['NodeIPNotFound'],
    'd14-join-ok-noisy': ['KubeletUnknownFlag', 'KubeletCrashLoop'],
    'k136-static-pod-broken': ['ContainerCommandNotFound'],
  };
  const kinds = new Map(CATALOGUE.map(({ id, kind }) => [id, kind]));

  for (const release of RELEASES) {
    const good = capturedTranscripts(release).filter(({ expected }) => expected.outcome === 'success');
    test(`there are successful runs of ${release}`, () => assert.ok(good.length > 0));

    for (const { name, lines } of good) {
      test(`${release}: ${name}`, () => {
        const { best, others } = classify(lines);
        const matches = [best, ...others]
          .flatMap((finding) => finding ?? [])
          .filter(({ entry, weakness }) => kinds.get(entry.id) !== 'warning' && weakness === undefined)
          .filter(({ entry }) => BROKEN_ON_PURPOSE[name]?.includes(entry.reason) !== true)
          .map(({ entry, line }) => `${entry.id}: ${line.text.slice(0, 200)}`);
        assert.deepEqual(matches, []);
      });

      test(`${release}: ${name}, without kubeadm's own words`, () => {
        const journals = lines.filter(({ source }) => source !== 'kubeadm');
        const { reason } = verdict({ lines: journals });
        assert.ok([...(BROKEN_ON_PURPOSE[name] ?? []), 'Unknown', ''].includes(reason), reason);
      });
    }
  }
});
