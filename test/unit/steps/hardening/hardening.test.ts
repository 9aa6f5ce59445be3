import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HardeningModel } from '../../../../src/document/model.ts';
import { readManifest } from '../../../../src/kubernetes/hardening/manifest.ts';
import { auditControls } from '../../../../src/steps/hardening/audit.ts';
import { hardeningStep } from '../../../../src/steps/hardening/index.ts';
import { EMPTY_RECORD, type StepRecord } from '../../../../src/steps/step.ts';
import { ETCD_ID, FACTS_1_20, fixture, hardenedModel, nodeOf } from '../../../support/hardened-machine.ts';
import type { MemoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const hardening = hardeningStep({ timeoutMs: 100, pauseMs: 1 });
const CIS: HardeningModel = { profiles: ['cis-level-1'], include: [], exceptions: [] };
const DONE: StepRecord = { ...EMPTY_RECORD, done: new Set(['hardening/cis-level-1']) };

const failing = async (host: MemoryHost, section: HardeningModel | undefined = CIS): Promise<readonly string[]> => {
  const { controls } = await auditControls(host, { profiles: section?.profiles ?? CIS.profiles }, section, 20);
  return controls.filter(({ state }) => state === 'fail').map(({ id }) => id);
};

const run = async (host: MemoryHost, record: StepRecord = DONE, model = hardenedModel(CIS)) =>
  await runStep(hardening, host, model, { facts: FACTS_1_20, record });

/** As the step control-plane-files lays it, before kubeadm runs. */
function layAuditPolicy(host: MemoryHost): void {
  const policy = hardenedModel(CIS).kubernetes?.controlPlane.apiServer.audit?.policy;
  assert.ok(policy !== undefined);
  host.put('/etc/kubernetes/audit-policy.yaml', { content: JSON.stringify(policy), mode: 0o600 });
}

describe('a control plane that kubeadm 1.20.2 made', () => {
  test('fails, without the profile, what the benchmark finds in kubeadm', async () => {
    const scored = ['1.1.12', '1.2.5', '1.2.15', '1.2.16', '1.2.17', '1.2.18', '1.2.19', '1.2.30', '1.3.2', '1.4.1'];
    const node = ['4.1.1', '4.1.9'];
    const notScored = [
      '1.2.1',
      '1.2.9',
      '1.2.11',
      '1.2.27',
      '1.2.28',
      '1.2.29',
      '1.3.1',
      '3.2.1',
      '4.2.9',
      '4.2.12',
      '4.2.13',
    ];
    const { controls } = await auditControls(await nodeOf('control-plane'), CIS, undefined, 20);
    const found = controls.filter(({ state }) => state === 'fail').map(({ id }) => id);
    assert.deepEqual(found.toSorted(), [...scored, ...node, ...notScored].map((id) => `cis-${id}`).sort());
    // There is no such admission plugin, and no such field, before 1.21 and 1.25.
    for (const id of ['cis-1.2.3', 'cis-4.2.14']) {
      assert.equal(controls.find((control) => control.id === id)?.state, 'not-applicable');
    }
  });

  test('passes it all after the step, but for what the profile leaves alone, and a second run changes nothing', async () => {
    const host = await nodeOf('control-plane');
    layAuditPolicy(host);
    const first = await run(host, EMPTY_RECORD);
    assert.deepEqual(
      first.changes.map(({ id }) => id),
      ['hardening/cis-level-1', 'hardening/record'],
    );
    assert.deepEqual(first.warnings, []);
    assert.deepEqual(await failing(host), []);
    const again = await run(host);
    assert.deepEqual([...again.changes, ...first.left], []);

    const { controls } = await auditControls(host, CIS, CIS, 20);
    const excepted = controls.filter(({ state }) => state === 'exception');
    assert.deepEqual(
      excepted.map(({ id }) => id),
      ['1.2.1', '1.2.5', '1.2.9', '1.2.11', '1.2.27', '1.2.28', '4.2.9'].map((id) => `cis-${id}`),
    );
    assert.ok(excepted.every(({ reason }) => reason !== undefined && reason.length > 20));
    assert.deepEqual(await host.stat('/var/lib/etcd'), {
      ...(await host.stat('/var/lib/etcd')),
      uid: ETCD_ID,
      gid: ETCD_ID,
    });
    const { args } = await readManifest(host.text('/etc/kubernetes/manifests/kube-apiserver.yaml') ?? '');
    assert.equal(args.get('enable-admission-plugins'), 'NodeRestriction', 'what kubeadm set is as it was');
  });

  test('gets no more than the plan says, and keeps the modes and owners of what is written', async () => {
    const host = await nodeOf('control-plane');
    const changes = await planned(hardening, host, hardenedModel(CIS), { facts: FACTS_1_20 });
    assert.deepEqual(host.log, []);
    assert.deepEqual(
      changes.map(({ knownAfter }) => knownAfter),
      ['kubeadm', undefined],
    );
    await run(host, EMPTY_RECORD);
    assert.equal((await host.stat('/etc/kubernetes/manifests/kube-apiserver.yaml'))?.mode, 0o600);
    assert.equal((await host.stat('/var/lib/kubelet/config.yaml'))?.mode, 0o600);
  });

  test('killed in the middle: the kubelet restarts once more, for what it may not have read', async () => {
    const host = await nodeOf('control-plane');
    layAuditPolicy(host);
    await run(host, EMPTY_RECORD);
    host.log.length = 0;
    await run(host, { ...EMPTY_RECORD, interrupted: new Set(['hardening/cis-level-1']) });
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('service')),
      ['service restart kubelet'],
    );
  });
});

