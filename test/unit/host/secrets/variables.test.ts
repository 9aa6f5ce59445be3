import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { MetadataService } from '../../../../src/host/cloud/metadata-service.ts';
import { environmentFile, variableResolver } from '../../../../src/host/secrets/variables.ts';
import { startAws } from '../../../support/metadata-servers.ts';

/** As cloud-init 22.4 of Debian writes it for root. */
const INSTANCE_DATA = {
  base64_encoded_keys: [],
  ds: { _doc: 'EXPERIMENTAL', meta_data: { 'instance-id': 'i-1', rack: 'r7', 'local-hostname': 'node-1' } },
  sensitive_keys: ['merged_cfg'],
  v1: {
    instance_id: 'i-1',
    local_hostname: 'node-1',
    region: null,
    cloud_name: 'nocloud',
    public_ssh_keys: [],
    'cloud-name': 'nocloud',
  },
  count: 3,
  secure: true,
};

let directory: string;
const path = (name: string): string => join(directory, name);
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'machineadm-variables-'));
  await writeFile(path('sensitive.json'), JSON.stringify(INSTANCE_DATA));
  await writeFile(
    path('public.json'),
    JSON.stringify({ ds: 'redacted for non-root user', v1: { instance_id: 'public' } }),
  );
});
after(() => rm(directory, { recursive: true }));

describe("a variable from cloud-init's instance data", () => {
  const find = (name: string, ...files: string[]) =>
    variableResolver({ instanceData: files.map(path) })('x', { kind: 'instanceData', path: name });

  test('on Windows is the name of the machine, which cloudbase-init gave it, and nothing else', async () => {
    const onWindows = variableResolver({ windowsHostName: 'PROD-E-0' });
    for (const path of [
      'ds.meta_data.local_hostname',
      'ds.meta_data.hostname',
      'v1.local_hostname',
      'local_hostname',
    ]) {
      assert.equal((await onWindows('x', { kind: 'instanceData', path })).value, 'prod-e-0', path);
    }
    const { value, known } = await onWindows('x', { kind: 'instanceData', path: 'ds.meta_data.rack' });
    assert.equal(value, undefined);
    assert.deepEqual(known, ['ds.meta_data.hostname', 'ds.meta_data.local_hostname']);
  });

  for (const [name, value] of [
    ['ds.meta_data.rack', 'r7'],
    ['v1.local_hostname', 'node-1'],
    ['local_hostname', 'node-1'],
    ['local-hostname', 'node-1'],
    ['ds.meta-data.local_hostname', 'node-1'],
    ['ds.meta_data.instance_id', 'i-1'],
    ['count', '3'],
    ['secure', 'true'],
  ] as const) {
    test(`${name} is ${value}`, async () => {
      assert.equal((await find(name, 'sensitive.json', 'public.json')).value, value);
    });
  }

  test('that does not exist is reported with the names at which the path ended', async () => {
    const { value, known } = await find('ds.meta_data.row', 'sensitive.json');
    assert.equal(value, undefined);
    assert.deepEqual(known, ['ds.meta_data.instance-id', 'ds.meta_data.rack', 'ds.meta_data.local-hostname']);
    assert.deepEqual((await find('nonesuch', 'sensitive.json')).known?.slice(0, 2), ['base64_encoded_keys', 'ds']);
  });

  test('that is a map, a list, null or redacted has no value', async () => {
    for (const name of ['ds.meta_data', 'v1.public_ssh_keys', 'v1.region', 'constructor', 'v1.__proto__']) {
      assert.equal((await find(name, 'sensitive.json')).value, undefined, name);
    }
    assert.equal((await find('ds', 'public.json')).value, undefined);
  });

  test('is read from the public instance data where that of root does not exist', async () => {
    assert.equal((await find('instance_id', 'nonesuch.json', 'public.json')).value, 'public');
    assert.deepEqual(await find('instance_id', 'nonesuch.json'), { value: undefined, known: [] });
  });
});

describe('a variable', () => {
  test('from the environment', async () => {
    const resolve = variableResolver({ env: { RACK: 'r7', A: 'b' } });
    assert.equal((await resolve('x', { kind: 'env', variable: 'RACK' })).value, 'r7');
    assert.deepEqual(await resolve('x', { kind: 'env', variable: 'ROW' }), { value: undefined, known: ['A', 'RACK'] });
  });

  test('from a file, without one trailing newline', async () => {
    await writeFile(path('rack'), 'r7\n');
    const resolve = variableResolver();
    assert.equal((await resolve('x', { kind: 'file', path: path('rack') })).value, 'r7');
    assert.equal((await resolve('x', { kind: 'file', path: path('row') })).value, undefined);
    await assert.rejects(resolve('x', { kind: 'file', path: directory }), { reason: 'HostStepFailed', code: 'EISDIR' });
  });

  test('from an environment file, as afterburn writes it', async () => {
    await writeFile(path('afterburn'), 'AFTERBURN_AWS_REGION=eu-west-1\nAFTERBURN_AWS_INSTANCE_ID=i-1\n');
    const resolve = variableResolver();
    const source = { kind: 'envFile', path: path('afterburn') } as const;
    assert.equal((await resolve('x', { ...source, key: 'AFTERBURN_AWS_REGION' })).value, 'eu-west-1');
    assert.deepEqual(await resolve('x', { ...source, key: 'COREOS_EC2_HOSTNAME' }), {
      value: undefined,
      known: ['AFTERBURN_AWS_REGION', 'AFTERBURN_AWS_INSTANCE_ID'],
    });
    assert.deepEqual(await resolve('x', { ...source, path: path('nothing'), key: 'A' }), {
      value: undefined,
      known: [],
    });
  });

  test('from a metadata service', async () => {
    await using server = await startAws({ 'meta-data/instance-id': 'i-0abc' });
    const resolve = variableResolver({ metadata: new MetadataService({ address: server.url }) });
    assert.equal((await resolve('x', { kind: 'metadata', provider: 'aws', path: 'instance-id' })).value, 'i-0abc');
  });
});

describe('an environment file', () => {
  test('is read as systemd reads it', () => {
    const text = [
      '# comment',
      '; comment',
      '',
      ' A = no assignment',
      'PLAIN=a b ',
      'SINGLE=\'a "b" \\c\'',
      'DOUBLE="a \\"b\\" c"',
      'JOINED=a\\',
      'b',
      'TWICE=1',
      'TWICE=2',
      'EMPTY=',
    ].join('\n');
    assert.deepEqual(Object.fromEntries(environmentFile(text)), {
      PLAIN: 'a b',
      SINGLE: 'a "b" \\c',
      DOUBLE: 'a "b" c',
      JOINED: 'ab',
      TWICE: '2',
      EMPTY: '',
    });
  });
});
