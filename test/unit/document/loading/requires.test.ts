import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { satisfies } from '@machineadm/document/loading/requires.ts';

describe('a condition on the version', () => {
  const cases: readonly (readonly [string, string, boolean | undefined])[] = [
    ['0.2.0', '>=0.2.0', true],
    ['0.2.0', '>=0.2 <2', true],
    ['0.10.0', '>=0.9', true],
    ['0.1.9', '>=0.2', false],
    ['2.0.0', '<2', false],
    ['1.4.0', '1.4.0', true],
    ['1.4.0', '=v1.4', true],
    ['1.4.1', '1.4.0', false],
    ['1.4.1', '>1.4.0 <=1.4.1', true],
    // A pre-release comes before its release.
    ['0.2.0-rc.1', '>=0.2.0', false],
    ['0.2.0-rc.1', '>=0.2', false],
    ['0.2.0-rc.1', '<0.2.0', true],
    ['0.2.0-rc.1', '0.2.0', false],
    ['0.2.0-rc.1', '>=0.1.9', true],
    ['0.2.0-rc.1', '>=0.2.0-rc.1', true],
    ['0.2.0', '>0.2.0-rc.1', true],
    ['0.2.0+build.5', '0.2.0', true],
    ['0.2.0-5-gabcdef+dirty', '>=0.2.0', false],
    ['0.2.0', 'newest', undefined],
    ['0.2.0', '>=0.2.0 ||', undefined],
    ['0.2.0', '', undefined],
  ];
  for (const [version, condition, satisfied] of cases) {
    test(`${version} ${satisfied === undefined ? 'has no answer for' : satisfied ? 'satisfies' : 'misses'} "${condition}"`, () =>
      assert.equal(satisfies(version, condition), satisfied));
  }

  test('orders versions as section 11 of Semantic Versioning', () => {
    const ordered = ['alpha', 'alpha.1', 'alpha.beta', 'beta', 'beta.2', 'beta.11', 'rc.1'].map(
      (pre) => `1.0.0-${pre}`,
    );
    for (const [index, version] of ordered.entries()) {
      assert.deepEqual(
        ordered.map((other) => satisfies(version, `>${other}`)),
        ordered.map((_, at) => at < index),
      );
      assert.equal(satisfies('1.0.0', `>${version}`), true);
    }
  });
});
