import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model, Role } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { parse } from 'yaml';
import { staticPods } from '../../../../src/features/static-pods/index.ts';
import { hostModel } from '../../../support/host-model.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { bench } from '../../../support/step-bench.ts';

const PATH = '/etc/kubernetes/manifests/kube-vip.yaml';
const MANIFEST = `# a virtual address
apiVersion: v1
kind: Pod
metadata: {name: kube-vip, namespace: kube-system}
spec:
  containers:
  - name: kube-vip
    image: ghcr.io/kube-vip/kube-vip:v0.8.0
    volumeMounts: [{mountPath: /etc/kubernetes/admin.conf, name: kubeconfig}]
  volumes:
  - hostPath: {path: /etc/hosts}
    name: hosts
  - name: kubeconfig
    hostPath: {path: /etc/kubernetes/admin.conf}
`;

function machine(role: Role = 'InitControlPlane', adminKubeconfig: 'Auto' | 'AsWritten' = 'Auto'): Model {
  const pods = [{ name: 'kube-vip', manifest: MANIFEST, adminKubeconfig }];
  const { controlPlane } = kubernetesModel();
  const kubernetes = kubernetesModel({ role, controlPlane: { ...controlPlane, staticPods: pods } });
  return { ...hostModel(), kubernetes };
}

async function written(model: Model, kubeadm: string): Promise<string> {
  const host = memoryHost();
  await bench(staticPods, host, model, { kubeadm: parseVersion(kubeadm) }).apply();
  return host.text(PATH) ?? '';
}

describe('a static pod of the document', () => {
  test('is written for the kubelet alone, before kubeadm, and then nothing is left to do', async () => {
    const host = memoryHost();
    const step = bench(staticPods, host, machine());
    await step.apply();
    assert.deepEqual(host.log, [`write ${PATH} 0600 0:0`]);
    assert.deepEqual(await step.plan(), []);
  });

  test('gets super-admin.conf where admin.conf has no rights yet: kubeadm init since 1.29', async () => {
    const text = await written(machine(), 'v1.29.0');
    const { spec } = parse(text);
    assert.equal(spec.volumes[1].hostPath.path, '/etc/kubernetes/super-admin.conf');
    assert.equal(spec.volumes[0].hostPath.path, '/etc/hosts');
    assert.equal(spec.containers[0].volumeMounts[0].mountPath, '/etc/kubernetes/admin.conf');
    assert.match(text, /# a virtual address/);
  });

  test('is written byte for byte everywhere else', async () => {
    assert.equal(await written(machine(), 'v1.28.9'), MANIFEST);
    assert.equal(await written(machine('JoinControlPlane'), 'v1.31.0'), MANIFEST);
    assert.equal(await written(machine('InitControlPlane', 'AsWritten'), 'v1.31.0'), MANIFEST);
  });

  test('is written again after a reset removed it, and corrected where it differs', async () => {
    const [again] = await bench(staticPods, memoryHost(), machine()).plan({ bootstrap: 'attempted' });
    assert.equal(again?.summary, `${PATH}: create`);
    const host = memoryHost({ files: { [PATH]: 'of another document' } });
    const [change] = await bench(staticPods, host, machine()).plan();
    assert.equal(change?.summary, `${PATH}: another content`);
  });

  test('keeps the change of a hook', async () => {
    const host = memoryHost();
    const step = bench(staticPods, host, machine());
    const { notes } = await step.apply();
    host.put(PATH, 'edited');
    assert.deepEqual(await step.plan({ notes: new Map([[`static-pods/${PATH}`, notes[0]]]) }), []);
  });

  test("is the cluster's own after the bootstrap", async () => {
    assert.deepEqual(await bench(staticPods, memoryHost(), machine()).plan({ bootstrap: 'done' }), []);
  });
});