/** How each control is set wrong, so that it alone fails. */
type Breakage = (host: MemoryHost) => void;
const APISERVER = '/etc/kubernetes/manifests/kube-apiserver.yaml';
const edit =
  (path: string, change: (text: string) => string): Breakage =>
  (host) => {
    const text = host.text(path) ?? '';
    const changed = change(text);
    assert.notEqual(changed, text, `${path} has nothing to break`);
    host.put(path, { content: changed, mode: path.endsWith('config.yaml') || path.endsWith('.env') ? 0o600 : 0o600 });
  };
const set = (path: string, name: string, value: string): Breakage =>
  edit(path, (text) => {
    const line = new RegExp(`^(\\s+- )"?--${name}=[^\\n]*$`, 'm');
    if (line.test(text)) return text.replace(line, `$1--${name}=${value}`);
    return text.replace(
      /^(\s+- )(kube-apiserver|kube-controller-manager|kube-scheduler|etcd)$/m,
      `$1$2\n$1--${name}=${value}`,
    );
  });
const drop = (path: string, name: string): Breakage =>
  edit(path, (text) => text.replace(new RegExp(`^\\s+- "?--${name}=[^\\n]*\\n`, 'm'), ''));
const mode =
  (path: string, wrong: number): Breakage =>
  (host) => {
    host.put(path, { content: host.text(path) ?? '', mode: wrong });
  };
const owner =
  (path: string): Breakage =>
  (host) => {
    host.put(path, { content: host.text(path) ?? '', mode: path.endsWith('.crt') ? 0o644 : 0o600, uid: 1000, gid: 0 });
  };
const kubelet = (change: (text: string) => string): Breakage => edit('/var/lib/kubelet/config.yaml', change);
const manifest = (component: string) => `/etc/kubernetes/manifests/${component}.yaml`;
const CM = manifest('kube-controller-manager');
const SCHEDULER = manifest('kube-scheduler');
const ETCD = manifest('etcd');
const KUBELET_UNIT = '/etc/systemd/system/kubelet.service.d/10-kubeadm.conf';

