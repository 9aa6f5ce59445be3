import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { kubeadmConfig } from '../../../../src/features/kubeadm/config.ts';
import { kubeadm } from '../../../../src/features/kubeadm/index.ts';
import { parseServiceState } from '../../../../src/host/linux/systemd.ts';
import { EMPTY_RECORD, type StepRecord } from '../../../../src/step/index.ts';
import { kubeconfig, newAuthority, nodeObject, startApiServer } from '../../../support/api-server.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { startJoinableCluster } from '../../../support/joinable-cluster.ts';
import { inlineSecret, type KubernetesOverrides, kubernetesModel } from '../../../support/kubernetes-model.ts';
import { type MemoryMachine, type MemoryProgram, memoryHost } from '../../../support/memory-host.ts';
import { bench, told } from '../../../support/step-bench.ts';

const KUBELET_CONF = '/etc/kubernetes/kubelet.conf';
const INIT = '/run/kubeadm/kubeadm.yaml';
const DONE = 'Your Kubernetes control-plane has initialized successfully!\n';
const RUNNING = { enabled: true, active: true };
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
  const there: MemoryProgram = () => ({});
  const needed = { crictl: there, conntrack: there, ip: there, iptables: there, nsenter: there };
  return memoryHost({
    programs: { kubeadm: program, ...needed },
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

  test('kubeadm and the kubelet must be installed; both are reported', async () => {
    const host = memoryHost({ services: { kubelet: { enabled: true } } });
    assert.deepEqual(await missing(node(), { kubeadm: undefined, kubelet: undefined }, host), [
      'KubeletNotInstalled',
      'KubeadmNotInstalled',
    ]);
  });

  test('one that is installed and cannot be executed is not called missing', async () => {
    const files = {
      '/usr/bin/kubeadm': { content: 'kubeadm v1.34.1\n', mode: 0o755 },
      '/usr/local/bin/kubelet': { content: '#!/bin/sh\n', mode: 0o644 },
    };
    const host = machine(undefined, { files });
    const found = await bench(kubeadm, host, node(), { kubeadm: undefined, kubelet: undefined }).preflight();
    assert.deepEqual(
      found.map(({ reason, what }) => [reason, what]),
      [
        ['ProgramNotExecutable', 'kubelet cannot be executed: /usr/local/bin/kubelet is not executable (mode 0644)'],
        [
          'ProgramNotExecutable',
          'kubeadm cannot be executed: /usr/bin/kubeadm is neither a program nor a script with a #! line',
        ],
      ],
    );
  });

  test('kubeadm must be able to install this Kubernetes', async () => {
    const withKubeadm = (version: string) => missing(node({ version: 'v1.35.2' }), { kubeadm: parseVersion(version) });
    assert.deepEqual(await withKubeadm('v1.35.0'), []);
    assert.deepEqual(await withKubeadm('v1.36.1'), []);
    assert.deepEqual(await withKubeadm('v1.37.0'), ['KubeadmUnsupported']);
    assert.deepEqual(await withKubeadm('v1.34.9'), ['KubeadmUnsupported']);
  });

  test('the kubelet must be one that kubeadm and the control plane take', async () => {
    const withPair = (kubeadm: string, kubelet: string, overrides: KubernetesOverrides = {}) =>
      missing(node({ version: 'v1.35.2', ...overrides }), {
        kubeadm: parseVersion(kubeadm),
        kubelet: parseVersion(kubelet),
      });
    assert.deepEqual(await withPair('v1.35.2', 'v1.35.9'), []);
    assert.deepEqual(await withPair('v1.35.2', 'v1.32.0'), [], 'three minors before kubeadm');
    assert.deepEqual(await withPair('v1.35.2', 'v1.31.9'), ['KubeletVersionTooOld']);
    assert.deepEqual(await withPair('v1.35.2', 'v1.36.0'), ['KubeletVersionTooNew']);
    assert.deepEqual(await withPair('v1.36.0', 'v1.36.0'), ['KubeletVersionTooNew'], 'newer than the control plane');
    assert.deepEqual(await withPair('v1.36.0', 'v1.32.0'), ['KubeletVersionTooOld'], 'the kubeadm counts');
    const old = { version: 'v1.28.3' };
    assert.deepEqual(await withPair('v1.28.3', 'v1.27.0', old), []);
    assert.deepEqual(await withPair('v1.28.3', 'v1.26.0', old), ['KubeletVersionTooOld'], 'one minor before 1.29');
    for (const ignorePreflightErrors of [['KubeletVersion'], ['kubeletversion'], ['all']]) {
      assert.deepEqual(await withPair('v1.35.2', 'v1.31.9', { kubeadm: { ignorePreflightErrors } }), []);
    }
  });

  test('an image with newer programs joins: the control plane may have been upgraded', async () => {
    const newer = { kubeadm: parseVersion('v1.36.1'), kubelet: parseVersion('v1.36.1') };
    assert.deepEqual(await missing(WORKER, newer), []);
    const tooOld = { kubelet: parseVersion('v1.31.9') };
    assert.deepEqual(await missing(WORKER, tooOld), ['KubeletVersionTooOld']);
  });

  test('a kubelet from 1.35 on wants cgroup v2, or another setting', async () => {
    const v1 = () => machine(undefined, { files: { '/sys/fs/cgroup/memory/cgroup.procs': '' } });
    const v2 = () =>
      machine(undefined, { files: { '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io memory hugetlb pids' } });
    const systemVerification = { ignorePreflightErrors: ['SystemVerification'] };
    const told = { node: { kubelet: { config: { failCgroupV1: false }, args: [] } } };
    assert.deepEqual(await missing(node(), {}, v2()), []);
    assert.deepEqual(await missing(node(), {}, v1()), ['CgroupV1Unsupported']);
    assert.deepEqual(await missing(WORKER, {}, v1()), ['CgroupV1Unsupported']);
    const before = { kubeadm: parseVersion('v1.34.1'), kubelet: parseVersion('v1.34.1') };
    assert.deepEqual(await missing(node({ version: 'v1.34.1' }), before, v1()), []);
    assert.deepEqual(await missing(node(told), {}, v1()), ['CgroupV1Unsupported'], "kubeadm's own check refuses it");
    assert.deepEqual(await missing(node({ kubeadm: systemVerification }), {}, v1()), ['CgroupV1Unsupported']);
    assert.deepEqual(await missing(node({ kubeadm: systemVerification, ...told }), {}, v1()), []);
    const patched = (patch: unknown) =>
      node({
        kubeadm: {
          ...systemVerification,
          patches: [{ target: 'kubeletconfiguration', type: 'json', patch }] as KubernetesModel['kubeadm']['patches'],
        },
      });
    assert.deepEqual(await missing(patched({ maxPods: 50 }), {}, v1()), ['CgroupV1Unsupported']);
    assert.deepEqual(await missing(patched({ failCgroupV1: false }), {}, v1()), []);
    assert.deepEqual(await missing(patched([{ op: 'add', path: '/failCgroupV1', value: false }]), {}, v1()), []);
  });

  test('the files of patches.directory are read for that, as kubeadm will read them', async () => {
    const model = node({ kubeadm: { ignorePreflightErrors: ['all'], patchesDirectory: '/etc/kubernetes/patches' } });
    const of = async (files: Readonly<Record<string, string>>) => {
      const found = Object.entries(files).map(([name, text]) => [`/etc/kubernetes/patches/${name}`, text]);
      const v1 = { '/sys/fs/cgroup/memory/cgroup.procs': '', ...Object.fromEntries(found) };
      return await missing(model, {}, machine(undefined, { files: v1 }));
    };
    const set = 'failCgroupV1: false\n';
    assert.deepEqual(await of({ 'kubeletconfiguration0+merge.yaml': set }), []);
    assert.deepEqual(
      await of({ 'kubeletconfiguration+json.json': '[{"op":"add","path":"/failCgroupV1","value":false}]' }),
      [],
    );
    assert.deepEqual(await of({ 'kubeletconfiguration.yaml': `maxPods: 3\n---\n${set}` }), []);
    assert.deepEqual(await of({ 'kubelet.yaml': set }), ['CgroupV1Unsupported']);
    assert.deepEqual(await of({ 'kubeletconfiguration.yml': set }), ['CgroupV1Unsupported']);
    assert.deepEqual(
      await of({ 'kubeletconfiguration0.yaml': set, 'kubeletconfiguration1.yaml': 'failCgroupV1: true' }),
      ['CgroupV1Unsupported'],
    );
    assert.deepEqual(await of({}), ['CgroupV1Unsupported']);
  });

  test('a kubelet up to 1.22 cannot speak with containerd 2, which is reported where containerd is the runtime', async () => {
    const programs = (containerd: string, kubelet = 'v1.22.17') => ({
      kubeadm: parseVersion(kubelet),
      kubelet: parseVersion(kubelet),
      containerd: parseVersion(containerd),
    });
    const old = node({ version: 'v1.22.17' });
    assert.deepEqual(await missing(old, programs('v2.0.4')), ['ContainerRuntimeUnsupported']);
    assert.deepEqual(await missing(old, programs('1.7.24')), []);
    assert.deepEqual(await missing(node({ version: 'v1.23.17' }), programs('v2.0.4', 'v1.23.17')), []);
    const crio = node({ version: 'v1.22.17', node: { criSocket: 'unix:///var/run/crio/crio.sock' } });
    assert.deepEqual(await missing(crio, programs('v2.0.4')), []);
  });

  test('several runtimes are refused, unless the document names one', async () => {
    const runtimeSockets = ['unix:///run/containerd/containerd.sock', 'unix:///run/crio/crio.sock'];
    const unnamed = node({ node: { criSocket: undefined } });
    const [found] = await bench(kubeadm, machine(), unnamed, { runtimeSockets }).preflight();
    assert.equal(found?.reason, 'MultipleCRISockets');
    assert.match(found.what, /2 container runtimes: .*containerd\.sock, .*crio\.sock/);
    assert.match(found.remedy, /kubernetes\.node\.criSocket/);
    assert.deepEqual(await missing(node(), { runtimeSockets }), []);
    assert.deepEqual(await missing(unnamed, { runtimeSockets: ['unix:///run/crio/crio.sock'] }), []);
  });

  test('an unsupported kubeadm is refused', async () => {
    const programs = { kubeadm: parseVersion('v1.19.3'), kubelet: parseVersion('v1.19.3') };
    const reasons = await missing(node({ version: 'v1.19.3' }), programs);
    assert.deepEqual(reasons, ['KubeadmUnsupported']);
  });

  test('what this kubeadm cannot express is refused', async () => {
    const model = node({ version: 'v1.30.1', cluster: { caCertificateValidityMs: 3_600_000 } });
    const programs = { kubeadm: parseVersion('v1.30.1'), kubelet: parseVersion('v1.30.1') };
    assert.deepEqual(await missing(model, programs), ['NotExpressible']);
  });

  test('a masked kubelet is reported', async () => {
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

  test('whose kubelet has no service fails for that: KubeletServiceMissing', async () => {
    const host = machine(undefined, { services: {} });
    await assert.rejects(bench(kubeadm, host, node()).apply(), { reason: 'KubeletServiceMissing' });
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
    const host = machine(undefined, { files: { [KUBELET_CONF]: 'x' }, services: { kubelet: RUNNING } });
    assert.deepEqual(await bench(kubeadm, host, node()).plan({ bootstrap: 'done' }), []);
  });

  test('and whose kubelet was stopped has it started: a change of the plan, and one of the run', async () => {
    const host = machine(undefined, { files: { [KUBELET_CONF]: 'x' } });
    const step = bench(kubeadm, host, node());
    assert.deepEqual(
      (await step.plan({ bootstrap: 'done' })).map(({ summary }) => summary),
      ['start the kubelet of this node (now: stopped (inactive))'],
    );
    await step.apply({ bootstrap: 'done' });
    assert.deepEqual(host.log, ['service start kubelet']);
    assert.deepEqual(await step.plan({ bootstrap: 'done' }), []);
  });

  test('and whose kubelet ends again and again has nothing started: systemd does that', async () => {
    const kubelet = parseServiceState(
      'LoadState=loaded\nActiveState=activating\nSubState=auto-restart\nResult=exit-code\nUnitFileState=enabled\n',
      0,
    );
    const host = machine(undefined, { files: { [KUBELET_CONF]: 'x' }, services: { kubelet } });
    assert.deepEqual(await bench(kubeadm, host, node()).plan({ bootstrap: 'done' }), []);
  });

  test('and whose kubelet cannot be started says so as a node that is not ready', async () => {
    const kubelet = { enabled: true, fails: 'kubelet could not be started: it is masked' };
    const host = machine(undefined, { files: { [KUBELET_CONF]: 'x' }, services: { kubelet } });
    await assert.rejects(bench(kubeadm, host, node()).apply({ bootstrap: 'done' }), {
      reason: 'KubeletNotHealthy',
      exit: 'NotReady',
      message: /could not be started: it is masked/,
    });
  });

  test('and was reset by hand is reported as such, and not bootstrapped over its remains', async () => {
    await assert.rejects(bench(kubeadm, machine(), node()).plan({ bootstrap: 'done' }), {
      reason: 'StepNotEffective',
      exit: 'BootstrapperFailed',
    });
  });
});

describe('after a run that was killed', () => {
  test('a published init resumes without preflight, and keeps the phases it skips', async () => {
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
    const host = machine(undefined, { files, services: { kubelet: RUNNING } });
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
  assert.deepEqual(JSON.parse(JSON.stringify(notes[0])), {
    undo: {
      criSocket: 'unix:///run/containerd/containerd.sock',
      certificatesDirectory: '/etc/kubernetes/pki',
      nodeName: 'node-1',
      founded: true,
    },
  });
});

test('a machine with CRI-O bootstraps with its socket, and is reset with it', async () => {
  const notes: unknown[] = [];
  const facts = { runtimeSockets: ['unix:///run/crio/crio.sock'] };
  const model = node({ node: { criSocket: undefined } });
  await bench(kubeadm, machine(), model, facts).apply({}, { ...told(), remember: (note) => void notes.push(note) });
  assert.match(JSON.stringify(notes[0]), /"criSocket":"unix:\/\/\/run\/crio\/crio\.sock"/);
  const host = machine();
  await bench(kubeadmConfig, host, model, facts).apply();
  assert.match(
    (await host.readText('/run/kubeadm/kubeadm-join-config.yaml')) ?? (await host.readText(INIT)) ?? '',
    /criSocket: unix:\/\/\/run\/crio\/crio\.sock/,
  );
});

describe('what is on the machine before kubeadm starts', () => {
  const files = { '/etc/kubernetes/pki/ca.crt': 'of the image', '/etc/kubernetes/pki/ca.key': 'of the document' };
  const inventory = async (record: Partial<StepRecord>) => {
    const host = machine(undefined, { files });
    const desired = kubeadm.desired(node(), facts());
    assert.ok(desired !== undefined);
    return (
      await kubeadm.bootstrapper?.inventory(host, desired, {
        ...EMPTY_RECORD,
        created: (path) => path === '/etc/kubernetes/pki/ca.key',
        ...record,
      })
    )?.map(({ path }) => path);
  };

  test('is recorded, but for what machineadm wrote', async () => {
    assert.deepEqual(await inventory({}), ['/etc/kubernetes/pki/ca.crt']);
  });

  test('is recorded again after an attempt that wrote nothing', async () => {
    const attempts = [{ ended: { killed: false, phase: 'preflight' } }];
    const record = { bootstrap: 'attempted', attempts, inventory: [] } as const;
    assert.deepEqual(await inventory(record), ['/etc/kubernetes/pki/ca.crt']);
  });

  test('stays as it was recorded after one that may have written', async () => {
    const record = { bootstrap: 'attempted', attempts: [{ ended: { killed: false, phase: 'certs' } }] } as const;
    assert.equal(await inventory({ ...record, inventory: [] }), undefined);
  });

  test('is assumed where an older version recorded none', async () => {
    assert.deepEqual(await inventory({ bootstrap: 'attempted', attempts: [{}] }), ['/etc/kubernetes/pki/ca.crt']);
  });
});
