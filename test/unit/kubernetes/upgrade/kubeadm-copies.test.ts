import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { beginCopies, endCopies, upgradeRemains } from '../../../../src/kubernetes/upgrade/kubeadm-copies.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const COPIES = '/etc/kubernetes/tmp';
const KEPT = '/var/lib/machineadm/upgrade';

describe('copies that kubeadm keeps of an upgrade', () => {
  const copy = (name: string) => ({
    path: `${COPIES}/${name}/etcd.yaml`,
    content: 'x',
    mode: 0o600,
    directoryMode: 0o700,
  });
  const host = memoryHost({ files: { [`${COPIES}/kubeadm-backup-manifests-by-hand/etcd.yaml`]: 'x' } });
  const ours = async () => (await upgradeRemains(host)).map((path) => path.replace(`${COPIES}/`, ''));

  test('before an upgrade none is ours', async () => assert.deepEqual(await ours(), []));

  test('a killed run has left what was not there before', async () => {
    await beginCopies(host);
    await host.writeFile(copy('kubeadm-backup-manifests-1'));
    assert.deepEqual(await ours(), ['kubeadm-backup-manifests-1', KEPT]);
  });

  test('the run after it adds its own; a kubeadm that was run by hand afterwards is not ours', async () => {
    await beginCopies(host);
    await host.writeFile(copy('kubeadm-backup-manifests-2'));
    await endCopies(host);
    await host.writeFile(copy('kubeadm-backup-manifests-3-by-hand'));
    assert.deepEqual(await ours(), ['kubeadm-backup-manifests-1', 'kubeadm-backup-manifests-2', KEPT]);
  });

  test('nor in a later upgrade', async () => {
    await beginCopies(host);
    await host.writeFile(copy('kubeadm-upgraded-manifests-4'));
    await endCopies(host);
    assert.deepEqual(await ours(), [
      'kubeadm-backup-manifests-1',
      'kubeadm-backup-manifests-2',
      'kubeadm-upgraded-manifests-4',
      KEPT,
    ]);
  });
});