const BREAKAGES: Readonly<Record<string, Breakage>> = {
  '1.1.1': mode(APISERVER, 0o644),
  '1.1.2': owner(APISERVER),
  '1.1.3': mode(CM, 0o604),
  '1.1.4': owner(CM),
  '1.1.5': mode(SCHEDULER, 0o620),
  '1.1.6': owner(SCHEDULER),
  '1.1.7': mode(ETCD, 0o700),
  '1.1.8': owner(ETCD),
  '1.1.11': (host) => host.put('/var/lib/etcd', { type: 'directory', mode: 0o755, uid: ETCD_ID, gid: ETCD_ID }),
  '1.1.12': (host) => host.put('/var/lib/etcd', { type: 'directory', mode: 0o700 }),
  '1.1.13': mode('/etc/kubernetes/admin.conf', 0o640),
  '1.1.14': owner('/etc/kubernetes/admin.conf'),
  '1.1.15': mode('/etc/kubernetes/scheduler.conf', 0o640),
  '1.1.16': owner('/etc/kubernetes/scheduler.conf'),
  '1.1.17': mode('/etc/kubernetes/controller-manager.conf', 0o640),
  '1.1.18': owner('/etc/kubernetes/controller-manager.conf'),
  '1.1.19': owner('/etc/kubernetes/pki/etcd/ca.crt'),
  '1.1.20': mode('/etc/kubernetes/pki/etcd/ca.crt', 0o664),
  '1.1.21': mode('/etc/kubernetes/pki/etcd/ca.key', 0o640),
  '1.2.2': set(APISERVER, 'token-auth-file', '/etc/tokens'),
  '1.2.4': drop(APISERVER, 'kubelet-client-key'),
  '1.2.6': set(APISERVER, 'authorization-mode', 'Node,RBAC,AlwaysAllow'),
  '1.2.7': set(APISERVER, 'authorization-mode', 'RBAC'),
  '1.2.8': set(APISERVER, 'authorization-mode', 'Node'),
  '1.2.10': set(APISERVER, 'enable-admission-plugins', 'NodeRestriction,AlwaysAdmit'),
  '1.2.12': set(APISERVER, 'disable-admission-plugins', 'ServiceAccount'),
  '1.2.13': set(APISERVER, 'disable-admission-plugins', 'PodNodeSelector,NamespaceLifecycle'),
  '1.2.14': set(APISERVER, 'enable-admission-plugins', 'PodNodeSelector'),
  '1.2.15': set(APISERVER, 'profiling', 'true'),
  '1.2.16': drop(APISERVER, 'audit-log-path'),
  '1.2.17': set(APISERVER, 'audit-log-maxage', '7'),
  '1.2.18': set(APISERVER, 'audit-log-maxbackup', '2'),
  '1.2.19': set(APISERVER, 'audit-log-maxsize', '10'),
  '1.2.20': set(APISERVER, 'request-timeout', '0s'),
  '1.2.21': set(APISERVER, 'service-account-lookup', 'false'),
  '1.2.22': drop(APISERVER, 'service-account-key-file'),
  '1.2.23': drop(APISERVER, 'etcd-keyfile'),
  '1.2.24': drop(APISERVER, 'tls-cert-file'),
  '1.2.25': drop(APISERVER, 'client-ca-file'),
  '1.2.26': drop(APISERVER, 'etcd-cafile'),
  '1.2.29': set(APISERVER, 'tls-cipher-suites', 'TLS_RSA_WITH_3DES_EDE_CBC_SHA'),
  '1.2.30': drop(APISERVER, 'service-account-extend-token-expiration'),
  '1.3.1': drop(CM, 'terminated-pod-gc-threshold'),
  '1.3.2': drop(CM, 'profiling'),
  '1.3.3': set(CM, 'use-service-account-credentials', 'false'),
  '1.3.4': drop(CM, 'service-account-private-key-file'),
  '1.3.5': drop(CM, 'root-ca-file'),
  '1.3.7': set(CM, 'bind-address', '0.0.0.0'),
  '1.4.1': set(SCHEDULER, 'profiling', 'true'),
  '1.4.2': drop(SCHEDULER, 'bind-address'),
  '2.1': drop(ETCD, 'key-file'),
  '2.2': set(ETCD, 'client-cert-auth', 'false'),
  '2.3': set(ETCD, 'auto-tls', 'true'),
  '2.4': drop(ETCD, 'peer-cert-file'),
  '2.5': drop(ETCD, 'peer-client-cert-auth'),
  '2.6': set(ETCD, 'peer-auto-tls', 'true'),
  '3.2.1': drop(APISERVER, 'audit-policy-file'),
  '4.1.1': mode(KUBELET_UNIT, 0o644),
  '4.1.2': owner(KUBELET_UNIT),
  '4.1.5': mode('/etc/kubernetes/kubelet.conf', 0o644),
  '4.1.6': owner('/etc/kubernetes/kubelet.conf'),
  '4.1.9': mode('/var/lib/kubelet/config.yaml', 0o644),
  '4.1.10': owner('/var/lib/kubelet/config.yaml'),
  '4.2.1': kubelet((text) => text.replace('anonymous:\n    enabled: false', 'anonymous:\n    enabled: true')),
  '4.2.2': kubelet((text) => text.replace('mode: Webhook', 'mode: AlwaysAllow')),
  '4.2.3': kubelet((text) => text.replace(/ {2}x509:\n.*\n/, '')),
  '4.2.4': kubelet((text) => `${text}readOnlyPort: 10255\n`),
  '4.2.5': edit('/var/lib/kubelet/kubeadm-flags.env', (text) =>
    text.replace('ARGS="', 'ARGS="--streaming-connection-idle-timeout=0 '),
  ),
  '4.2.6': kubelet((text) => `${text}makeIPTablesUtilChains: false\n`),
  '4.2.7': edit('/var/lib/kubelet/kubeadm-flags.env', (text) =>
    text.replace('ARGS="', 'ARGS="--hostname-override=node-1 '),
  ),
  '4.2.10': kubelet((text) => text.replace('rotateCertificates: true', 'rotateCertificates: false')),
  '4.2.11': kubelet((text) => `${text}featureGates:\n  RotateKubeletServerCertificate: false\n`),
  '4.2.12': kubelet((text) => text.replace(/(tlsCipherSuites:\n)/, '$1  - TLS_RSA_WITH_RC4_128_SHA\n')),
  '4.2.13': kubelet((text) => text.replace(/podPidsLimit: .*\n/, '')),
};

