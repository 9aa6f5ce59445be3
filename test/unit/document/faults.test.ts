import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { EXIT_CODES } from '@machineadm/document/outcomes/exit-codes.ts';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { verdict } from '@machineadm/failures/verdict.ts';
import { caseNames, readCase } from '../../support/case-files.ts';
import { SABOTAGES } from '../../support/faults/index.ts';
import { generatedPart, namingOf, recordedResults, resultsOn136, tableOf } from '../../support/faults/results.ts';
import { recordedTimes, timesPart, timesTable } from '../../support/faults/time-to-cause.ts';
import { capturedTranscripts } from '../diagnosis/transcripts.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/faults.md'), 'utf8');

/** The rows of the page: reason, exit code, what to do and the cases that show it. */
const ROWS = [...PAGE.matchAll(/^\| [^|]+ \| `(\w+)` \| (\d+) \| ([^|]+) \| ?([^|]*?) ?\|$/gm)].map(
  ([, reason = '', code, remedy = '', shown = '']) => ({
    reason,
    code: Number(code),
    remedy,
    cases: shown.split(', ').filter((name) => name !== ''),
  }),
);

describe('docs/faults.md', () => {
  test('has a row for every reason that a host step ends with', () => {
    const told = new Set(ROWS.map(({ reason }) => reason));
    const missing = Object.entries(REASONS).filter(([name, { exit }]) => exit === 'HostStepFailed' && !told.has(name));
    assert.deepEqual(
      missing.map(([name]) => name),
      [],
    );
  });

  test('gives every reason the exit code that it has', () => {
    const known = new Map<string, number>(
      Object.entries(REASONS).map(([name, { exit }]) => [name, EXIT_CODES[exit].code]),
    );
    assert.deepEqual(
      ROWS.map(({ reason, code }) => [reason, code]),
      ROWS.map(({ reason }) => [reason, known.get(reason)]),
    );
  });

  test('names the cases that show a fault, each in the row of its reason', () => {
    const failing = new Map(
      caseNames().flatMap((name) => {
        const { failure } = readCase(name, new Map()).expected;
        return failure === undefined ? [] : [[name, failure.reason] as const];
      }),
    );
    for (const { reason, cases } of ROWS) for (const name of cases) assert.equal(failing.get(name), reason, name);
    const shown = new Set(ROWS.flatMap(({ cases }) => cases));
    const reasons = new Set(ROWS.filter(({ cases }) => cases.length > 0).map(({ reason }) => reason));
    const untold = [...failing].filter(([name, reason]) => !shown.has(name) && !reasons.has(reason));
    assert.deepEqual(untold, [], 'a fault that has a case stands on the page with it');
  });
});

/** What `test/e2e/faults-*.test.ts` recorded on lab machines: no machine is needed to hold it to what is asked of it. */
describe('the faults that were injected on lab machines', () => {
  const results = recordedResults();
  const faults = SABOTAGES.filter(({ expected }) => expected !== 'success');
  const idsOf = (naming: ReturnType<typeof namingOf>): readonly string[] =>
    SABOTAGES.filter((sabotage) => namingOf(sabotage, results.get(sabotage.id)) === naming).map(({ id }) => id);

  test('are at least sixty, each with a name of its own, and all were run', () => {
    assert.ok(faults.length >= 60, `${faults.length}`);
    assert.equal(new Set(SABOTAGES.map(({ id }) => id)).size, SABOTAGES.length);
    const unrecorded = SABOTAGES.filter((sabotage) => sabotage.unrecorded === true).map(({ id }) => id);
    assert.deepEqual(idsOf('not driven'), unrecorded);
    assert.deepEqual(
      [...results.keys()].filter((id) => !SABOTAGES.some((sabotage) => sabotage.id === id)),
      [],
    );
  });

  test('are named by their true cause in at least 95 of 100 cases, and never by a wrong one', () => {
    assert.deepEqual(idsOf('wrong'), []);
    assert.deepEqual(idsOf('false success'), []);
    assert.ok(
      idsOf('named').length >= 0.95 * (faults.length - idsOf('not driven').length),
      `${idsOf('named').length} of ${faults.length}`,
    );
  });

  test('ended in the step and with the exit code that are expected, with evidence', () => {
    for (const { id, expected } of faults) {
      const result = results.get(id);
      if (expected === 'success' || result === undefined) continue;
      assert.deepEqual([id, result.step, result.exitCode], [id, expected.step ?? '', expected.exitCode]);
      if (result.exitCode >= 11) assert.notEqual(result.evidence, '', id);
    }
  });

  test('are twenty at least that no captured run of kubeadm had shown', () => {
    const transcripts = join(import.meta.dirname, '../../fixtures/transcripts');
    for (const { fixture } of faults) {
      if (fixture !== undefined) assert.ok(existsSync(join(transcripts, `${fixture}.json`)), fixture);
    }
    assert.ok(faults.filter(({ fixture }) => fixture === undefined).length >= 20);
  });

  test('on Kubernetes 1.36 have the reason that the diagnosis of their logs gives', () => {
    const logs = new Map(capturedTranscripts('1.36').map(({ name, lines }) => [name, lines]));
    for (const { id, reason, from } of resultsOn136()) {
      const lines = logs.get(id);
      assert.equal(lines === undefined, from === 'run', id);
      if (lines !== undefined) assert.equal(verdict({ lines }).reason, reason, id);
    }
  });

  test('are in the table as they were recorded', () => {
    assert.equal(generatedPart(PAGE), tableOf(SABOTAGES, results));
    assert.equal(timesPart(), timesTable(recordedTimes()));
  });
});
