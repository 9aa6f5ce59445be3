import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { MetadataService } from '../../../../src/host/cloud/metadata-service.ts';
import { startServer } from '../../../support/http-servers.ts';
import { startAws, startAzure, startGcp, startOpenStack } from '../../../support/metadata-servers.ts';

describe('the metadata service of', () => {
  test('AWS is queried with a session token, which is fetched once', async () => {
    await using server = await startAws({
      'meta-data/instance-id': 'i-0abc',
      'meta-data/placement/region': 'eu-west-1',
      'dynamic/instance-identity/document': '{}',
    });
    const service = new MetadataService({ address: server.url });
    assert.equal((await service.lookUp('aws', 'instance-id')).value, 'i-0abc');
    assert.equal((await service.lookUp('aws', '/meta-data/placement/region')).value, 'eu-west-1');
    assert.equal((await service.lookUp('aws', 'dynamic/instance-identity/document')).value, '{}');
    assert.equal(server.requests.filter((request) => request.startsWith('PUT')).length, 1);
  });

  test('GCP is queried with its header', async () => {
    await using server = await startGcp({ 'instance/zone': 'projects/1/zones/europe-west1-b' });
    const service = new MetadataService({ address: server.url });
    assert.equal((await service.lookUp('gcp', 'instance/zone')).value, 'projects/1/zones/europe-west1-b');
  });

  test('Azure is queried with its header and a version', async () => {
    await using server = await startAzure({
      compute: { vmId: 'a-b', platformFaultDomain: 2, tagsList: [{ name: 'x' }] },
    });
    const service = new MetadataService({ address: server.url });
    assert.equal((await service.lookUp('azure', 'compute/vmId')).value, 'a-b');
    assert.equal((await service.lookUp('azure', 'compute/platformFaultDomain')).value, '2');
    assert.equal((await service.lookUp('azure', 'compute/tagsList/0/name')).value, 'x');
  });

  test('OpenStack is queried for one JSON file', async () => {
    await using server = await startOpenStack({ uuid: 'u-1', meta: { rack: 'r7', 'with.dot': 'd' } });
    const service = new MetadataService({ address: server.url });
    assert.equal((await service.lookUp('openstack', 'uuid')).value, 'u-1');
    assert.equal((await service.lookUp('openstack', 'meta.rack')).value, 'r7');
    assert.equal((await service.lookUp('openstack', 'meta/with.dot')).value, 'd');
  });
});

describe('a value that a metadata service does not have', () => {
  test('is undefined, with the names that exist at its path', async () => {
    await using aws = await startAws({ 'meta-data/placement/region': 'r', 'meta-data/placement/zone': 'z' });
    assert.deepEqual(await new MetadataService({ address: aws.url }).lookUp('aws', 'placement/rack'), {
      value: undefined,
      known: ['region', 'zone'],
    });
    await using gcp = await startGcp({ 'instance/id': '1', 'instance/zone': 'z' });
    assert.deepEqual((await new MetadataService({ address: gcp.url }).lookUp('gcp', 'instance/rack')).known, [
      'id',
      'zone',
    ]);
    await using azure = await startAzure({ compute: { vmId: '1', zone: '2' } });
    assert.deepEqual((await new MetadataService({ address: azure.url }).lookUp('azure', 'compute/rack')).known, [
      'vmId',
      'zone',
    ]);
    await using openstack = await startOpenStack({ uuid: 'u', meta: { rack: 'r' } });
    const service = new MetadataService({ address: openstack.url });
    assert.deepEqual((await service.lookUp('openstack', 'rack')).known, ['uuid', 'meta']);
    assert.deepEqual((await service.lookUp('openstack', 'meta')).known, ['meta/rack'], 'a map has no value');
  });
});

