import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { conversionsIn } from '@machineadm/translator/conversion-worker.ts';
import { Kept } from '@machineadm/translator/kept.ts';
import { goldenUserData } from '../../support/capi.ts';

const MAIN = resolve(import.meta.dirname, '../../../packages/translator/src/main.ts');
const NEVER = new AbortController().signal;
const base64 = (text: string) => Buffer.from(text).toString('base64');

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

describe('conversions in a worker thread', () => {
  const conversions = conversionsIn(MAIN);
  after(() => conversions.close());

  test('give documents and user data', async () => {
    const converted = await conversions.convertSecret(NEVER, secret(WORKER), [MACHINE], {});
    assert.equal(converted.format, 'cloud-config');
    const userData = await conversions.wrapConverted(NEVER, converted, {}, undefined, '0.1.0');
    assert.match(userData, /^#cloud-config\n/);
  });

  test('give the reason why a Secret is kept', async () => {
    await assert.rejects(conversions.convertSecret(NEVER, secret('#cloud-config\n{'), [MACHINE], {}), (error) => {
      assert.ok(error instanceof Kept);
      assert.equal(error.reason, 'ConversionFailed');
      return true;
    });
  });

  test('are ended with their deadline, and the next one has a new thread', async () => {
    // Whose time is over before it begins, and whose ends while it runs.
    await assert.rejects(conversions.convertSecret(AbortSignal.abort(), secret(WORKER), [MACHINE], {}), /abort/i);
    const ending = new AbortController();
    const ended = conversions.convertSecret(ending.signal, secret(WORKER), [MACHINE], {});
    const next = conversions.convertSecret(NEVER, secret(WORKER), [MACHINE], {});
    setImmediate(() => ending.abort());
    await assert.rejects(ended, /abort/i);
    assert.equal((await next).format, 'cloud-config');
  });
});
