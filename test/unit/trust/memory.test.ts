import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { extendTrustMemory, readTrustMemory } from '../../../src/trust/memory.ts';

for (const umask of [0o000, 0o077]) {
  test(`the memory is for its owner alone, under umask ${umask.toString(8)}, also where an earlier version left it open`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'machineadm-memory-'));
    const before = process.umask(umask);
    t.after(() => {
      process.umask(before);
      rmSync(directory, { recursive: true });
    });
    const path = join(directory, 'trust.json');
    for (const minimumVersion of ['1.0.0', '1.1.0']) {
      await extendTrustMemory(path, { minimumVersion });
      assert.equal((await readTrustMemory(path)).minimumVersion, minimumVersion);
      assert.equal(statSync(path).mode & 0o777, 0o600);
      chmodSync(path, 0o644);
    }
  });
}
