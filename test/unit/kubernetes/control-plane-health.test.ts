import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type ComponentTrouble,
  probeControlPlane,
  requiredComponents,
} from '../../../src/kubernetes/control-plane-health.ts';
import { probePatiently, probeReadiness, waitUntilReady } from '../../../src/kubernetes/readiness.ts';
import {
  type ApiServer,
  kubeconfig,
  newAuthority,
  nodeObject,
  startApiServer,
  startHealthz,
} from '../../support/api-server.ts';
import { type EtcdServer, type FakeMember, startEtcd } from '../../support/etcd-server.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { startServer } from '../../support/http-servers.ts';
import { kubernetesModel } from '../../support/kubernetes-model.ts';
import { type MemoryHost, type MemoryMachine, memoryHost } from '../../support/memory-host.ts';
import { READINESS_DEMAND } from '../../support/readiness-demand.ts';
import { shortPauses } from '../../support/short-pauses.ts';
import { waitUntil } from '../../support/wait-until.ts';

const authority = newAuthority();
const OWN = 'https://10.0.0.2:2380';
const MEMBER: FakeMember = { ID: '2', name: 'cp2', peerURLs: [OWN] };
const OTHER: FakeMember = { ID: '1', name: 'cp1', peerURLs: ['https://10.0.0.1:2380'] };

/** What each component answers; 200 by default. */
interface Answers {
  'kube-apiserver'?: number;
  members?: readonly FakeMember[];
}

interface Machine extends AsyncDisposable {
  readonly host: MemoryHost;
  readonly etcd: EtcdServer;
}

function manifest(name: string, args: readonly string[], endpoint = ''): string {
  const command = [name, ...args].map((argument) => `    - ${argument}`).join('\n');
  const annotation = `kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: ${endpoint}`;
  return `kind: Pod\nmetadata:\n  annotations:\n    ${annotation}\nspec:\n  containers:\n  - command:\n${command}\n`;
}

/** A control plane of real servers on loopback, with the manifests that lead to them. */
async function machine(answers: Answers = {}, more: MemoryMachine = {}): Promise<Machine> {
  const servers: ApiServer[] = [];
  const serve = async (path: string, answer: () => object) => {
    const server = await startApiServer(authority, (asked) =>
      asked === path ? answer() : asked.startsWith('/api/v1/nodes/') ? nodeObject() : undefined,
    );
    servers.push(server);
    return new URL(server.url);
  };
  const api = await serve('/readyz', () => ({ status: answers['kube-apiserver'] ?? 200 }));
  // These know no client: who asks without a certificate is answered 401, and lives.
  const controllers = await serve('/healthz', () => ({}));
  const scheduler = await serve('/healthz', () => ({}));
  const etcd = await startEtcd(answers.members ?? [OTHER, MEMBER]);
  const healthz = await startHealthz();
  const client = etcd.authority.issue('healthcheck');
  const pki = '/etc/kubernetes/pki/etcd';
  const host = memoryHost({
    ...more,
    files: {
      '/var/lib/kubelet/config.yaml': `healthzPort: ${healthz.port}\n`,
      '/etc/kubernetes/kubelet.conf': kubeconfig(
        api.href,
        authority.certificate,
        authority.issue('system:node:node-1'),
      ),
      '/etc/kubernetes/manifests/kube-apiserver.yaml': manifest('kube-apiserver', [], api.host),
      '/etc/kubernetes/manifests/kube-controller-manager.yaml': manifest('kube-controller-manager', [
        '--bind-address=127.0.0.1',
        `--secure-port=${controllers.port}`,
      ]),
      '/etc/kubernetes/manifests/kube-scheduler.yaml': manifest('kube-scheduler', [
        '--bind-address=0.0.0.0',
        `--secure-port=${scheduler.port}`,
      ]),
      '/etc/kubernetes/manifests/etcd.yaml': manifest('etcd', [
        '--name=cp2',
        `--initial-advertise-peer-urls=${OWN}`,
        `--listen-client-urls=${etcd.url}`,
        `--trusted-ca-file=${pki}/ca.crt`,
      ]),
      [`${pki}/ca.crt`]: etcd.authority.certificate,
      [`${pki}/healthcheck-client.crt`]: client.certificate,
      [`${pki}/healthcheck-client.key`]: client.key,
      ...more.files,
    },
  });
  return {
    host,
    etcd,
    async [Symbol.asyncDispose]() {
      for (const server of [...servers, etcd, healthz]) await server[Symbol.asyncDispose]();
    },
  };
}

