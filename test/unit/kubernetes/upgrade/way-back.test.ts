import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { keepState, readState } from '../../../../src/kubernetes/upgrade/kept-state.ts';
import { goBack, hasReplacedAll, restoreMissing } from '../../../../src/kubernetes/upgrade/way-back.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const MANIFESTS = '/etc/kubernetes/manifests';
const STATE = '/var/lib/machineadm/upgrade/state.json';

function manifest(component: string, version: string): string {
  return `spec: {containers: [{image: registry.k8s.io/${component}:${version}, command: [${component}]}]}\n`;
}

function machine() {
  return memoryHost({
    files: {
      [`${MANIFESTS}/etcd.yaml`]: { content: manifest('etcd', '3.6.4-0'), mode: 0o600 },
      [`${MANIFESTS}/kube-apiserver.yaml`]: { content: manifest('kube-apiserver', 'v1.35.2'), mode: 0o600 },
      [`${MANIFESTS}/kube-controller-manager.yaml`]: {
        content: manifest('kube-controller-manager', 'v1.35.2'),
        mode: 0o600,
      },
      [`${MANIFESTS}/kube-scheduler.yaml`]: { content: manifest('kube-scheduler', 'v1.35.2'), mode: 0o600 },
      '/var/lib/kubelet/config.yaml': 'kind: KubeletConfiguration\n',
      '/usr/bin/kubelet': { content: 'kubelet 1.35.2', mode: 0o755 },
      '/usr/bin/kubeadm': { content: 'kubeadm 1.35.2', mode: 0o755 },
    },
    programs: { kubelet: () => ({}), kubeadm: () => ({}) },
  });
}

const nothingOurs = () => false;

describe('the state before an upgrade', () => {
  test('is as it was after files were changed, removed and added', async () => {
    const host = machine();
    const before = host.snapshot().filter((line) => !line.includes('machineadm'));
    const kept = await keepState(host);
    host.put(`${MANIFESTS}/kube-apiserver.yaml`, { content: manifest('kube-apiserver', 'v1.36.0'), mode: 0o600 });
    host.take(`${MANIFESTS}/kube-controller-manager.yaml`);
    host.put('/var/lib/kubelet/config.yaml', 'kind: KubeletConfiguration\nnew: true\n');
    host.put('/var/lib/kubelet/instance-config.yaml', 'new');
    const { left, restartsKubelet } = await goBack(host, kept, nothingOurs);
    assert.deepEqual(left, []);
    assert.equal(restartsKubelet, true);
    assert.deepEqual(
      host.snapshot().filter((line) => !line.includes('machineadm')),
      before,
    );
  });

  test('puts back only what is missing after a kill in the middle of kubeadm', async () => {
    const host = machine();
    const kept = await keepState(host);
    host.put(`${MANIFESTS}/etcd.yaml`, { content: manifest('etcd', '3.6.13-0'), mode: 0o600 });
    host.take(`${MANIFESTS}/kube-apiserver.yaml`);
    assert.deepEqual(await restoreMissing(host, kept), [`${MANIFESTS}/kube-apiserver.yaml`]);
    assert.match(host.text(`${MANIFESTS}/etcd.yaml`) ?? '', /3\.6\.13/);
    assert.match(host.text(`${MANIFESTS}/kube-apiserver.yaml`) ?? '', /v1\.35\.2/);
  });

  test('never takes etcd back to an older version', async () => {
    const host = machine();
    const kept = await keepState(host);
    host.put(`${MANIFESTS}/etcd.yaml`, { content: manifest('etcd', '3.6.13-0'), mode: 0o600 });
    const { left } = await goBack(host, kept, nothingOurs);
    assert.match(left.join(), /etcd keeps its new version, registry\.k8s\.io\/etcd:3\.6\.13-0/);
    assert.match(host.text(`${MANIFESTS}/etcd.yaml`) ?? '', /3\.6\.13/);
  });

  test('puts back programs that machineadm replaced, and names those of others', async () => {
    for (const isOurs of [true, false]) {
      const host = machine();
      const kept = await keepState(host);
      host.put('/usr/bin/kubelet', { content: 'kubelet 1.36.0', mode: 0o755 });
      const { left } = await goBack(host, kept, () => isOurs);
      assert.equal(host.text('/usr/bin/kubelet'), isOurs ? 'kubelet 1.35.2' : 'kubelet 1.36.0');
      assert.match(left.join(), isOurs ? /^$/ : /\/usr\/bin\/kubelet is the new one/);
    }
  });

  test('that is damaged is reported, not believed', async () => {
    const host = machine();
    await keepState(host);
    host.put(STATE, (host.text(STATE) ?? '').replace('KubeletConfiguration', 'KubeletConfiguratiom'));
    await assert.rejects(readState(host), { reason: 'HostStepFailed', message: /state\.json.* is damaged/ });
    host.take(STATE);
    await assert.rejects(readState(host), { reason: 'HostStepFailed', message: /state\.json.* is missing/ });
  });
});

test('there is no way back once the last static pod is replaced', async () => {
  const host = machine();
  assert.equal(await hasReplacedAll(host, 'v1.36.0'), false);
  host.put(`${MANIFESTS}/kube-scheduler.yaml`, manifest('kube-scheduler', 'v1.36.0'));
  assert.equal(await hasReplacedAll(host, 'v1.36.0'), true);
});
