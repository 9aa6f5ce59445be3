import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { FairQueue } from '@machineadm/translator/conversions/fair-queue.ts';
import { conversionPool } from '@machineadm/translator/conversions/pool.ts';
import { Kept } from '@machineadm/translator/handover/kept.ts';
import { goldenUserData } from '../../support/capi.ts';

const MAIN = resolve(import.meta.dirname, '../../../packages/translator/src/worker/main.ts');
const NEVER = new AbortController().signal;
const base64 = (text: string) => Buffer.from(text).toString('base64');
const LONG = 600_000;

function secret(userData: string) {
  return { metadata: { name: 'm1', namespace: 'clusters' }, data: { value: base64(userData) } };
}

const MACHINE = {
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Machine',
  metadata: { name: 'm1', namespace: 'clusters', uid: 'u' },
  spec: { version: 'v1.35.2', bootstrap: { dataSecretName: 'm1' } },
};
const WORKER = goldenUserData('02-worker-registry-mirrors', 'join-worker');
const OPTIONS = { profile: {}, sink: undefined, mayHoldSecrets: true, translatorVersion: '0.1.0' };

describe('conversions in worker threads', () => {
  const conversions = conversionPool({ program: MAIN, workers: 1, budgetMs: LONG });
  after(() => conversions.close());

  test('give documents and user data', async () => {
    const converted = await conversions.convertSecret('a', NEVER, secret(WORKER), [MACHINE], {});
    assert.equal(converted.format, 'cloud-config');
    const userData = await conversions.wrapConverted('a', NEVER, converted, OPTIONS);
    assert.match(userData, /^#cloud-config\n/);
  });

  test('give the reason why a Secret is kept', async () => {
    await assert.rejects(conversions.convertSecret('a', NEVER, secret('#cloud-config\n{'), [MACHINE], {}), (error) => {
      assert.ok(error instanceof Kept);
      assert.equal(error.reason, 'ConversionFailed');
      return true;
    });
  });

  test('are ended with their deadline, and the next one has a new thread', async () => {
    // Whose time is over before it begins, and whose ends while it runs.
    await assert.rejects(conversions.convertSecret('a', AbortSignal.abort(), secret(WORKER), [MACHINE], {}), /abort/i);
    const ending = new AbortController();
    const ended = conversions.convertSecret('a', ending.signal, secret(WORKER), [MACHINE], {});
    const next = conversions.convertSecret('a', NEVER, secret(WORKER), [MACHINE], {});
    setImmediate(() => ending.abort());
    await assert.rejects(ended, { reason: 'TimedOut' });
    assert.equal((await next).format, 'cloud-config');
  });
});

describe('a conversion that does not end', () => {
  let directory = '';
  let program = '';

  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-pool-'));
    program = join(directory, 'worker.mjs');
    // Stands for a conversion of any defect: the text says how long it takes. The real pool, and real threads.
    writeFileSync(
      program,
      `import { parentPort } from 'node:worker_threads';
parentPort.on('message', ({ args }) => {
  parentPort.postMessage({ kind: 'begun' });
  const text = Buffer.from(args[0].data.value, 'base64').toString();
  while (text === 'forever') {}
  parentPort.postMessage({ kind: 'done', value: { yaml: text, format: 'cloud-config', codes: [] } });
});
`,
    );
  });
  after(() => rmSync(directory, { recursive: true }));

  for (const workers of [1, 2]) {
    test(`is ended by its budget, and delays no other namespace (${workers} threads)`, async () => {
      const pool = conversionPool({ program, workers, budgetMs: 300 });
      const convert = (namespace: string, text: string) =>
        pool.convertSecret(namespace, NEVER, secret(text), [MACHINE], {});
      try {
        const hostile = Array.from({ length: 10 }, () =>
          convert('hostile', 'forever').catch((error: unknown) => error),
        );
        let ended = 0;
        for (const one of hostile) void one.then(() => (ended += 1));
        for (let index = 0; index < 3; index += 1) assert.equal((await convert('neighbour', 'quick')).yaml, 'quick');
        // Each neighbour waits for those that run, and not for all.
        assert.ok(ended < 10, `${ended} of 10 had ended when the neighbours were done`);
        for (const error of await Promise.all(hostile)) {
          assert.ok(error instanceof Kept);
          assert.deepEqual([error.reason, error.message], ['TooExpensive', 'the conversion took more than 0.3 s']);
        }
      } finally {
        await pool.close();
      }
    });
  }
});

describe('FairQueue', () => {
  test('takes from each group in turn, and leaves out those that have their share', () => {
    const queue = new FairQueue<string>();
    for (const job of ['a1', 'a2', 'a3', 'b1', 'c1']) queue.add(job.slice(0, 1), job);
    queue.remove('a', 'a3');
    queue.remove('d', 'none');
    assert.equal(queue.size, 4);
    const take = (mayRun: (group: string) => boolean = () => true) => queue.take(mayRun);
    assert.deepEqual(
      [take(), take(), take((group) => group !== 'c'), take(), take()],
      ['a1', 'b1', 'a2', 'c1', undefined],
    );
  });
});