const brief = (trouble: ComponentTrouble | undefined) =>
  trouble === undefined ? 'works' : `${trouble.component} ${trouble.reason}: ${trouble.why}`;

const REQUIRED = ['etcd', 'kube-apiserver'] as const;
const PATH = '/etc/kubernetes/manifests';

describe('the control plane of a machine', () => {
  shortPauses();
  test('works where every component does', async () => {
    await using one = await machine();
    assert.equal(brief(await probeControlPlane(one.host, REQUIRED)), 'works');
  });

  test('does not where its API server is not ready, whatever others serve', async () => {
    await using one = await machine({ 'kube-apiserver': 500 });
    assert.match(
      brief(await probeControlPlane(one.host, REQUIRED)),
      /^kube-apiserver ControlPlaneComponentNotHealthy: kube-apiserver is not healthy: https:\/\/127\.0\.0\.1:\d+\/readyz answered 500$/,
    );
  });

  test('works where the kubelet may not read /readyz: the API server has answered', async () => {
    await using one = await machine({ 'kube-apiserver': 403 });
    assert.equal(brief(await probeControlPlane(one.host, REQUIRED)), 'works');
  });

  test('does not where controller manager or scheduler do not listen', async () => {
    for (const name of ['kube-controller-manager', 'kube-scheduler']) {
      const source = manifest(name, ['--bind-address=127.0.0.1', '--secure-port=1']);
      await using one = await machine({}, { files: { [`${PATH}/${name}.yaml`]: source } });
      const found = await probeControlPlane(one.host, REQUIRED);
      assert.equal(found?.component, name);
      assert.match(found?.why ?? '', /https:\/\/127\.0\.0\.1:1\/healthz: .*ECONNREFUSED/);
    }
  });

  test('is not checked for a component whose manifest the document or a hook removed, or whose port is off', async () => {
    await using one = await machine(
      {},
      {
        files: { [`${PATH}/kube-scheduler.yaml`]: manifest('kube-scheduler', ['--secure-port=0']) },
      },
    );
    one.host.take(`${PATH}/kube-controller-manager.yaml`);
    assert.equal(brief(await probeControlPlane(one.host, REQUIRED)), 'works');
    one.host.take(`${PATH}/kube-apiserver.yaml`);
    assert.match(brief(await probeControlPlane(one.host, REQUIRED)), /kube-apiserver\.yaml does not exist$/);
    assert.equal(brief(await probeControlPlane(one.host, [])), 'works');
  });

  test('is explained by etcd, which the others need', async () => {
    const etcd = manifest('etcd', ['--listen-metrics-urls=http://127.0.0.1:1']);
    await using one = await machine({ 'kube-apiserver': 500 }, { files: { [`${PATH}/etcd.yaml`]: etcd } });
    assert.match(
      brief(await probeControlPlane(one.host, REQUIRED)),
      /^etcd Control.*127\.0\.0\.1:1\/health: .*ECONNREFUSED/,
    );
  });

  for (const [name, args, url] of [
    ['kube-apiserver', ['--secure-port=1'], '127.0.0.1:1/readyz'],
    ['kube-apiserver', ['--advertise-address=127.0.0.3', '--secure-port=1'], '127.0.0.3:1/readyz'],
    [
      'kube-apiserver',
      ['--bind-address=0.0.0.0', '--advertise-address=127.0.0.3', '--secure-port=1'],
      '127.0.0.3:1/readyz',
    ],
    [
      'kube-apiserver',
      ['--bind-address=127.0.0.2', '--advertise-address=127.0.0.3', '--secure-port=1'],
      '127.0.0.2:1/readyz',
    ],
    ['kube-apiserver', ['--bind-address=::1', '--secure-port=2', '--secure-port=1'], '[::1]:1/readyz'],
    ['kube-scheduler', ['--secure-port=1'], '127.0.0.1:1/healthz'],
    ['kube-scheduler', ['--bind-address=::', '--secure-port=1'], '[::1]:1/healthz'],
    ['kube-scheduler', ['--bind-address=127.0.0.2', '--secure-port=1'], '127.0.0.2:1/healthz'],
    ['etcd', ['--listen-metrics-urls=http://[::]:1,http://127.0.0.9:2'], '[::1]:1/health'],
  ] as const) {
    test(`is checked at ${url} for ${name} with ${args.join(' ')}`, async () => {
      const command = [name, ...args].map((argument) => `    - "${argument}"`).join('\n');
      const pod = `kind: Pod\nspec:\n  containers:\n  - command:\n${command}\n`;
      await using one = await machine({}, { files: { [`${PATH}/${name}.yaml`]: pod } });
      const { component, why = '' } = (await probeControlPlane(one.host, REQUIRED)) ?? {};
      assert.equal(component, name);
      assert.ok(why.includes(`://${url}`), why);
    });
  }

  test('follows what etcd says of its health', async () => {
    for (const [answer, said] of [
      [{ body: '{"health":"true"}' }, undefined],
      [{ body: '{"health": "false","reason":"no leader"}' }, '200 {"health": "false","reason":"no leader"}'],
      [{ body: '{"health":false}' }, '200 {"health":false}'],
      [{ status: 503, body: `${'x'.repeat(300)}\n` }, `503 ${'x'.repeat(200)}`],
      [{ status: 500 }, '500'],
    ] as const) {
      await using metrics = await startServer(() => answer);
      const etcd = manifest('etcd', [`--listen-metrics-urls=${metrics.url}`]);
      await using one = await machine({}, { files: { [`${PATH}/etcd.yaml`]: etcd } });
      const found = await probeControlPlane(one.host, REQUIRED);
      assert.equal(found?.why, said && `etcd is not healthy: ${metrics.url}/health answered ${said}`);
    }
  });

  test('does not where its etcd lists no members, or a scheduler answers with an error', async () => {
    const source = (url: string) =>
      manifest('etcd', [
        `--initial-advertise-peer-urls=${OWN}`,
        `--listen-client-urls=http://127.0.0.1:9,${url}`,
        '--trusted-ca-file=/etc/kubernetes/pki/etcd/ca.crt',
      ]);
    await using one = await machine({}, { files: { [`${PATH}/etcd.yaml`]: source('https://127.0.0.1:1') } });
    assert.match(
      brief(await probeControlPlane(one.host, REQUIRED)),
      /^etcd .*: https:\/\/127\.0\.0\.1:1 did not list the members of its cluster$/,
    );
    one.host.put(`${PATH}/etcd.yaml`, 'kind: Pod\n');
    assert.match(brief(await probeControlPlane(one.host, REQUIRED)), /etcd\.yaml is not a pod manifest$/);
  });

  const members: readonly (readonly [string, readonly FakeMember[], string])[] = [
    ['a learner', [OTHER, { ...MEMBER, isLearner: true }], 'EtcdLearnerNotInSync'],
    ['not started', [OTHER, { ID: '2', peerURLs: [OWN] }], 'EtcdMemberNotStarted'],
    ['no member', [OTHER], 'EtcdMemberRemoved'],
  ];
  for (const [what, list, reason] of members) {
    test(`does not where its etcd is ${what}`, async () => {
      await using one = await machine({ members: list });
      const found = await probeControlPlane(one.host, REQUIRED);
      assert.deepEqual([found?.component, found?.reason], ['etcd', reason]);
    });
  }

  test('is not checked by a membership without certificates for it', async () => {
    await using one = await machine({ members: [OTHER] });
    one.host.take('/etc/kubernetes/pki/etcd/healthcheck-client.key');
    assert.equal(brief(await probeControlPlane(one.host, REQUIRED)), 'works');
  });
});

