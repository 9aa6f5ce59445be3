import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { listMachines } from '../../scripts/lab/fleet.ts';
import { run } from '../../scripts/lab/process.ts';
import { labUnavailable, takeLab } from '../support/lab.ts';

const MINUTE = 60_000;
const ROOT = resolve(import.meta.dirname, '../..');

describe('the quick start', { skip: labUnavailable() ?? false, timeout: 45 * MINUTE }, () => {
  let release: () => Promise<void>;

  before(
    async () => {
      release = await takeLab('nodes');
    },
    { timeout: 30 * MINUTE },
  );
  after(async () => release());

  test('ends with a control plane and a worker that are Ready, and the answer of a pod', async () => {
    const quickstart = await run(process.execPath, ['scripts/quickstart.ts', '--workers', '1'], {
      cwd: ROOT,
      timeoutMs: 40 * MINUTE,
      onOutput: (_, text) => process.stderr.write(text),
    });
    const { stdout } = quickstart;
    assert.equal(quickstart.status, 0, stdout.slice(-3000));
    assert.match(stdout, /^quickstart +Ready +control-plane,master /m);
    assert.match(stdout, /^qs-worker1 +Ready +<none> /m);
    assert.match(stdout, /^Hello from pod web on node qs-worker1$/m);
    assert.match(stdout, /\] done: the nodes are Ready, and a pod answered$/m);
    const left = listMachines().filter(({ name }) => name === 'quickstart' || name === 'qs-worker1');
    assert.deepEqual(left, [], 'its machines are gone');
  });
});
