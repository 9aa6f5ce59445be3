import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hostname } from '../../../../src/features/hostname/index.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { errno, type MemoryHost, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const RUNNING = '/proc/sys/kernel/hostname';
const CLOUD = '/etc/cloud/cloud.cfg.d/99-machineadm-hostname.cfg';
const named = hostModel({ hostname: 'cp-0' });
const withoutSystemd = { facts: facts({ serviceManager: 'none' }) };

describe('hostname', () => {
  test('is set for now and for the next boot, and a second run changes nothing', async () => {
    const host = memoryHost({ files: { '/etc/hostname': 'localhost\n' }, kernelFiles: { [RUNNING]: 'localhost\n' } });
    const run = await runStep(hostname, host, named, withoutSystemd);
    assert.deepEqual(
      run.changes.map(({ id, scope }) => [id, scope]),
      [
        ['hostname/file', 'node'],
        ['hostname/running', 'node'],
      ],
    );
    assert.equal(host.text('/etc/hostname'), 'cp-0\n');
    assert.equal(host.text(RUNNING), 'cp-0');
    assert.deepEqual(run.left, []);
    assert.deepEqual(await planned(hostname, host, named, withoutSystemd), []);
  });

  test('is never part of an image', async () => {
    const host = memoryHost({ kernelFiles: { [RUNNING]: 'builder\n' } });
    assert.deepEqual(await planned(hostname, host, named, { scope: 'base' }), []);
  });

  test('goes through hostnamectl where there is systemd, so that its listeners hear of it', async () => {
    const host: MemoryHost = memoryHost({
      kernelFiles: { [RUNNING]: 'old\n' },
      programs: {
        hostnamectl: async ({ args }) => {
          await host.writeKernelFile(RUNNING, args.at(-1) ?? '');
          return {};
        },
      },
    });
    await runStep(hostname, host, named);
    assert.ok(host.log.includes('run hostnamectl --no-ask-password set-hostname cp-0'));
  });

  test('goes to the kernel where hostnamectl has no bus yet', async () => {
    const hostnamectl = () => ({ status: 1, stderr: 'Failed to connect to bus' });
    const host = memoryHost({ kernelFiles: { [RUNNING]: 'old\n' }, programs: { hostnamectl } });
    const run = await runStep(hostname, host, named);
    assert.equal(host.text(RUNNING), 'cp-0');
    assert.deepEqual(run.left, []);
  });

  test('is kept from cloud-init, whose modules would put the name of the metadata back at every boot', async () => {
    const host = memoryHost({
      files: { '/etc/cloud': { type: 'directory' }, '/etc/hostname': 'cp-0\n' },
      kernelFiles: { [RUNNING]: 'cp-0\n' },
    });
    const run = await runStep(hostname, host, named);
    assert.deepEqual(
      run.changes.map(({ id }) => id),
      ['hostname/cloud-init'],
    );
    assert.match(host.text(CLOUD) ?? '', /^preserve_hostname: true$/m);
    assert.deepEqual(run.left, []);
  });

  test('a comment in /etc/hostname is not a name', async () => {
    const host = memoryHost({ files: { '/etc/hostname': '# node\ncp-0\n' }, kernelFiles: { [RUNNING]: 'cp-0\n' } });
    assert.deepEqual(await planned(hostname, host, named), []);
  });

  test('a kernel that refuses the name is HostnameNotEffective', async () => {
    const write = (): string => {
      throw errno('EPERM');
    };
    const host = memoryHost({ kernelFiles: { [RUNNING]: { value: 'old\n', write } } });
    await assert.rejects(runStep(hostname, host, named, withoutSystemd), { reason: 'HostnameNotEffective' });
  });

  test('a name that does not hold is HostnameNotEffective', async () => {
    const host = memoryHost({ kernelFiles: { [RUNNING]: { value: 'old\n', write: () => 'old\n' } } });
    await assert.rejects(runStep(hostname, host, named, withoutSystemd), { reason: 'HostnameNotEffective' });
  });
});
