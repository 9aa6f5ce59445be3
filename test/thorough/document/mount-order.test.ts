import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mountOrder, needsFirst } from '@machineadm/document/host-parts/mount-order.ts';
import fc from '../../support/property.ts';

const path = fc.constantFrom('/', '/a', '/a/b', '/a/b/c', '/ab', '/b', '/b/c', 'none');
const source = fc.option(fc.constantFrom('/a', '/a/b/x', '/b/c', '/d', 'server:/a'), { nil: undefined });

describe('the order of mounts', () => {
  test('has each mount once, and after those that it needs, unless they need each other', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ path, source }), { maxLength: 7 }), (mounts) => {
        const { order, circle } = mountOrder(mounts);
        assert.deepEqual(new Set(order), new Set(mounts));
        assert.equal(order.length, mounts.length);
        const made = order.slice(0, order.length - circle.length);
        for (const [index, mount] of made.entries()) {
          for (const later of order.slice(index + 1)) assert.ok(!needsFirst(mount, later), JSON.stringify(order));
        }
        // Each of a circle waits for another of it.
        for (const mount of circle) assert.ok(circle.some((other) => needsFirst(mount, other)));
      }),
      { numRuns: 500 },
    );
  });

  test('of many mounts, each of which needs the next, is found without comparing each with all', () => {
    const mounts = Array.from({ length: 20_000 }, (_, index) => ({ path: `/m${index}`, source: `/m${index + 1}/x` }));
    assert.deepEqual(mountOrder(mounts).order, mounts.toReversed());
  });
});
