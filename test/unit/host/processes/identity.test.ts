import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readProcess } from '../../../../src/host/linux/processes.ts';
import {
  bootId,
  cloudInstanceId,
  isProcessAlive,
  machineId,
  ownProcess,
  selfCommand,
  sinceBootMs,
} from '../../../../src/host/processes/identity.ts';
import { waitUntil } from '../../../support/wait-until.ts';

describe('the identity of a process', () => {
  test('includes its start time: this process is alive; the same pid with another start is not', async () => {
    const own = ownProcess();
    assert.equal(own.pid, process.pid);
    assert.equal(await isProcessAlive(own), true);
    assert.equal(await isProcessAlive({ ...own, startTicks: own.startTicks - 1 }), false);
  });

  test('shows a process that ended as not alive, not even as a zombie', async () => {
    // The shell becomes sleep, which never waits for the child that the shell has started.
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const pid = await new Promise<number>((resolve) => parent.stdout.once('data', (text) => resolve(Number(text))));
      const running = (await readProcess(pid)) ?? assert.fail('not found');
      assert.equal(await isProcessAlive(running), true);
      process.kill(pid, 'SIGKILL');
      await waitUntil(async () => (await readProcess(pid))?.state === 'Z', 'it becomes a zombie');
      assert.equal(await isProcessAlive(running), false);
    } finally {
      parent.kill('SIGKILL');
    }
  });
});

describe('the clock since boot', () => {
  test('agrees with /proc/uptime and goes forward', async () => {
    const first = sinceBootMs();
    const uptimeMs = Number((await readFile('/proc/uptime', 'utf8')).split(' ')[0]) * 1000;
    const last = sinceBootMs();
    // The kernel cuts off at hundredths of a second, here and where the clock was set: each may be 10 ms behind.
    assert.ok(first - 11 <= uptimeMs && uptimeMs <= last + 11, `${first}, ${uptimeMs}, ${last}`);
    await waitUntil(() => sinceBootMs() > last, 'it goes forward');
  });
});

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

  test('the agent is started again by Node and an absolute path, outside the binary', () => {
    assert.deepEqual(selfCommand(), [process.execPath, resolve(process.argv[1] ?? '')]);
  });
});
