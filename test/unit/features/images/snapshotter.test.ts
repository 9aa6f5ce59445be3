import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { snapshotterOf, unpackArguments } from '../../../../src/features/images/snapshotter.ts';
import { containerdModel } from '../../../support/containerd-model.ts';

describe('unpacking for a snapshotter', () => {
  test('is left to ctr where the document names none', () => {
    assert.equal(snapshotterOf(undefined), undefined);
    assert.equal(snapshotterOf(containerdModel()), undefined);
    assert.deepEqual(unpackArguments(undefined, parseVersion('2.1.9')), []);
    assert.deepEqual(unpackArguments('overlayfs', parseVersion('2.1.9')), []);
  });

  test('is done for the one that CRI is given, by its field or among the settings, which win', () => {
    const settings = { plugins: { 'io.containerd.cri.v1.images': { snapshotter: 'zfs' } } };
    assert.equal(snapshotterOf(containerdModel({ snapshotter: 'native' })), 'native');
    assert.equal(snapshotterOf(containerdModel({ snapshotter: 'native', settings })), 'zfs');
  });

  test('is done by ctr itself where that can be said, which is since 1.7', () => {
    const asked = ['--snapshotter', 'native'];
    assert.deepEqual(unpackArguments('native', parseVersion('1.6.20')), asked);
    assert.deepEqual(unpackArguments('native', parseVersion('1.7.24')), ['--local', ...asked]);
    assert.deepEqual(unpackArguments('native', parseVersion('v2.1.9')), ['--local', ...asked]);
  });
});
