import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import { kubeadmReset } from '../../../../src/features/kubeadm/reset.ts';
import type { StepRecord } from '../../../../src/step/index.ts';
import { fileModel, hostModel } from '../../../support/host-model.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { type MemoryProgram, memoryHost } from '../../../support/memory-host.ts';
import { bench } from '../../../support/step-bench.ts';

const RESET = 'kubeadm-reset/reset';
const NODE: Model = { ...hostModel(), kubernetes: kubernetesModel() };
const modelOf = (role: KubernetesModel['role']): Model => ({ ...NODE, kubernetes: { ...kubernetesModel(), role } });
const FILES = {
  '/etc/kubernetes/kubelet.conf': 'x',
  '/etc/kubernetes/pki/ca.crt': 'x',
  '/etc/kubernetes/manifests/kube-vip.yaml': 'x',
};

/** Deletes what `kubeadm reset` deletes. */
const KUBEADM: MemoryProgram = (_command, host) => {
  for (const path of Object.keys(FILES)) host.take(path);
  return {};
};

function machine(files: Record<string, string> = FILES) {
  return memoryHost({ files, programs: { kubeadm: KUBEADM }, services: { kubelet: { active: true } } });
}

describe('cleaning up before kubeadm', () => {
  test('is nothing for a document without Kubernetes', () => {
    assert.equal(bench(kubeadmReset, machine(), hostModel()).desired, undefined);
  });

  test('is nothing on a fresh machine, on a finished one, and where the owner of the files is unknown', async () => {
    assert.deepEqual(await bench(kubeadmReset, machine({}), NODE).plan(), []);
    assert.deepEqual(await bench(kubeadmReset, machine(), NODE).plan({ bootstrap: 'done' }), []);
    assert.deepEqual(await bench(kubeadmReset, machine(), NODE).plan({ bootstrap: 'none' }), []);
  });

  test('after an attempt of ours resets, once, and voids what hooks and kubeadm had done', async () => {
    const host = machine();
    const step = bench(kubeadmReset, host, modelOf('JoinControlPlane'));
    const [change] = await step.plan({ bootstrap: 'attempted', inventory: [] });
    assert.equal(change?.id, RESET);
    assert.equal(change?.repeatable, false);
    assert.deepEqual(change?.undoes, [
      'kubeadm',
      'kubeadm-config',
      'hooks-before-bootstrap',
      'api-server',
      'readiness',
      'sentinel',
    ]);
    await step.apply({ bootstrap: 'attempted', inventory: [] });
    assert.match(host.log.join('\n'), /run kubeadm reset .*--kubeconfig=\/dev\/null/);
    assert.equal((await host.service('kubelet')).active, false);
    assert.deepEqual(await step.plan({ bootstrap: 'attempted', inventory: [] }), []);
  });

  test('of an unpublished init speaks to no cluster: it is the only member of its etcd', async () => {
    const host = machine();
    const step = bench(kubeadmReset, host, modelOf('InitControlPlane'));
    await step.apply({ bootstrap: 'attempted', inventory: [] });
    assert.match(host.log.join('\n'), /run kubeadm reset .*--kubeconfig=\/dev\/null/);
  });

  test('on a copied disk resets without speaking to the cluster of the original', async () => {
    const host = machine();
    const step = bench(kubeadmReset, host, NODE);
    const [change] = await step.plan({ foreignLeftovers: true, inventory: [] });
    assert.match(change?.summary ?? '', /the machine this disk was copied from/);
    await step.apply({ foreignLeftovers: true, inventory: [] });
    assert.match(host.log.join('\n'), /--kubeconfig=\/dev\/null/);
  });

  test('that was killed runs again, although the files are gone', async () => {
    const interrupted = new Set([RESET]);
    const step = bench(kubeadmReset, machine({}), NODE);
    assert.equal((await step.plan({ bootstrap: 'attempted', inventory: [], interrupted })).length, 1);
    const [foreign] = await step.plan({ bootstrap: 'none', foreignLeftovers: true, inventory: [], interrupted });
    assert.equal(foreign?.payload.offline, true);
    assert.deepEqual(await step.plan({ bootstrap: 'done', interrupted }), []);
  });

  test('names in the plan the files that it removes, and those of before the first attempt that it keeps', async () => {
    const step = bench(kubeadmReset, machine(), NODE);
    const summaryFor = async (record: Partial<StepRecord>) => (await step.plan(record))[0]?.summary ?? '';
    assert.equal(
      await summaryFor({ bootstrap: 'attempted', inventory: [] }),
      'kubeadm reset: remove what an earlier attempt left (/etc/kubernetes/kubelet.conf, /etc/kubernetes/pki/ca.crt)',
    );
    const path = '/etc/kubernetes/pki/ca.crt';
    const inventory = [{ path, type: 'file', size: 1 }] as const;
    assert.equal(
      await summaryFor({ bootstrap: 'attempted', inventory }),
      `reset the node: remove what an earlier attempt left (/etc/kubernetes/kubelet.conf); keep what was there before (${path})`,
    );
  });

  test('does not take files of the document for leftovers', async () => {
    const path = '/etc/kubernetes/pki/ca.crt';
    const model = { ...hostModel({ files: [fileModel(path, '')] }), kubernetes: kubernetesModel() };
    const step = bench(kubeadmReset, machine({ [path]: 'x' }), model);
    assert.deepEqual(await step.plan({ bootstrap: 'attempted', inventory: [] }), []);
  });
});
