import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { EXIT_CODES } from '../../../src/document/exit-codes.ts';
import { REASONS } from '../../../src/document/reasons.ts';
import { caseNames, readCase } from '../../support/case-files.ts';

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
