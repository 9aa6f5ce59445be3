import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { instanceResidue } from '../../../../src/commands/prepare/verify-image.ts';
import { type MemoryFile, memoryHost } from '../../../support/memory-host.ts';

const SENTINEL = '/run/cluster-api/bootstrap-success.complete';

async function found(files: Readonly<Record<string, string | MemoryFile>>, runIsOn: 'tmpfs' | 'overlay' = 'tmpfs') {
  const host = memoryHost({ files, programs: { findmnt: () => ({ stdout: `${runIsOn}\n` }) } });
  const findings = await instanceResidue(host, SENTINEL);
  for (const { text, remedy, severity } of findings)
    assert.ok(text !== '' && remedy !== undefined && severity === 'failed');
  assert.deepEqual(host.log, []);
  return findings.map(({ id }) => id);
}

describe('an image', () => {
  for (const [what, files] of [
    ['without a machine-id', {}],
    ['with an empty machine-id', { '/etc/machine-id': '' }],
    ['with an uninitialized machine-id', { '/etc/machine-id': 'uninitialized\n' }],
    ['with the manifest of its bake', { '/var/lib/machineadm/prepared.json': '{}' }],
    ["with public parts of sshd's configuration", { '/etc/ssh/sshd_config': '', '/etc/ssh/moduli': '' }],
    ['whose D-Bus id is a link', { '/var/lib/dbus/machine-id': { type: 'symlink' as const } }],
    ['with empty directories of Kubernetes', { '/etc/kubernetes/manifests': { type: 'directory' as const } }],
  ] as const) {
    test(`${what} is clean`, async () => assert.deepEqual(await found(files), []));
  }

  for (const path of [
    '/etc/machine-id',
    '/var/lib/machineadm/journal',
    '/var/lib/machineadm/journal.0123',
    '/var/lib/machineadm/status.json',
    '/var/lib/machineadm/summary.json',
    '/var/lib/machineadm/hooks/every-boot.json',
    '/var/lib/machineadm/upgrade/etcd-snapshot.db',
    '/etc/kubernetes/tmp/kubeadm-backup-etcd-2026-11-28-17-00-00',
    '/etc/machineadm/bootstrap.yaml',
    '/etc/kubernetes/kubelet.conf',
    '/etc/kubernetes/admin.conf',
    '/etc/kubernetes/manifests/etcd.yaml',
    '/etc/kubernetes/pki/ca.key',
    '/var/lib/etcd/member',
    '/etc/ssh/ssh_host_rsa_key',
    '/var/lib/dbus/machine-id',
    '/var/lib/systemd/random-seed',
    '/var/lib/cloud/instances/i-1',
    '/var/lib/cloud/data/instance-id',
  ]) {
    test(`with ${path} is not`, async () => assert.deepEqual(await found({ [path]: '0123456789abcdef' }), [path]));
  }

  test('includes /run only where that is on the disk', async () => {
    const files = { [SENTINEL]: 'success\n', '/run/machineadm/status.json': '{}' };
    assert.deepEqual(await found(files, 'tmpfs'), []);
    assert.deepEqual(await found(files, 'overlay'), [SENTINEL, '/run/machineadm']);
  });
});
