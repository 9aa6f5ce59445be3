import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { companionTags, defaultRepository } from '@machineadm/document/kubernetes-releases/images.ts';
import { NEWEST_KNOWN_MINOR, OLDEST_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';

const release = (text: string) => {
  const version = parseVersion(text);
  assert.ok(version);
  return version;
};

describe('the tags beside Kubernetes', () => {
  // What `kubeadm config images list` printed for these releases.
  for (const [version, etcd, coredns, pause] of [
    ['v1.20.2', '3.4.13-0', '1.7.0', '3.2'],
    ['v1.21.14', '3.4.13-0', 'v1.8.0', '3.4.1'],
    ['v1.22.16', '3.5.0-0', 'v1.8.4', '3.5'],
    ['v1.22.17', '3.5.6-0', 'v1.8.4', '3.5'],
    ['v1.24.8', '3.5.5-0', 'v1.8.6', '3.7'],
    ['v1.25.14', '3.5.6-0', 'v1.9.3', '3.8'],
    ['v1.28.13', '3.5.12-0', 'v1.10.1', '3.9'],
    ['v1.28.15', '3.5.15-0', 'v1.10.1', '3.9'],
    ['v1.30.4', '3.5.12-0', 'v1.11.1', '3.9'],
    ['v1.30.5', '3.5.15-0', 'v1.11.3', '3.9'],
    ['v1.31.0', '3.5.15-0', 'v1.11.1', '3.10'],
    ['v1.32.13', '3.5.24-0', 'v1.11.3', '3.10'],
    ['v1.33.5', '3.5.21-0', 'v1.12.0', '3.10'],
    ['v1.35.0', '3.6.6-0', 'v1.13.1', '3.10.1'],
    ['v1.36.4', '3.6.8-0', 'v1.14.2', '3.10.2'],
  ] as const) {
    test(`of ${version} are known`, () => {
      const found = companionTags(release(version));
      assert.equal(found?.known, true);
      assert.deepEqual({ etcd, coredns, pause }, pick(found?.tags));
    });
  }

  test('of every minor that can be rendered are known; of a later patch as uncertain', () => {
    for (let minor = OLDEST_MINOR; minor <= NEWEST_KNOWN_MINOR; minor += 1) {
      assert.equal(companionTags(release(`v1.${minor}.0`))?.known, true, `1.${minor}`);
      assert.equal(companionTags(release(`v1.${minor}.99`))?.known, false, `1.${minor}`);
    }
    assert.equal(companionTags(release(`v1.${OLDEST_MINOR - 1}.0`)), undefined);
    assert.equal(companionTags(release(`v1.${NEWEST_KNOWN_MINOR + 1}.0`)), undefined);
  });

  test('come from the registry that was the default then', () => {
    const registries = ['v1.20.2', 'v1.22.16', 'v1.22.17', 'v1.23.14', 'v1.23.15', 'v1.24.8', 'v1.24.9', 'v1.25.0'];
    assert.deepEqual(
      registries.map((version) => defaultRepository(release(version)).startsWith('registry')),
      [false, false, true, false, true, false, true, true],
    );
  });
});

function pick(tags: { readonly etcd: string; readonly coredns: string; readonly pause: string } | undefined) {
  return { etcd: tags?.etcd, coredns: tags?.coredns, pause: tags?.pause };
}
