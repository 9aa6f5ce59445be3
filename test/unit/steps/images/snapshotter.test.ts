import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseVersion } from '../../../../src/host/version.ts';
import { unpackArguments } from '../../../../src/steps/images/snapshotter.ts';

describe('unpacking for a snapshotter', () => {
  test('is left to ctr where the document names none', () => {
    assert.deepEqual(unpackArguments(undefined, parseVersion('2.1.9')), []);
  });

  test('is done by ctr itself where that can be said, which is since 1.7', () => {
    const asked = ['--snapshotter', 'native'];
    assert.deepEqual(unpackArguments('native', parseVersion('1.6.20')), asked);
    assert.deepEqual(unpackArguments('native', parseVersion('1.7.24')), ['--local', ...asked]);
    assert.deepEqual(unpackArguments('native', parseVersion('v2.1.9')), ['--local', ...asked]);
  });
});
