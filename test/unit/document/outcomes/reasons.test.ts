import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { EXIT_CODES } from '@machineadm/document/outcomes/exit-codes.ts';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { publishedReasons } from '../../../../scripts/generate/tables.ts';

const recorded = readFileSync(join(import.meta.dirname, '../../../fixtures/reasons.txt'), 'utf8');

describe('the published reasons', () => {
  test('are all still there, each with its exit code', () => {
    const present = new Set(Object.entries(REASONS).map(([name, { exit }]) => `${name} ${exit}`));
    const lost = recorded.split('\n').filter((line) => line !== '' && !present.has(line));
    assert.deepEqual(lost, [], 'a published reason was removed, renamed or given another exit code');
  });

  test('include every reason there is (else: npm run generate)', () => {
    assert.equal(publishedReasons(recorded), recorded);
  });

  test('only grow: recording keeps what the sources lost', () => {
    assert.match(publishedReasons('GoneLongAgo Refused\n'), /^GoneLongAgo Refused$/m);
  });

  test('are CamelCase words with a sentence that explains them', () => {
    for (const [name, { meaning }] of Object.entries(REASONS)) {
      assert.match(name, /^[A-Z][A-Za-z0-9]+$/);
      assert.match(meaning, /^[a-zA-Z].{10,}\.$/, name);
    }
  });
});

describe('the exit codes', () => {
  /** Published with 0.1.0. Add to this table; never change a line of it. */
  const PUBLISHED = {
    Success: 0,
    InternalError: 1,
    Usage: 2,
    DocumentInvalid: 3,
    Refused: 4,
    HostStepFailed: 10,
    BootstrapperFailed: 11,
    NotReady: 12,
    DeadlinePassed: 13,
    Interrupted: 14,
    AfterHookFailed: 15,
    RebootRequired: 16,
    DifferencesFound: 20,
    VerificationRefused: 21,
    NotProven: 22,
  };

  test('are those published', () => {
    assert.deepEqual(Object.fromEntries(Object.entries(EXIT_CODES).map(([name, { code }]) => [name, code])), PUBLISHED);
  });

  test('leave room: none is used twice, none is one that a shell or systemd gives a meaning to', () => {
    const codes = Object.values(EXIT_CODES).map(({ code }) => code);
    assert.equal(new Set(codes).size, codes.length);
    // 126 and up: sh(1), "command not executable" to "killed by a signal"; 200 to 242: systemd.exec(5).
    assert.deepEqual(
      codes.filter((code) => code >= 126),
      [],
    );
  });
});
