import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compareVersions, parseVersion } from '@machineadm/document/text/program-version.ts';

const PRINTED: readonly (readonly [string, readonly [number, number, number], string])[] = [
  ['containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u1+b2', [1, 6, 20], '1.6.20~ds1'],
  [
    'containerd github.com/containerd/containerd v1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da',
    [1, 7, 27],
    'v1.7.27',
  ],
  ['containerd github.com/containerd/containerd/v2 v2.1.0-rc.1 061792f0ecf3684f\n', [2, 1, 0], 'v2.1.0-rc.1'],
  ['containerd containerd.io 1.7.12-0ubuntu2~22.04.1 ', [1, 7, 12], '1.7.12-0ubuntu2~22.04.1'],
  ['v1.20.2\n', [1, 20, 2], 'v1.20.2'],
  ['Kubernetes v1.20.2', [1, 20, 2], 'v1.20.2'],
  ['Kubernetes v1.31.3+k3s1', [1, 31, 3], 'v1.31.3+k3s1'],
  ['v1.30.0-eks-036c24b', [1, 30, 0], 'v1.30.0-eks-036c24b'],
  ['v1.36', [1, 36, 0], 'v1.36'],
];

describe('the version in the output of a program', () => {
  for (const [text, [major, minor, patch], word] of PRINTED) {
    test(`is found in ${text.trim()}`, () => {
      assert.deepEqual(parseVersion(text), { major, minor, patch, text: word });
    });
  }

  test('is unknown if the text has none', () => {
    for (const text of ['', 'devel', 'containerd github.com/containerd/containerd/v2', 'x1.2.3', '12']) {
      assert.equal(parseVersion(text), undefined, text);
    }
  });

  test('is ordered by number, not by letter, and without what follows the numbers', () => {
    const at = (text: string) => parseVersion(text) ?? assert.fail(text);
    assert.ok(compareVersions(at('1.9.9'), at('1.10.0')) < 0);
    assert.ok(compareVersions(at('2.0.0'), at('1.99.99')) > 0);
    assert.equal(compareVersions(at('v1.6.20-rc.1'), at('1.6.20~ds1')), 0);
  });
});
