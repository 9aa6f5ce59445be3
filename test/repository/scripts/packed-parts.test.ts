import assert from 'node:assert/strict';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { packParts } from '../../../scripts/build/packed-parts.ts';

test('packed parts stand in the order in which commands use them, each at the place that the index names', async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-parts-'));
  const contents: Record<string, string> = {
    'a.js': 'unused',
    'b.js': 'second',
    'c.js': 'first',
    'c.js.cache': 'compiled',
  };
  for (const [name, text] of Object.entries(contents)) writeFileSync(join(directory.path, name), text);
  const packed = await packParts(directory.path, Object.keys(contents), ['c.js', 'b.js']);
  const begin = 4 + packed.readUInt32LE(0);
  const index: Record<string, [number, number]> = JSON.parse(packed.toString('latin1', 4, begin));
  assert.deepEqual(Object.keys(index), ['c.js', 'c.js.cache', 'b.js', 'a.js']);
  for (const [name, [start, end]] of Object.entries(index))
    assert.equal(packed.toString('latin1', begin + start, begin + end), contents[name], name);
});
