import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConversionCache } from '@machineadm/translator/conversions/cache.ts';
import { convertSecret } from '@machineadm/translator/conversions/translate.ts';
import { goldenUserData } from '../../support/capi.ts';

const WORKER = goldenUserData('02-worker-registry-mirrors', 'join-worker');
const CONTROL_PLANE = goldenUserData('01-controlplane-kube-vip', 'join-controlplane');
const NEVER = new AbortController().signal;
const TOKEN = /[a-z0-9]{6}\.[a-z0-9]{16}/g;
const base64 = (text: string) => Buffer.from(text).toString('base64');

function machineOf(index: number, name = `prod-a-md-0-${'abcdefgh'[index]}x7k2`) {
  const uid = `0000000${index}-1111-4222-8333-444444444444`;
  const machine = {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Machine',
    metadata: { name, namespace: 'clusters', uid },
    spec: { version: 'v1.35.2', bootstrap: { configRef: { kind: 'KubeadmConfig', name } } },
  };
  return { name, uid, machine };
}

function inputOf(index: number, text: string, name?: string) {
  const { machine, ...rest } = machineOf(index, name);
  const userData = text.replace(TOKEN, `tokxy${index}.0123456789abcdz${index}`);
  // Each KubeadmConfig has a uid of its own, and may have a name of its own.
  const owner = { apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2', kind: 'KubeadmConfig', name: `config-${index}` };
  const ownerReferences = [{ ...owner, uid: `1111111${index}-1111-4222-8333-444444444444` }];
  const metadata = { name: rest.name, namespace: 'clusters', ownerReferences };
  const secret = { metadata, data: { value: base64(userData) } };
  return { ...rest, args: [secret, [machine], {}] as const };
}

describe('the cache of conversions', () => {
  for (const [what, text] of [
    ['a worker', WORKER],
    ['a control plane', CONTROL_PLANE],
  ] as const) {
    test(`gives ${what} what the converter gives, after two of its template were converted`, async () => {
      const cache = new ConversionCache();
      let conversions = 0;
      for (let index = 0; index < 5; index += 1) {
        const { args } = inputOf(index, text);
        const [secret, related, profile] = args;
        const { words: _, ...cached } = await cache.through([secret, related, profile], NEVER, async () => {
          conversions += 1;
          return await convertSecret(secret, related, profile);
        });
        assert.deepEqual(cached, await convertSecret(secret, related, profile));
      }
      assert.equal(conversions, 2);
    });
  }

  test('never gives one machine a word of another, whatever its text is', async () => {
    const cache = new ConversionCache();
    const seen: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      const { args, name, uid } = inputOf(index, CONTROL_PLANE);
      const [secret, related, profile] = args;
      const { yaml } = await cache.through([secret, related, profile], NEVER, () =>
        convertSecret(secret, related, profile),
      );
      for (const word of [name, uid, `tokxy${index}.`]) assert.ok(yaml.includes(word));
      for (const word of seen) assert.ok(!yaml.includes(word), word);
      seen.push(name, uid, `tokxy${index}.`);
    }
  });

  test('is not used where the result depends on the words in another way', async () => {
    const cache = new ConversionCache();
    let conversions = 0;
    for (let index = 0; index < 4; index += 1) {
      const [secret, related, profile] = inputOf(index, WORKER).args;
      await cache.through([secret, related, profile], NEVER, async () => {
        conversions += 1;
        return { yaml: `a digest: ${secret.metadata.name.length + conversions}`, format: 'cloud-config', codes: [] };
      });
    }
    assert.equal(conversions, 4);
  });

  describe('of a rollout that creates many machines at once', () => {
    const rollout = (cache: ConversionCache, convert: (index: number) => Promise<string>, deadline = NEVER) =>
      Array.from({ length: 8 }, async (_, index) => {
        const [secret, related, profile] = inputOf(index, WORKER).args;
        const yaml = async () => ({ yaml: await convert(index), format: 'cloud-config' as const, codes: [] });
        return (await cache.through([secret, related, profile], deadline, yaml)).yaml;
      });

    test('converts two, and the others wait for them', async () => {
      const converted: number[] = [];
      const texts = await Promise.all(
        rollout(new ConversionCache(), async (index) => {
          converted.push(index);
          return `for ${machineOf(index).name}`;
        }),
      );
      assert.deepEqual(converted, [0, 1]);
      assert.deepEqual(
        texts,
        texts.map((_, index) => `for ${machineOf(index).name}`),
      );
    });

    test('converts each where the results differ', async () => {
      const converted: number[] = [];
      await Promise.all(
        rollout(new ConversionCache(), async (index) => {
          converted.push(index);
          return `a digest: ${index}`;
        }),
      );
      assert.deepEqual(converted, [0, 1, 2, 3, 4, 5, 6, 7]);
    });

    test('does not wait again where the conversion failed', async () => {
      const failing = rollout(new ConversionCache(), async (index) => {
        throw new Error(`failed for ${index}`);
      });
      const results = await Promise.allSettled(failing);
      assert.deepEqual(
        results.map((result) => (result.status === 'rejected' ? String(result.reason) : '')),
        results.map((_, index) => `Error: failed for ${index}`),
      );
    });

    test('waits no longer than its deadline', async () => {
      const deadline = new AbortController();
      const begun: number[] = [];
      const [, ...others] = rollout(
        new ConversionCache(),
        async (index) => {
          begun.push(index);
          if (index === 0) return await new Promise<never>(() => undefined);
          return 'one';
        },
        deadline.signal,
      );
      setImmediate(() => deadline.abort());
      await Promise.all(others);
      assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6, 7]);
    });
  });

  for (const [what, text, name] of [
    ['a token that YAML could read as a number', CONTROL_PLANE.replace(TOKEN, '123456.1234567890123456'), undefined],
    ['a machine with a name that YAML could read otherwise', WORKER, 'null'],
    ['binary data', '\u0000', undefined],
  ] as const) {
    test(`leaves out ${what}`, async () => {
      const cache = new ConversionCache();
      let conversions = 0;
      for (let index = 0; index < 4; index += 1) {
        const { machine } = machineOf(index, name);
        const secret = { metadata: { name: machine.metadata.name, namespace: 'n' }, data: { value: base64(text) } };
        await cache.through([secret, [machine], {}], NEVER, async () => {
          conversions += 1;
          return { yaml: 'the same', format: 'cloud-config', codes: [] };
        });
      }
      assert.equal(conversions, 4);
    });
  }

  test('knows another profile, another format and another text', async () => {
    const cache = new ConversionCache();
    const converted: string[] = [];
    const through = async (index: number, change: { accept?: string[]; text?: string; format?: string }) => {
      const [secret, related] = inputOf(index, change.text ?? WORKER).args;
      const data = { ...secret.data, ...(change.format === undefined ? {} : { format: base64(change.format) }) };
      await cache.through([{ ...secret, data }, related, { accept: change.accept }], NEVER, async () => {
        converted.push(JSON.stringify({ ...change, text: undefined }));
        return { yaml: 'one', format: 'cloud-config', codes: [] };
      });
    };
    for (const change of [{}, { accept: ['DeviceAlias'] }, { format: 'ignition' }, { text: `${WORKER}#` }]) {
      for (let index = 0; index < 4; index += 1) await through(index, change);
    }
    assert.equal(converted.length, 8);
  });
});
