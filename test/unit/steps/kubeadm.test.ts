import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '../../../src/document/model.ts';
import { parseVersion } from '../../../src/host/version.ts';
import { kubeadm } from '../../../src/steps/kubeadm.ts';
import { kubeconfig, newAuthority, nodeObject, startApiServer } from '../../support/api-server.ts';
import { hostModel } from '../../support/host-model.ts';
import { startJoinableCluster } from '../../support/joinable-cluster.ts';
import { inlineSecret, type KubernetesOverrides, kubernetesModel } from '../../support/kubernetes-model.ts';
import { type MemoryMachine, type MemoryProgram, memoryHost } from '../../support/memory-host.ts';
import { bench, told } from '../../support/step-bench.ts';

const KUBELET_CONF = '/etc/kubernetes/kubelet.conf';
const INIT = '/run/kubeadm/kubeadm.yaml';
const DONE = 'Your Kubernetes control-plane has initialized successfully!\n';
const authority = newAuthority();

function node(overrides: KubernetesOverrides = {}): Model {
  return { ...hostModel(), kubernetes: kubernetesModel(overrides) };
}

const WORKER = node({
  role: 'Worker',
  join: {
    discovery: {
      token: inlineSecret('abcdef.0123456789abcdef'),
      endpoint: '10.0.0.1:6443',
      caCertHashes: [],
      unsafeSkipCAVerification: true,
    },
    tlsBootstrapToken: undefined,
    caCertPath: '/etc/kubernetes/pki/ca.crt',
  },
});

/** A machine whose kubelet is enabled and whose kubeadm does this. */
function machine(program: MemoryProgram = () => ({ stdout: DONE }), more: MemoryMachine = {}) {
  return memoryHost({
    programs: { kubeadm: program },
    services: { kubelet: { enabled: true } },
    ...more,
    files: { [INIT]: 'kind: InitConfiguration\n', ...more.files },
  });
}

describe('before anything is changed', () => {
  const missing = async (model: Model, programs: Parameters<typeof bench>[3], host = machine()) =>
    (await bench(kubeadm, host, model, programs).preflight()).map(({ reason }) => reason);

  test('a complete machine lacks nothing', async () => {
    assert.deepEqual(await missing(node(), {}), []);
  });

  test('kubeadm and the kubelet must be installed; both are told', async () => {
    assert.deepEqual(await missing(node(), { kubeadm: undefined, kubelet: undefined }), [
      'KubeletNotInstalled',
      'KubeadmNotInstalled',
    ]);
  });

  test('kubeadm must be able to install this Kubernetes', async () => {
    const withKubeadm = (version: string) => missing(node({ version: 'v1.35.2' }), { kubeadm: parseVersion(version) });
    assert.deepEqual(await withKubeadm('v1.35.0'), []);
    assert.deepEqual(await withKubeadm('v1.36.1'), []);
    assert.deepEqual(await withKubeadm('v1.37.0'), ['KubeadmUnsupported']);
    assert.deepEqual(await withKubeadm('v1.34.9'), ['KubeadmUnsupported']);
  });

  test('an unsupported kubeadm is refused', async () => {
    const reasons = await missing(node({ version: 'v1.19.3' }), { kubeadm: parseVersion('v1.19.3') });
    assert.deepEqual(reasons, ['KubeadmUnsupported']);
  });

  test('what this kubeadm cannot express is refused', async () => {
    const model = node({ version: 'v1.30.1', cluster: { caCertificateValidityMs: 3_600_000 } });
    assert.deepEqual(await missing(model, { kubeadm: parseVersion('v1.30.1') }), ['NotExpressible']);
  });

  test('a masked kubelet is told', async () => {
    const host = machine(undefined, { services: { kubelet: { masked: true } } });
    assert.deepEqual(await missing(node(), {}, host), ['KubeletServiceMissing']);
  });

  test('a machine that has joined may have been upgraded since', async () => {
    const host = machine(undefined, { files: { [KUBELET_CONF]: 'x' } });
    assert.deepEqual(await missing(node(), { kubeadm: parseVersion('v1.37.0') }, host), []);
  });
});