/** On a worker, because on a control plane the same files are also those of another control. */
const WORKER_BREAKAGES: Readonly<Record<string, Breakage>> = {
  '1.1.9': (host) => host.put('/etc/cni/net.d/10-bridge.conf', { content: '{}', mode: 0o644 }),
  '1.1.10': (host) => host.put('/etc/cni/net.d/10-bridge.conf', { content: '{}', mode: 0o600, uid: 1000 }),
  '4.1.7': mode('/etc/kubernetes/pki/ca.crt', 0o666),
  '4.1.8': owner('/etc/kubernetes/pki/ca.crt'),
};

describe('each control set wrong on a hardened control plane', () => {
  test('is a list of all that pass there, but for those that a worker shows and one that only the cluster can mend', async () => {
    const host = await nodeOf('control-plane');
    layAuditPolicy(host);
    await run(host, EMPTY_RECORD);
    const { controls } = await auditControls(host, CIS, CIS, 20);
    const passing = controls.filter(({ state }) => state === 'pass').map(({ id }) => id.slice('cis-'.length));
    assert.deepEqual(
      passing.filter((id) => !(id in WORKER_BREAKAGES)),
      Object.keys(BREAKAGES),
    );
  });

  for (const [id, breakIt] of Object.entries(BREAKAGES)) {
    test(`cis-${id}: the audit fails it alone, and the next run mends it`, async () => {
      const host = await nodeOf('control-plane');
      layAuditPolicy(host);
      await run(host, EMPTY_RECORD);
      breakIt(host);
      assert.deepEqual(await failing(host), [`cis-${id}`]);
      const mended = await run(host);
      assert.equal(mended.changes.length, 1, mended.changes.map((change) => change.id).join());
      assert.match(mended.changes[0]?.summary ?? '', new RegExp(`cis-${id}(,|$)`));
      assert.deepEqual(mended.left, []);
      assert.deepEqual(await failing(host), []);
    });
  }
});

