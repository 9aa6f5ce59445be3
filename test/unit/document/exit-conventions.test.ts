import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { conventionalExitCode, EXIT_CODES, EXIT_CONVENTIONS } from '@machineadm/document/outcomes/exit-codes.ts';
import { conventionIn } from '../../../src/cli/options.ts';

const codes = Object.values(EXIT_CODES).map(({ code }) => code);

describe('the exit code of a run', () => {
  for (const [convention, code] of [
    ['machineadm', 16],
    ['cloudbase-init', 1001],
    ['unattend', 2],
  ] as const) {
    test(`that reboots and resumes is ${code} for ${convention}`, () => {
      assert.equal(conventionalExitCode(convention, 16, true), code);
    });
  }

  test('that waits for a reboot by the operator does not request one', () => {
    assert.deepEqual(
      Object.keys(EXIT_CONVENTIONS).map((name) => conventionalExitCode(name as 'unattend', 16, false)),
      [16, 16, 16],
    );
  });

  test('is the one of machineadm for other callers', () => {
    assert.deepEqual(
      codes.map((code) => conventionalExitCode('machineadm', code, false)),
      codes,
    );
  });

  test('is never one that Windows Setup takes for a reboot request', () => {
    for (const code of codes) assert.ok(![1, 2].includes(conventionalExitCode('unattend', code, false)), `${code}`);
    assert.equal(conventionalExitCode('unattend', 0, false), 0);
    assert.equal(conventionalExitCode('unattend', 11, false), 11);
  });

  test('is never one that cloudbase-init reboots for', () => {
    for (const code of codes) assert.ok(conventionalExitCode('cloudbase-init', code, false) < 1000, `${code}`);
  });
});

describe('a command line that is wrong', () => {
  for (const [argv, convention] of [
    [['provision', '--exit-codes', 'unattend', '--bogus'], 'unattend'],
    [['provision', '--bogus', '--exit-codes=cloudbase-init'], 'cloudbase-init'],
    [['provision', '--exit-codes', 'nobody'], 'machineadm'],
    [['provision', '--exit-codes'], 'machineadm'],
    [['validate'], 'machineadm'],
  ] as const) {
    test(`as "${argv.join(' ')}" ends in the convention of ${convention}`, () => {
      assert.equal(conventionIn(argv), convention);
    });
  }
});
