import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fullReference } from '@machineadm/archives/image-reference.ts';
import { findImage } from '../../../src/container-runtime/image-presence.ts';

const D = `sha256:${'a'.repeat(64)}`;

describe('image references', () => {
  for (const [given, full] of [
    ['pause', 'docker.io/library/pause:latest'],
    ['pause:3.10', 'docker.io/library/pause:3.10'],
    ['flannel/flannel:v1', 'docker.io/flannel/flannel:v1'],
    ['docker.io/busybox', 'docker.io/library/busybox:latest'],
    ['index.docker.io/library/busybox', 'docker.io/library/busybox:latest'],
    ['registry.k8s.io/pause:3.10', 'registry.k8s.io/pause:3.10'],
    ['localhost/pause', 'localhost/pause:latest'],
    ['localhost:5000/pause', 'localhost:5000/pause:latest'],
    ['r.example:5000/a/b:1', 'r.example:5000/a/b:1'],
    [`busybox@${D}`, `docker.io/library/busybox@${D}`],
    [`r.example/a:1@${D}`, `r.example/a@${D}`],
    [D, D],
  ] as const) {
    test(`${given} is ${full}`, () => assert.equal(fullReference(given), full));
  }

  test('an image is found by tag, digest and id, in any form', () => {
    const image = { id: D, tags: ['docker.io/library/pause:latest'], digests: [`docker.io/library/pause@${D}`] };
    for (const reference of ['pause', 'docker.io/pause:latest', `pause@${D}`, `pause:latest@${D}`, D]) {
      assert.equal(findImage([image], reference), image, reference);
    }
    for (const reference of ['pause:3.10', 'registry.k8s.io/pause', `pause@sha256:${'b'.repeat(64)}`]) {
      assert.equal(findImage([image], reference), undefined, reference);
    }
  });
});
