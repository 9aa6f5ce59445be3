import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findLeftovers } from '../../../../src/kubernetes/kubeadm/leftovers.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const NOTHING: ReadonlySet<string> = new Set();

/** A control plane whose etcd keeps its data there. */
function withEtcdAt(dataDirectory: string | undefined) {
  const model = kubernetesModel();
  const etcd = { ...model.controlPlane.etcd, kind: 'local', dataDirectory } as typeof model.controlPlane.etcd;
  return { ...model, controlPlane: { ...model.controlPlane, etcd } };
}

describe('what an earlier bootstrap left', () => {
  test('is the member of an etcd in the directory that the document names, and in no other', async () => {
    const host = memoryHost({ files: { '/data/etcd/member': { type: 'directory' } } });
    assert.deepEqual((await findLeftovers(host, withEtcdAt('/data/etcd'), NOTHING)).traces, ['/data/etcd/member']);
    assert.deepEqual((await findLeftovers(host, withEtcdAt(undefined), NOTHING)).traces, []);
  });

  test('is the member of an etcd in its usual directory where the document names none', async () => {
    const host = memoryHost({ files: { '/var/lib/etcd/member': { type: 'directory' } } });
    assert.deepEqual((await findLeftovers(host, withEtcdAt(undefined), NOTHING)).traces, ['/var/lib/etcd/member']);
    assert.deepEqual((await findLeftovers(host, withEtcdAt('/data/etcd'), NOTHING)).traces, []);
  });

  test('is a certificate or a key by its name, and nothing that the document itself writes', async () => {
    const [certificate, key] = ['/etc/kubernetes/pki/ca.crt', '/etc/kubernetes/pki/ca.key'];
    const host = memoryHost({ files: { [certificate]: '', [key]: '', '/etc/kubernetes/manifests/etcd.yaml': '' } });
    const found = await findLeftovers(host, kubernetesModel(), new Set([certificate]));
    assert.deepEqual(found, { traces: ['/etc/kubernetes/manifests/etcd.yaml'], certificates: [key] });
  });
});