describe('the components that a control plane must have', () => {
  shortPauses();
  test('follow from the document', () => {
    assert.deepEqual(requiredComponents(kubernetesModel({ role: 'Worker' })), []);
    assert.deepEqual(requiredComponents(kubernetesModel({ role: 'InitControlPlane' })), ['etcd', 'kube-apiserver']);
    const skipping = kubernetesModel({
      role: 'InitControlPlane',
      kubeadm: { skipPhases: ['etcd/local', 'control-plane'] },
    });
    assert.deepEqual(requiredComponents(skipping), []);
  });
});

const DEMAND = {
  ...READINESS_DEMAND,
  controlPlane: { required: REQUIRED, criSocket: 'unix:///run/containerd/containerd.sock' },
} as const;

describe('readiness of a control plane', () => {
  shortPauses();
  test('is not proven with a dead API server of its own, though the Node is registered', async () => {
    await using one = await machine({ 'kube-apiserver': 500 });
    const finding = await probeReadiness(one.host, DEMAND);
    assert.equal(finding.ready ? 'ready' : finding.reason, 'ControlPlaneComponentNotHealthy');
    const { controlPlane: _, ...worker } = DEMAND;
    assert.deepEqual(await probeReadiness(one.host, worker), { ready: true });
  });

  test('ends at its deadline with the component named, and exit code NotReady', async () => {
    await using one = await machine({ 'kube-apiserver': 500 });
    const options = { timeoutMs: 0, signal: AbortSignal.timeout(120_000), waitingFor: () => {} };
    await assert.rejects(waitUntilReady(one.host, DEMAND, options), {
      reason: 'ControlPlaneComponentNotHealthy',
      exit: 'NotReady',
      retryable: true,
      message: /kube-apiserver is not healthy: https:.*\/readyz answered 500/,
    });
  });

  test('of a node that was proven outlasts a moment in which its API server is not ready', async () => {
    using clock = fakeClock();
    const answers: Answers = { 'kube-apiserver': 500 };
    await using one = await machine(answers);
    const probing = probePatiently(one.host, DEMAND);
    await waitUntil(() => clock.pauses.length > 0, 'it was not ready once');
    answers['kube-apiserver'] = 200;
    assert.deepEqual(await clock.until(probing), { ready: true });
    answers['kube-apiserver'] = 500;
    const finding = await probePatiently(one.host, DEMAND, 0);
    assert.equal(finding.ready ? 'ready' : finding.reason, 'ControlPlaneComponentNotHealthy');
  });

  test('is not proven between two kills of a component', async () => {
    const end = { id: '1', namespace: 'kube-system', attempt: 0, reason: 'Error', logPath: '/x' };
    const cri = {
      exitedContainers: async () => [
        { ...end, name: 'kube-apiserver', exitCode: 1, finishedAtMs: Date.now() },
        { ...end, name: 'etcd', exitCode: 137, finishedAtMs: Date.now() },
        { ...end, name: 'coredns', exitCode: 1, finishedAtMs: Date.now() },
      ],
    };
    await using one = await machine({}, { cri });
    const options = { timeoutMs: 0, signal: AbortSignal.timeout(120_000), waitingFor: () => {} };
    await assert.rejects(waitUntilReady(one.host, DEMAND, options), {
      reason: 'StaticPodCrashLoop',
      message: /etcd ended by SIGKILL less than 10 s ago/,
    });
  });

  test('is proven once the ends are long ago, or were asked for', async () => {
    const end = {
      id: '1',
      namespace: 'kube-system',
      attempt: 0,
      reason: 'Error',
      logPath: '/x',
      name: 'etcd',
    };
    const cri = {
      exitedContainers: async () => [
        { ...end, exitCode: 137, finishedAtMs: Date.now() - 60_000 },
        { ...end, exitCode: 0, finishedAtMs: Date.now() },
      ],
    };
    await using one = await machine({}, { cri });
    await waitUntilReady(one.host, DEMAND, {
      timeoutMs: 0,
      signal: AbortSignal.timeout(120_000),
      waitingFor: () => {},
    });
  });
});
