import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { findPatches } from '../../../../src/kubernetes/api-server/render-manifest.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';

test('the patches of the API server are in a directory that only root can enter', async () => {
  const host = memoryHost({
    files: { '/etc/patches/kube-apiserver.yaml': 'metadata: {}\n', '/etc/patches/etcd.yaml': '' },
  });
  const kubernetes = kubernetesModel({ kubeadm: { patchesDirectory: '/etc/patches' } });
  const version = parseVersion('v1.31.0');
  assert.ok(version !== undefined);
  assert.equal(await findPatches(host, kubernetes, version), '/patches');
  assert.equal(host.text('/run/machineadm/api-server/patches/kube-apiserver.yaml'), 'metadata: {}\n');
  assert.equal((await host.stat('/run/machineadm/api-server'))?.mode, 0o700);
});