describe('each control set wrong on a hardened worker', () => {
  const model = hardenedModel(CIS, 'Worker');
  for (const [id, breakIt] of Object.entries(WORKER_BREAKAGES)) {
    test(`cis-${id}: the audit fails it alone, and the next run mends it`, async () => {
      const host = await nodeOf('worker');
      await run(host, EMPTY_RECORD, model);
      assert.deepEqual(await failing(host), []);
      breakIt(host);
      assert.deepEqual(await failing(host), [`cis-${id}`]);
      assert.deepEqual((await run(host, DONE, model)).left, []);
      assert.deepEqual(await failing(host), []);
    });
  }

  test('cis-4.3.1 is a matter of the cluster: the audit fails it, the step leaves it and says so where it changes anything', async () => {
    const path = '/var/lib/kubelet/pods/u1/volumes/kubernetes.io~configmap/kube-proxy/config.conf';
    const host = await nodeOf('worker', { [path]: { content: 'metricsBindAddress: 0.0.0.0:10249\n' } });
    const first = await run(host, EMPTY_RECORD, model);
    assert.match(first.warnings.join(), /cis-4\.3\.1 does not hold: ConfigMap kube-system\/kube-proxy/);
    assert.deepEqual(await failing(host), ['cis-4.3.1']);
    host.put(path, 'metricsBindAddress: ""\n');
    assert.deepEqual(await failing(host), []);
  });
});

describe('what the document says itself', () => {
  test('comes back when it was changed on the machine', async () => {
    const model = hardenedModel(CIS);
    const { kubernetes } = model;
    assert.ok(kubernetes !== undefined);
    const { apiServer } = kubernetes.controlPlane;
    const args = apiServer.args.map((arg) => (arg.name === 'audit-log-maxage' ? { ...arg, value: '90' } : arg));
    const own = {
      ...model,
      kubernetes: { ...kubernetes, controlPlane: { ...kubernetes.controlPlane, apiServer: { ...apiServer, args } } },
    };
    const host = await nodeOf('control-plane');
    layAuditPolicy(host);
    await run(host, EMPTY_RECORD, own);
    assert.match(host.text(APISERVER) ?? '', /--audit-log-maxage=90/);
  });

  test('an exception is left as it is, and told with its reason', async () => {
    const section: HardeningModel = { ...CIS, exceptions: [{ id: 'cis-1.2.15', reason: 'We profile.' }] };
    const host = await nodeOf('control-plane');
    layAuditPolicy(host);
    await run(host, EMPTY_RECORD, hardenedModel(section));
    assert.doesNotMatch(host.text(APISERVER) ?? '', /profiling/);
    const { controls } = await auditControls(host, section, section, 20);
    const control = controls.find(({ id }) => id === 'cis-1.2.15');
    assert.deepEqual([control?.state, control?.reason], ['exception', 'We profile.']);
  });
});

describe('a component that does not come back', () => {
  test('has its manifest put back, and the step fails with what it was told to set', async () => {
    const host = await nodeOf('control-plane');
    layAuditPolicy(host);
    // This kubelet ends the API server and cannot start it with the new arguments.
    const stubborn: MemoryHost = {
      ...host,
      async writeFile(file) {
        await host.writeFile(file);
        if (file.path === APISERVER && String(file.content).includes('profiling')) host.take('/proc/100/cmdline');
      },
    };
    await assert.rejects(
      run(stubborn, EMPTY_RECORD),
      (error: { reason?: string; message?: string; evidence?: object[] }) => {
        assert.equal(error.reason, 'HardenedComponentFailed');
        assert.match(error.message ?? '', /kube-apiserver did not come back .*: it does not run/);
        assert.match(JSON.stringify(error.evidence), /set --profiling=false/);
        return true;
      },
    );
    assert.equal(host.text(APISERVER), fixture('kube-apiserver.yaml'));
  });
});
