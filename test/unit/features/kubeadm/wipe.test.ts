import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removeKubeadmConfig, wipeKubeadmConfig } from '../../../../src/features/kubeadm/wipe.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const FILES = {
  '/run/kubeadm/kubeadm.yaml': 'token',
  '/run/kubeadm/patches/etcd000+strategic.yaml': 'a: b',
  '/run/kubeadm/patches/kubeletconfiguration0machineadm+strategic.yaml': 'a: b',
};
const ofHook = { '/run/kubeadm/patches/etcd-mine.yaml': 'a: b' };
const warn = (message: string): never => assert.fail(message);

test('a successful run removes the configuration, and a reset our patches and what is empty then, too', async () => {
  const host = memoryHost({ files: FILES });
  await wipeKubeadmConfig(host, warn);
  assert.deepEqual(
    await host.list('/run/kubeadm/patches'),
    Object.keys(FILES)
      .slice(1)
      .map((path) => path.slice(21)),
  );
  assert.equal(await host.stat('/run/kubeadm/kubeadm.yaml'), undefined);
  await removeKubeadmConfig(host, warn);
  assert.equal(await host.stat('/run/kubeadm/patches/etcd000+strategic.yaml'), undefined);
  assert.equal(await host.stat('/run/kubeadm/patches'), undefined);
  await removeKubeadmConfig(host, warn);
});

test('a reset leaves the patches of hooks', async () => {
  const host = memoryHost({ files: { ...FILES, ...ofHook } });
  await removeKubeadmConfig(host, warn);
  assert.deepEqual(await host.list('/run/kubeadm/patches'), ['etcd-mine.yaml']);
});