describe('a fresh machine', () => {
  test('gets one init that is not repeated blindly', async () => {
    const changes = await bench(kubeadm, machine(), node()).plan();
    assert.deepEqual(
      changes.map(({ id, repeatable, summary }) => [id, repeatable, summary]),
      [['kubeadm/init', false, 'kubeadm init --config /run/kubeadm/kubeadm.yaml']],
    );
  });

  test('joins with the file of join', async () => {
    const [change] = await bench(kubeadm, machine(), WORKER).plan();
    assert.equal(change?.id, 'kubeadm/join');
  });

  test('gets its kubelet enabled, which kubeadm only warns about', async () => {
    const host = machine(undefined, { services: { kubelet: {} } });
    await bench(kubeadm, host, node()).apply();
    assert.equal((await host.service('kubelet')).enabled, true);
  });

  test('runs kubeadm on the file that is on the disk, without a secret among its arguments', async () => {
    const host = machine();
    const model = node({ controlPlane: { certificateKey: inlineSecret('a'.repeat(64)) }, kubeadm: { verbosity: 2 } });
    await bench(kubeadm, host, model).apply();
    assert.deepEqual(host.log, [
      `run kubeadm init --config=${INIT} --v=2 --skip-token-print --skip-certificate-key-print --upload-certs`,
    ]);
  });

  test('fails with what kubeadm said', async () => {
    const host = machine(() => ({
      status: 1,
      stderr: 'error: error execution phase certs: no space left on device\n',
    }));
    await assert.rejects(bench(kubeadm, host, node()).apply(), {
      reason: 'BootstrapperFailed',
      transcript: [{ source: 'kubeadm', text: 'error: error execution phase certs: no space left on device' }],
    });
  });

  test('fails when kubeadm ends with 0 and has not initialized anything', async () => {
    await assert.rejects(
      bench(
        kubeadm,
        machine(() => ({})),
        node(),
      ).apply(),
      { reason: 'BootstrapperFailed' },
    );
  });

  test('may leave out the phase that announces success, by a hook even', async () => {
    const files = { [INIT]: 'kind: InitConfiguration\nskipPhases: [show-join-command]\n' };
    await bench(
      kubeadm,
      machine(() => ({}), { files }),
      node(),
    ).apply();
  });

  test('does not run without the configuration that a hook removed', async () => {
    const host = machine();
    host.take(INIT);
    await assert.rejects(bench(kubeadm, host, node()).apply(), { reason: 'KubeadmConfigFileMissing' });
    assert.deepEqual(host.log, []);
  });
});

describe('a machine that is bootstrapped', () => {
  test('has nothing to do', async () => {
    const host = machine(undefined, { files: { [KUBELET_CONF]: 'x' } });
    assert.deepEqual(await bench(kubeadm, host, node()).plan({ bootstrap: 'done' }), []);
  });

  test('and was reset by hand is told so, and not bootstrapped over its remains', async () => {
    await assert.rejects(bench(kubeadm, machine(), node()).plan({ bootstrap: 'done' }), {
      reason: 'StepNotEffective',
      exit: 'BootstrapperFailed',
    });
  });
});

describe('after a run that was killed', () => {
  test('a published init goes on without preflight, and keeps the phases it skips', async () => {
    await using server = await startApiServer(authority, () => ({ kind: 'ConfigMap' }));
    const admin = kubeconfig(server.url, authority.certificate, authority.issue('kubernetes-admin'));
    const host = machine(undefined, {
      files: {
        [INIT]: 'kind: ClusterConfiguration\n---\nkind: InitConfiguration\nskipPhases: [addon/kube-proxy]\n',
        '/etc/kubernetes/admin.conf': admin,
        '/etc/kubernetes/manifests/kube-apiserver.yaml': 'pod',
        '/var/lib/kubelet/config.yaml': 'config',
      },
    });
    await bench(kubeadm, host, node()).apply({ bootstrap: 'attempted' });
    assert.deepEqual(host.log, [
      `run kubeadm init --config=${INIT} --skip-token-print --skip-certificate-key-print --skip-phases=preflight,addon/kube-proxy`,
    ]);
  });

  test('a join that had finished is only recorded', async () => {
    await using server = await startApiServer(authority, () => nodeObject());
    const files = {
      [KUBELET_CONF]: kubeconfig(server.url, authority.certificate, authority.issue('system:node:node-1')),
    };
    const host = machine(undefined, { files });
    const step = bench(kubeadm, host, WORKER);
    const [change] = await step.plan({ bootstrap: 'attempted' });
    assert.deepEqual([change?.id, change?.payload.kind], ['kubeadm/join', 'adopt']);
    await step.apply({ bootstrap: 'attempted' });
    assert.deepEqual(host.log, []);
  });

  test('that left nothing, kubeadm starts anew', async () => {
    const [change] = await bench(kubeadm, machine(), node()).plan({ bootstrap: 'attempted' });
    assert.deepEqual(change?.payload.kind === 'run' && change.payload.resume, false);
  });

  test('a join is not tried again with a token that has expired since', async () => {
    await using cluster = await startJoinableCluster(authority, { signed: false, certificates: true });
    const discovery = {
      token: inlineSecret('abcdef.0123456789abcdef'),
      endpoint: cluster.endpoint,
      caCertHashes: [],
      unsafeSkipCAVerification: true,
    };
    const join = { discovery, tlsBootstrapToken: undefined, caCertPath: '/etc/kubernetes/pki/ca.crt' };
    const host = machine();
    const step = bench(kubeadm, host, node({ role: 'Worker', join }));
    await assert.rejects(step.apply({ bootstrap: 'attempted' }), { reason: 'BootstrapTokenExpired', retryable: false });
    assert.deepEqual(host.log, []);
  });
});

test('what a reset without a document needs is in the journal before kubeadm runs', async () => {
  const notes: unknown[] = [];
  const host = machine(() => {
    assert.equal(notes.length, 1);
    return { stdout: DONE };
  });
  await bench(kubeadm, host, node()).apply({}, { ...told(), remember: (note) => void notes.push(note) });
  assert.deepEqual(notes[0], {
    undo: {
      criSocket: 'unix:///run/containerd/containerd.sock',
      certificatesDirectory: '/etc/kubernetes/pki',
      nodeName: 'node-1',
    },
  });
});
