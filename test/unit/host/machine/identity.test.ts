import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { bootId, cloudInstanceId, machineId } from '../../../../src/host/machine/identity.ts';

describe('who this machine is', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'machineadm-identity-'));
  });
  after(() => rm(directory, { recursive: true }));
  const filesOf = async (data: string | undefined, id: string | undefined) => {
    const files = { instanceData: join(directory, 'instance-data.json'), instanceId: join(directory, 'instance-id') };
    await rm(files.instanceData, { force: true });
    await rm(files.instanceId, { force: true });
    if (data !== undefined) await writeFile(files.instanceData, data);
    if (id !== undefined) await writeFile(files.instanceId, id);
    return files;
  };

  test('machine id and boot id have their form', async () => {
    assert.match(await machineId(), /^([0-9a-f]{32})?$/);
    assert.match(await bootId(), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  test('the instance id of this boot comes before the one on the disk, which may be of the image', async () => {
    const data = JSON.stringify({ v1: { instance_id: 'i-now', region: 'r' } });
    assert.equal(await cloudInstanceId(await filesOf(data, 'i-then\n')), 'i-now');
    assert.equal(await cloudInstanceId(await filesOf(undefined, 'i-then\n')), 'i-then');
  });

  test('damaged or foreign instance data is ignored', async () => {
    for (const data of ['{"v1"', '[]', 'null', '{"v1": {"instance_id": 5}}', '{"v1": null}', '{}']) {
      assert.equal(await cloudInstanceId(await filesOf(data, 'i-disk')), 'i-disk', data);
    }
  });

  test('without cloud-init, or with none of its data sources, there is no id', async () => {
    assert.equal(await cloudInstanceId(await filesOf(undefined, undefined)), undefined);
    assert.equal(await cloudInstanceId(await filesOf(undefined, 'iid-datasource-none\n')), undefined);
    assert.equal(await cloudInstanceId(await filesOf(undefined, '\n')), undefined);
  });
});
