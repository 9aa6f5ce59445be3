import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type LoadedDocument, loadDocument } from '@machineadm/document/loading/load.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { stringify } from 'yaml';
import { bakingHost, imagePart } from '../../../src/pipeline/image.ts';
import { memoryHost } from '../../support/memory-host.ts';

const HEADER = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name: 'image' } };
const RACK = { variables: { rack: { instanceData: 'ds.meta_data.rack' }, zone: { value: 'eu-1' } } };

/** A document as `prepare` loads it: this machine is not asked for its variables. */
async function load(document: object): Promise<LoadedDocument> {
  const bytes = new TextEncoder().encode(stringify({ ...HEADER, ...document }));
  const result = await loadDocument([{ name: 'base.yaml', bytes }], { agentVersion: '0.1.0' });
  assert.ok(result.ok, JSON.stringify(result));
  return result.document;
}

function refused(reason: Reason, about: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof MachineadmError);
    assert.deepEqual([error.reason, error.exit], [reason, 'Refused']);
    assert.match(error.message, about);
    assert.notEqual(error.remedy, '');
    return true;
  };
}

describe('the part of a document that goes into an image', () => {
  test('has no file that depends on a variable of the machine, and says which', async () => {
    const files = [
      { path: '/etc/rack', content: `\${rack}\n`, expand: true },
      { path: '/etc/zone', content: `\${zone}\n`, expand: true },
    ];
    const part = imagePart(await load({ ...RACK, host: { files } }));
    assert.deepEqual(
      part.model.host.files.map(({ path }) => path),
      ['/etc/zone'],
    );
    assert.deepEqual(part.unresolved, ['host.files[0].content']);
  });

  test('has no time servers that depend on a variable of the machine', async () => {
    const part = imagePart(await load({ ...RACK, host: { time: { servers: [`ntp.\${rack}.example`] } } }));
    assert.equal(part.model.host.time, undefined);
    assert.deepEqual(part.unresolved, ['host.time.servers[0]']);
  });

  test('may be of a document whose node part depends on variables and secrets', async () => {
    const document = await load({
      ...RACK,
      secrets: { key: { file: '/run/secrets/key' } },
      host: {
        hostname: `node-\${rack}`,
        files: [{ path: '/etc/key', contentFrom: { secret: 'key' } }],
        hooks: { early: { commands: ['echo hello'] } },
      },
    });
    assert.deepEqual(imagePart(document).unresolved, []);
  });

  for (const path of [
    '/etc/machine-id',
    '/etc/hostname',
    '/etc/ssh/ssh_host_ed25519_key',
    '/etc/kubernetes/kubelet.conf',
    '/etc/kubernetes/pki/ca.crt',
    '/var/lib/cloud/data/instance-id',
  ]) {
    test(`has no ${path}`, async () => {
      const document = await load({ host: { files: [{ path, content: 'x' }] } });
      assert.throws(() => imagePart(document), refused('InstanceInImage', new RegExp(path)));
    });
  }

  test('has no value of a secret of the document', async () => {
    const document = await load({
      secrets: { password: { value: 'hunter-two-hunter' } },
      host: { files: [{ path: '/etc/app.conf', content: 'password = hunter-two-hunter\n' }] },
    });
    assert.throws(
      () => imagePart(document),
      (error) => {
        refused('SecretInImage', /the file \/etc\/app\.conf/)(error);
        assert.doesNotMatch(String(error), /hunter/);
        return true;
      },
    );
  });

  const key = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAAA\n-----END PRIVATE KEY-----\n';
  for (const [what, host] of [
    ['a private key in a file', { files: [{ path: '/etc/tls.key', content: key }] }],
    ['a bootstrap token in a file', { files: [{ path: '/etc/token', content: 'abcdef.0123456789abcdef' }] }],
    [
      'a token in a drop-in of a service',
      { services: [{ name: 'app', dropIns: [{ name: 'a.conf', content: '[Service]\n# abcdef.0123456789abcdef\n' }] }] },
    ],
  ] as const) {
    test(`has no ${what}`, async () => {
      const document = await load({ host });
      assert.throws(() => imagePart(document), refused('SecretInImage', /holds a secret, or what looks like one/));
    });
  }
});

describe('the host of an image bake', () => {
  test('resolves no secret, wherever it would come from', async () => {
    const host = bakingHost(memoryHost({ files: { '/run/secrets/key': 'hunter-two' } }));
    await assert.rejects(host.secret({ name: 'key', source: { kind: 'file', path: '/run/secrets/key' } }), {
      reason: 'SecretUnavailable',
    });
  });
});