describe('a metadata service', () => {
  test('that hangs ends in its time: MetadataUnavailable', async () => {
    await using server = await startServer(() => 'silence');
    const service = new MetadataService({ address: server.url, totalMs: 300 });
    await assert.rejects(service.lookUp('aws', 'instance-id'), { reason: 'MetadataUnavailable', retryable: true });
  });

  test('that is not there, or refuses: MetadataUnavailable', async () => {
    // The first connection of a busy machine takes a while.
    const nothing = new MetadataService({ address: 'http://127.0.0.1:1', totalMs: 2000 });
    await assert.rejects(nothing.lookUp('gcp', 'instance/id'), {
      reason: 'MetadataUnavailable',
      message: /ECONNREFUSED/,
    });
    await using server = await startServer(() => ({ status: 403 }));
    const refusing = new MetadataService({ address: server.url });
    await assert.rejects(refusing.lookUp('aws', 'instance-id'), { reason: 'MetadataUnavailable', message: /HTTP 403/ });
    assert.equal(server.requests.length, 1, 'a refusal is not asked about again');
  });

  test('that throttles or starts is retried', async () => {
    let asked = 0;
    await using server = await startServer(() => {
      asked += 1;
      return asked === 1 ? { status: 503 } : asked === 2 ? { status: 429 } : { body: '{"uuid":"u"}' };
    });
    const service = new MetadataService({ address: server.url });
    assert.equal((await service.lookUp('openstack', 'uuid')).value, 'u');
  });

  test('that answers nonsense: MetadataUnavailable', async () => {
    await using server = await startServer(() => ({ body: '<html>' }));
    const service = new MetadataService({ address: server.url });
    await assert.rejects(service.lookUp('openstack', 'uuid'), { reason: 'MetadataUnavailable', message: /not JSON/ });
  });
});

describe('a token of the machine', () => {
  const answer = (token: string) => JSON.stringify({ access_token: token, expires_in: 3599, token_type: 'Bearer' });

  test("of GCP is that of the machine's service account, or of another it has", async () => {
    const account = 'nodes@my-project.iam.gserviceaccount.com';
    await using server = await startGcp({
      'instance/service-accounts/default/token': answer('of-default'),
      [`instance/service-accounts/${account}/token`]: answer('of-nodes'),
    });
    const service = new MetadataService({ address: server.url });
    assert.equal((await service.identityToken('gcp')).reveal(), 'of-default');
    assert.equal((await service.identityToken('gcp', { account })).reveal(), 'of-nodes');
  });

  test('of Azure is one for an audience, of the identity that is named', async () => {
    const tokens = (who: string) => ({ 'https://storage.azure.com/': `${who}-storage` });
    await using server = await startAzure({}, [
      { tokens: tokens('system') },
      { clientId: 'c-1', tokens: tokens('user') },
    ]);
    const service = new MetadataService({ address: server.url });
    const audience = 'https://storage.azure.com/';
    assert.equal((await service.identityToken('azure', { audience })).reveal(), 'system-storage');
    assert.equal((await service.identityToken('azure', { audience, account: 'c-1' })).reveal(), 'user-storage');
  });

  test('is a secret from then on: it is removed from all text', async () => {
    await using server = await startGcp({ 'instance/service-accounts/default/token': answer('ya29.never-to-be-seen') });
    const token = await new MetadataService({ address: server.url }).identityToken('gcp');
    assert.equal(`${token}`, '[redacted]');
    assert.equal(redact('Bearer ya29.never-to-be-seen'), 'Bearer [redacted]');
  });

  test('that the machine does not have is reported as such', async () => {
    await using gcp = await startGcp({});
    await assert.rejects(new MetadataService({ address: gcp.url }).identityToken('gcp'), {
      reason: 'MetadataUnavailable',
      message: 'the metadata service of gcp does not return a token: this machine has no such identity',
    });
    await using azure = await startAzure({});
    await assert.rejects(new MetadataService({ address: azure.url }).identityToken('azure', { audience: 'a' }), {
      reason: 'MetadataUnavailable',
      message: /azure does not return a token: it answers HTTP 400/,
    });
  });

  test('is requested again while Azure updates its service (HTTP 410)', async () => {
    let asked = 0;
    await using server = await startServer(() => {
      asked += 1;
      return asked === 1 ? { status: 410 } : { body: answer('at-last') };
    });
    const token = await new MetadataService({ address: server.url }).identityToken('azure', { audience: 'a' });
    assert.equal(token.reveal(), 'at-last');
  });

  test('is awaited no longer than the caller allows', { timeout: 120_000 }, async () => {
    const stop = new AbortController();
    await using server = await startServer(() => {
      stop.abort();
      return 'silence';
    });
    const service = new MetadataService({ address: server.url, totalMs: 3_600_000 });
    await assert.rejects(service.identityToken('gcp', { until: stop.signal }));
  });
});
