import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { candidates } from '@machineadm/failures/candidates.ts';
import { CATALOGUE } from '@machineadm/failures/catalogue.ts';
import { cleanLine } from '@machineadm/failures/observed-line.ts';
import { requiredLiterals } from '@machineadm/failures/required-literals.ts';
import { readSavedLog } from '@machineadm/failures/saved-log.ts';
import { TellingLines } from '@machineadm/failures/telling-lines.ts';
import { verdict } from '@machineadm/failures/verdict.ts';
import { diagnoseLogs } from '../../../src/diagnosis/diagnose-logs.ts';
import fc from '../../support/property.ts';
import { capturedTranscripts } from '../../unit/diagnosis/transcripts.ts';

const transcripts = capturedTranscripts();

function telling(log: string, name = '', chunk = 65_536) {
  const collector = new TellingLines(name);
  const bytes = Buffer.from(log);
  for (let at = 0; at < bytes.length; at += chunk) collector.add(bytes.subarray(at, at + chunk));
  return collector.lines();
}

/** What an ordinary kubelet logs, each line another one. */
function ordinary(count: number): string {
  const lines = Array.from(
    { length: count },
    (_, index) => `I1120 10:00:00.123456 812 pods.go:${index}] volume ${index} is there`,
  );
  return `-- journal: kubelet.service --\n${lines.join('\n')}\n`;
}

describe('texts that a pattern demands', () => {
  test('every entry of the catalogue demands some, and its example holds one', () => {
    for (const { id, pattern, example } of CATALOGUE) {
      const literals = requiredLiterals(pattern);
      assert.ok(
        literals?.some((text) => example.includes(text)),
        id,
      );
    }
  });

  test('are those of all alternatives, and of no part that may be missing', () => {
    assert.deepEqual(requiredLiterals(/^abcdef( longer text)?$/), ['abcdef']);
    assert.deepEqual(requiredLiterals(/(first|second) x/), ['first', 'second']);
    assert.deepEqual(requiredLiterals(/abcd|[0-9]+ (?:efgh\.ijk|lmno)/), ['abcd', 'efgh.ijk', 'lmno']);
    assert.deepEqual(requiredLiterals(/abcd+efgh/), ['abcd']);
    assert.deepEqual(requiredLiterals(/(?!never )a\S+ word\b/), [' word']);
    for (const none of [/abcd|x/, /\d+/, /(abcd)*/, /abcd/i])
      assert.equal(requiredLiterals(none), undefined, none.source);
  });

  test('leave no entry out that a line proves', () => {
    for (const { log } of transcripts) {
      for (const line of new Set(log.split('\n').map(cleanLine))) {
        const possible = candidates(line);
        for (const entry of CATALOGUE) {
          if (entry.pattern.test(line))
            assert.ok(possible === undefined || possible.has(entry), `${entry.id}: ${line}`);
        }
      }
    }
  });
});

describe('a log that is too long to be kept', () => {
  for (const { name, log } of transcripts) {
    test(`${name} gives the same verdict`, () => {
      const whole = verdict({ lines: readSavedLog(log) });
      const { outcome, reason, phase, cleanup } = verdict({ lines: telling(log) });
      assert.deepEqual(
        { outcome, reason, phase, cleanup },
        {
          outcome: whole.outcome,
          reason: whole.reason,
          phase: whole.phase,
          cleanup: whole.cleanup,
        },
      );
    });
  }

  test('gives the same verdict with many ordinary lines after it', () => {
    const flood = ordinary(20_000);
    for (const { log, name } of transcripts.filter((_, index) => index % 10 === 0)) {
      const expected = verdict({ lines: readSavedLog(log) });
      const found = verdict({ lines: telling(`${log}\n${flood}`) });
      assert.equal(found.reason, expected.reason, name);
      assert.deepEqual(found.evidence[0], expected.evidence[0], name);
    }
  });

  test('may come in pieces of any size', () => {
    const [transcript] = transcripts.filter(({ expected }) => expected.outcome === 'failure');
    assert.ok(transcript !== undefined);
    const whole = telling(transcript.log);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), (chunk) => {
        assert.deepEqual(telling(transcript.log, '', chunk), whole);
      }),
      { numRuns: 20 },
    );
  });

  test('is found in the JSON of a journal, and through colours', () => {
    const message = 'failed to run Kubelet: misconfiguration: kubelet cgroup driver: \\"systemd\\" is different';
    const entry = `{"SYSLOG_IDENTIFIER":"kubelet","MESSAGE":"${message}","__REALTIME_TIMESTAMP":"1"}\n`;
    const coloured = '\u001b[31merr\u001b[0mor: x\n';
    const lines = telling(ordinary(5000) + entry + coloured + ordinary(5000));
    assert.ok(lines.some(({ text, source }) => source === 'kubelet' && text.includes('misconfiguration')));
    assert.ok(lines.some(({ text }) => text === 'error: x'));
  });

  test('keeps a bounded number of lines, whatever they say', () => {
    const floods = [
      'error: x\n'.repeat(200_000),
      Array.from({ length: 100_000 }, (_, index) => `error: ${index}`).join('\n'),
      'x'.repeat(5_000_000),
      transcripts
        .map(({ log }) => log)
        .join('\n')
        .repeat(2),
    ];
    for (const flood of floods) {
      const lines = telling(flood);
      const size = lines.reduce((sum, { text }) => sum + text.length, 0);
      assert.ok(lines.length < 20_000 && size < 5 * 1024 * 1024, `${lines.length} lines, ${size} characters`);
    }
  });

  test('keeps what follows the last error of kubeadm', () => {
    const log = `-- kubeadm --\n${'[preflight] x\n'.repeat(5000)}error: the cause\n  in a second line\n${ordinary(5000)}`;
    const texts = telling(log).map(({ text }) => text);
    assert.ok(texts.includes('  in a second line'));
  });
});

test('a log of more lines than a call can have arguments is diagnosed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'machineadm-log-'));
  try {
    const transcript = transcripts.find(({ expected }) => expected.outcome === 'failure');
    assert.ok(transcript !== undefined);
    for (const count of [180_000, 10_000]) {
      const path = join(directory, 'long.log');
      await writeFile(path, `${'\n\nx\n'.repeat(count)}${transcript.log}`);
      assert.equal((await diagnoseLogs([path])).reason, transcript.expected.reason);
    }
    await assert.rejects(diagnoseLogs([join(directory, 'none.log')]), {
      reason: 'LogUnreadable',
      message: /none\.log cannot be read: it does not exist$/,
    });
  } finally {
    await rm(directory, { recursive: true });
  }
});
