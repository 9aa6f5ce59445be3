import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { isProgram, packagesNamedIn, withPackage } from '../../../scripts/test-packages.ts';
import { needs, needsPrograms } from '../../support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

describe('what a test needs', () => {
  const path = process.env.PATH;

  test('is named with its Debian package if it is missing, and all of it at once', (context) => {
    context.after(() => Object.assign(process.env, { MACHINEADM_E2E: before }));
    const before = process.env.MACHINEADM_E2E ?? '';
    process.env.MACHINEADM_E2E = 'core';
    assert.equal(
      needs('MACHINEADM_E2E=all', { unavailable: 'needs python3 (Debian: python3)' }, { root: '/somewhere' }),
      'needs MACHINEADM_E2E=all, python3 (Debian: python3)',
    );
    assert.equal(withPackage('sfdisk'), 'sfdisk (Debian: fdisk)');
  });

  test('skips nothing if it is there', () => {
    assert.equal(needs(), false);
    assert.equal(needs({ root: '/somewhere' }), false);
    assert.equal(needs('Linux') === false, process.platform === 'linux');
    assert.equal(process.env.PATH, path);
  });

  test('is in the table, also where it is read from data', () => {
    assert.equal(isProgram('sfdisk'), true);
    assert.throws(() => needsPrograms(['no-such-program']), /does not list the program no-such-program/);
  });

  test('gives the packages to install, without those that are too large', () => {
    const reasons = [
      'needs sfdisk (Debian: fdisk), visudo (Debian: sudo)',
      'needs visudo (Debian: sudo)',
      'needs go (Debian: golang-go)',
      'needs root',
    ];
    assert.deepEqual(packagesNamedIn(reasons), ['fdisk', 'sudo']);
  });
});

/** Ways in which a test would decide for itself whether it can run here. */
const OWN_DECISIONS: Readonly<Record<string, RegExp>> = {
  'a reason of its own': /\bskip(?:\(|: |\s*=)[^;{}]*'(?:needs|no) /,
  'the user id': /skip[^;]*\bgete?uid\b/,
  'the version of a program': /\['(?:-V|--version|version)'\]\)\.status [!=]== 0 (?:\?|&&)/,
  'which(1)': /spawnSync\('which'/,
  'an installed file': /existsSync\('\/(?:usr\/)?s?bin\/[^']*'\) (?:\? false|&&)|!existsSync\('\/(?:usr\/)?s?bin\//,
};

test('tests declare what they need with `needs`, and in no other way', () => {
  const found = globSync('test/**/*.ts', { cwd: ROOT, exclude: ['test/fixtures/**', 'test/support/needs.ts'] }).flatMap(
    (file) => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      return Object.entries(OWN_DECISIONS)
        .filter(([, pattern]) => file !== 'test/unit/support/needs.test.ts' && pattern.test(text))
        .map(([what]) => `${file}: decides by ${what}`);
    },
  );
  assert.deepEqual(found, []);
});
