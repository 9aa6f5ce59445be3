import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readSavedLog } from '@machineadm/failures/saved-log.ts';
import { verdict } from '@machineadm/failures/verdict.ts';
import { assertLinear } from '../../support/cost.ts';
import fc from '../../support/property.ts';
import { MUTATIONS, sectionsOf } from '../../unit/diagnosis/mutations.ts';
import { capturedTranscripts, type Transcript } from '../../unit/diagnosis/transcripts.ts';

const transcripts = capturedTranscripts();
const reasonOf = (log: string): string => verdict({ lines: readSavedLog(log) }).reason;

/** A component ends: true of every log that says so, whatever made it end. */
const ENDS = ['KubeletCrashLoop', 'StaticPodCrashLoop', 'ControlPlaneComponentNotHealthy'];

/** What a log that lost lines may be taken for: what it is, nothing that can be named, or one of its own lesser names. */
function assertNeverWrong(transcript: Transcript, log: string): void {
  const { outcome, reason } = verdict({ lines: readSavedLog(log) });
  const { expected } = transcript;
  const allowed = ['Unknown', ...ENDS, ...(transcript.lesserReasons ?? [])];
  if (expected.outcome === 'success') {
    assert.ok(outcome === 'success' || allowed.includes(reason), `${transcript.name} was taken for ${reason}`);
    return;
  }
  assert.ok(
    [expected.reason, ...allowed].includes(reason),
    `${transcript.name} was taken for ${reason || 'a success'}`,
  );
}

for (const mutation of MUTATIONS) {
  describe(`a log ${mutation.what}`, () => {
    for (const transcript of transcripts) {
      test(transcript.name, () => {
        const log = mutation.apply(transcript.log, transcript);
        if (mutation.keeps === 'reason') assert.equal(reasonOf(log), transcript.expected.reason);
        else assertNeverWrong(transcript, log);
      });
    }
  });
}

const WORKS = /main sync loop|Successfully registered node|containerd successfully booted/;

describe('a failure with the noise of a healthy run around it', () => {
  const healthy = transcripts.find(({ name }) => name === '02-worker-join-ok');
  for (const transcript of transcripts.filter(({ expected }) => expected.outcome === 'failure')) {
    test(transcript.name, () => {
      const noise = sectionsOf(healthy?.log ?? '')
        .filter(({ header }) => header.startsWith('-- journal'))
        // A kubelet that really runs is no noise: it explains who holds port 10250. Nor is the proof that all works.
        .map(({ header, lines }) => [header, ...lines.filter((line) => !WORKS.test(line))].join('\n'))
        .join('\n');
      assert.equal(reasonOf(`${transcript.log}\n${noise}`), transcript.expected.reason);
    });
  }
});

describe('a success remains a success', () => {
  for (const transcript of transcripts.filter(({ expected }) => expected.outcome === 'success')) {
    test(`${transcript.name}, after failed attempts of other kinds`, () => {
      const failed = transcripts
        .filter(({ expected }) => expected.outcome === 'failure')
        .flatMap(({ log }) => sectionsOf(log)[0]?.lines ?? []);
      assert.equal(verdict({ lines: readSavedLog([...failed, transcript.log].join('\n')) }).outcome, 'success');
    });
    test(`${transcript.name}, whatever runs after it fails`, () => {
      const after = '-- kubeadm --\nerror: unable to recognize "calico.yaml": no matches for kind "Installation"\n';
      assert.equal(verdict({ lines: readSavedLog(`${transcript.log}\n${after}`) }).outcome, 'success');
    });
  }
});

test('a truncated log never gives another verdict', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: transcripts.length - 1 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (index, from, to) => {
        const transcript = transcripts[index];
        if (transcript === undefined) return;
        const [start, end] = from < to ? [from, to] : [to, from];
        const { log } = transcript;
        assertNeverWrong(transcript, log.slice(Math.floor(start * log.length), Math.floor(end * log.length)));
      },
    ),
    // The same cuts each time: what is true of nearly all cuts would fail now and then, and nobody's change would be to blame.
    { numRuns: 300, seed: 20261122 },
  );
});

test('a log of failing lines takes time linear in its length', async () => {
  const line = 'failed to create shim task: OCI runtime create failed: runc create failed: x\n';
  const judge = (lines: number) => assert.equal(reasonOf(line.repeat(lines)), 'OCIRuntimeCreateFailed');
  await assertLinear('failing lines', judge, 8_000);
});
