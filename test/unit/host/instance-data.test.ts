import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { instanceDataPaths, lookUpInstanceData } from '../../../src/host/cloud/instance-data.ts';

describe('the paths of instance data', () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-instance-data-'));
  after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'instance-data.json');
  const data = {
    v1: { region: 'eu-1', subplatform: 3, 'availability-zone': 'a' },
    ds: { meta_data: { keys: ['one'], secret: 'redacted for non-root user', 'a.b': 'x', spot: false, none: null } },
  };
  writeFileSync(file, JSON.stringify(data));

  test('are those that have a value for a variable', async () => {
    const paths = await instanceDataPaths([join(directory, 'absent.json'), file]);
    assert.deepEqual(paths, ['ds.meta_data.spot', 'v1.availability-zone', 'v1.region', 'v1.subplatform']);
    for (const path of paths) assert.notEqual((await lookUpInstanceData(path, [file])).value, undefined, path);
  });

  test('are none without cloud-init, or where its file is cut off', async () => {
    assert.deepEqual(await instanceDataPaths([join(directory, 'absent.json')]), []);
    writeFileSync(join(directory, 'cut.json'), '{"v1": {"region"');
    assert.deepEqual(await instanceDataPaths([join(directory, 'cut.json')]), []);
  });
});
