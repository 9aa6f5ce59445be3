import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServedVersions } from '@machineadm/translator/cluster/related.ts';
import { markOf, TRANSLATED } from '@machineadm/translator/handover/mark.ts';
import { NO_PROFILES, type Profiles, parseProfiles } from '@machineadm/translator/handover/profiles.ts';
import { Workloads } from '@machineadm/translator/provider/workloads.ts';
import { answerHook } from '@machineadm/translator/updates/hooks.ts';
import type { Updates } from '@machineadm/translator/updates/update.ts';
import { parse } from 'yaml';
import * as z from 'zod';
import { DIRECT_CONVERSIONS } from '../../support/direct-conversions.ts';
import { addConfig, addReadyCluster, CA_HASH } from '../../support/machineadm-configs.ts';
import { base64, ENABLED, ManagementCluster, NAMESPACE } from '../../support/management-cluster.ts';
import { granted, needed } from '../../support/rights.ts';
import { WorkloadNode } from '../../support/workload-node.ts';

const HOOKS = '/hooks.runtime.cluster.x-k8s.io/v1alpha1';
const IN_PROGRESS = 'in-place-updates.internal.cluster.x-k8s.io/update-in-progress';
const OLD = 'v1.35.2';
const NEW = 'v1.35.3';
const IMAGE = 'registry.example/machineadm:0.1.0';

const Answer = z.looseObject({
  apiVersion: z.literal('hooks.runtime.cluster.x-k8s.io/v1alpha1'),
  kind: z.string(),
  status: z.string(),
  message: z.string().default(''),
  retryAfterSeconds: z.number().optional(),
});
const Patch = z.object({ patchType: z.literal('JSONPatch'), patch: z.string() });
const Operations = z.array(z.object({ op: z.literal('add'), path: z.string(), value: z.unknown() }));

function updatesOf(api: ManagementCluster, node: WorkloadNode, profiles: Profiles = NO_PROFILES): Updates {
  const conversions = DIRECT_CONVERSIONS;
  const versions = new ServedVersions(api);
  const workloads = new Workloads(api, async () => ({ api: node, caCertHashes: [CA_HASH] }));
  return { api, versions, profiles: async () => profiles, conversions, version: '0.1.0', workloads, image: IMAGE };
}

async function ask(updates: Updates, hook: string, request: object): Promise<z.infer<typeof Answer>> {
  const signal = new AbortController().signal;
  const answer = await answerHook(`${HOOKS}/${hook}`, JSON.stringify(request), updates, signal, () => undefined);
  return Answer.parse(answer);
}

/** A document whose programs come with it. */
const FILES = ['kubeadm', 'kubelet'].map((name) => ({
  path: `/usr/local/bin/${name}`,
  contentFrom: { http: { url: `https://mirror.example/${name}`, sha256: 'a'.repeat(64) } },
  mode: '0755',
}));
const DOCUMENT = { host: { files: FILES } };
const kubelet = (config: object) => ({ kubernetes: { node: { kubelet: { config } } } });
const EXEC = {
  kubernetes: {
    bootstrapper: { exec: { command: '/opt/bin/join', successTest: { command: ['true'] } } },
    ready: { require: 'Command' },
  },
};

interface Sides {
  readonly version?: string;
  readonly document?: object;
  readonly infrastructure?: object;
  readonly kind?: string;
  readonly spec?: object;
  readonly labels?: object;
}

const machineSide = ({ version = OLD, document = DOCUMENT, infrastructure = {}, kind, spec, labels }: Sides) => ({
  machine: {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Machine',
    metadata: { name: 'w-1', namespace: NAMESPACE, labels },
    spec: { clusterName: 'prod-a', version, bootstrap: { dataSecretName: 'w-1' } },
  },
  infrastructureMachine: { apiVersion: 'x/v1', kind: 'FakeMachine', metadata: { name: 'w-1' }, spec: infrastructure },
  bootstrapConfig: {
    apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1',
    kind: kind ?? 'MachineadmConfig',
    metadata: { name: 'w-1', namespace: NAMESPACE },
    spec: spec ?? { document },
  },
});
const setSide = ({ version = OLD, document = DOCUMENT, infrastructure = {}, kind, spec, labels }: Sides) => ({
  machineSet: {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'MachineSet',
    metadata: { name: 'w', namespace: NAMESPACE },
    spec: { template: { metadata: { labels }, spec: { clusterName: 'prod-a', version, bootstrap: {} } } },
  },
  infrastructureMachineTemplate: {
    apiVersion: 'x/v1',
    kind: 'FakeMachineTemplate',
    metadata: { name: 'w' },
    spec: { template: { spec: infrastructure } },
  },
  bootstrapConfigTemplate: {
    apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1',
    kind: `${kind ?? 'MachineadmConfig'}Template`,
    metadata: { name: 'w', namespace: NAMESPACE },
    spec: { template: { spec: spec ?? { document } } },
  },
});

/** An object after the patch of an answer: what Cluster API compares with the desired one. */
function patched(object: object, patch: unknown): unknown {
  const copy = structuredClone(object);
  const operations = Operations.parse(JSON.parse(Buffer.from(Patch.parse(patch).patch, 'base64').toString()));
  for (const { path, value } of operations) {
    const [, ...names] = path.split('/');
    const last = names.pop() ?? '';
    let at: Record<string, unknown> = copy as never;
    for (const name of names) at = at[name] as Record<string, unknown>;
    at[last] = value;
  }
  return copy;
}

const containerd = (version: string, path: string) => ({
  host: { files: [{ path, content: 'program', mode: '0755' }] },
  containerRuntime: { containerd: { version } },
});

describe('whether machines can be changed in place', () => {
  async function machine(
    current: Sides,
    desired: Sides,
    change: (api: ManagementCluster) => void = () => undefined,
    profiles?: Profiles,
  ) {
    const api = new ManagementCluster();
    addReadyCluster(api);
    change(api);
    const request = { current: machineSide(current), desired: machineSide(desired) };
    return {
      request,
      answer: await ask(
        updatesOf(api, new WorkloadNode('w-1', OLD), profiles),
        'canupdatemachine/can-update-machine',
        request,
      ),
      api,
    };
  }
  const why = async (...of: Parameters<typeof machine>): Promise<string> => {
    const { answer } = await machine(...of);
    assert.equal(answer.status, 'Success');
    assert.ok(!('machinePatch' in answer) && !('bootstrapConfigPatch' in answer), 'no patch');
    return answer.message;
  };

  test('another version and its programs: the patches make the desired objects of the current ones', async () => {
    const document = { host: { files: FILES, sysctl: { 'vm.max_map_count': 262144 } } };
    const { request, answer, api } = await machine({}, { version: NEW, document });
    assert.equal(answer.kind, 'CanUpdateMachineResponse');
    const { current, desired } = request;
    assert.deepEqual(patched(current.machine, answer.machinePatch), desired.machine);
    assert.deepEqual(patched(current.bootstrapConfig, answer.bootstrapConfigPatch), desired.bootstrapConfig);
    assert.deepEqual(api.writes, []);
  });

  test('of a MachineSet, in its templates', async () => {
    const api = new ManagementCluster();
    addReadyCluster(api);
    const request = { current: setSide({}), desired: setSide({ version: NEW }) };
    const updates = updatesOf(api, new WorkloadNode('w-1', OLD));
    const answer = await ask(updates, 'canupdatemachineset/can-update-machine-set', request);
    assert.equal(answer.kind, 'CanUpdateMachineSetResponse');
    assert.deepEqual(patched(request.current.machineSet, answer.machineSetPatch), request.desired.machineSet);
    const template = patched(request.current.bootstrapConfigTemplate, answer.bootstrapConfigTemplatePatch);
    assert.deepEqual(template, request.desired.bootstrapConfigTemplate);
  });

  test('settings of the kubelet, which machineadm upgrade changes', async () => {
    const { answer } = await machine({ document: {} }, { document: kubelet({ maxPods: 90 }) });
    assert.ok('bootstrapConfigPatch' in answer, answer.message);
  });

  test('what provision may change on a node needs no programs', async () => {
    const { answer } = await machine(
      { document: {} },
      { document: { host: { sysctl: { 'vm.max_map_count': 262144 } } } },
    );
    assert.ok('bootstrapConfigPatch' in answer, answer.message);
  });

  test('a newer containerd that the document brings', async () => {
    const current = { document: { containerRuntime: { containerd: { version: '1.7.24' } } } };
    const { answer } = await machine(current, { document: containerd('2.1.9', '/usr/bin/containerd') });
    assert.ok('bootstrapConfigPatch' in answer, answer.message);
  });

  for (const [what, current, desired, expected] of [
    [
      'an older containerd',
      { document: containerd('2.1.9', '/usr/bin/containerd') },
      { document: containerd('1.7.24', '/usr/bin/containerd') },
      /containerd cannot be downgraded from 2\.1\.9 to 1\.7\.24/,
    ],
    [
      'a containerd that nothing brings',
      { document: {} },
      { document: { containerRuntime: { containerd: { version: '2.1.9' } } } },
      /brings containerd 2\.1\.9/,
    ],
    [
      'programs that nothing brings',
      { document: {} },
      { document: {}, version: NEW },
      /brings kubeadm and the kubelet/,
    ],
    ['other infrastructure', {}, { infrastructure: { image: 'new' } }, /^the infrastructure/],
    ['an older version', { version: NEW }, { version: OLD }, /cannot be downgraded/],
    ['two minor versions', {}, { version: 'v1.37.0' }, /more than one minor version/],
    [
      'another name of the node',
      {},
      { document: { ...DOCUMENT, kubernetes: { node: { name: 'other' } } } },
      /cannot change/,
    ],
    [
      'another port of the kubelet',
      { document: {} },
      { document: kubelet({ port: 10251 }) },
      /kubelet: port cannot change/,
    ],
    [
      'a setting of the kubelet that is left out',
      { document: kubelet({ maxPods: 90 }) },
      { document: {} },
      /maxPods is left out/,
    ],
    ['another bootstrapper', { document: EXEC }, { document: EXEC, version: NEW }, /only nodes that kubeadm made/],
    ['an invalid document', {}, { document: { host: { sysctl: 7 } } }, /DocumentInvalid: host\.sysctl/],
    ['another bootstrap provider', { kind: 'OtherConfig', spec: {} }, { kind: 'OtherConfig', spec: {} }, /OtherConfig/],
    [
      'a cluster that did not opt in',
      { kind: 'KubeadmConfig', spec: {} },
      { kind: 'KubeadmConfig', spec: {}, version: NEW },
      /opt in/,
    ],
  ] as const) {
    test(`not with ${what}`, async () => assert.match(await why(current, desired), expected));
  }

  const PROFILES = parseProfiles(`profiles: {default: {document: {host: {files: ${JSON.stringify(FILES)}}}}}`);
  const kubeadm = (sides: Sides): Sides => ({ kind: 'KubeadmConfig', spec: {}, labels: ENABLED, ...sides });
  const store = (value: string) => (api: ManagementCluster) =>
    api.put(`/api/v1/namespaces/${NAMESPACE}/secrets/w-1`, {
      metadata: { name: 'w-1', annotations: { [TRANSLATED]: value } },
      data: { value: base64('document') },
    });
  const translated = store(markOf(base64('document')));

  test('of a KubeadmConfig: its version, where machineadm bootstrapped it and the profile brings programs', async () => {
    const { answer } = await machine(kubeadm({}), kubeadm({ version: NEW }), translated, PROFILES);
    assert.ok('machinePatch' in answer, answer.message);
    const gates = { clusterConfiguration: { featureGates: { ControlPlaneKubeletLocalMode: true } } };
    const dropped = await machine(kubeadm({ spec: gates }), kubeadm({ version: NEW }), translated, PROFILES);
    assert.ok('machinePatch' in dropped.answer, 'Cluster API drops a gate with the version');
    const other = kubeadm({ version: NEW, spec: { files: [{ path: '/etc/x' }] } });
    assert.match(await why(kubeadm({}), other, translated, PROFILES), /KubeadmConfig changes/);
    assert.match(
      await why(kubeadm({}), kubeadm({ version: NEW }), store('sha256:other'), PROFILES),
      /kubeadm bootstrapped/,
    );
    assert.match(await why(kubeadm({}), kubeadm({ version: NEW }), translated), /profile brings no kubeadm/);
  });

  test('a request that is none fails, and writes nothing', async () => {
    const api = new ManagementCluster();
    const answer = await ask(updatesOf(api, new WorkloadNode('w-1', OLD)), 'canupdatemachine', { current: {} });
    assert.deepEqual([answer.status, answer.message], ['Failure', 'the request is not as this hook has it']);
    assert.deepEqual(api.calls, []);
  });

  test('the discovery names every hook', async () => {
    const { handlers } = await ask(updatesOf(new ManagementCluster(), new WorkloadNode('w-1', OLD)), 'discovery', {});
    const names = z
      .array(z.looseObject({ name: z.string(), requestHook: z.looseObject({ hook: z.string() }) }))
      .parse(handlers);
    assert.deepEqual(
      names.map(({ name, requestHook }) => [name, requestHook.hook]),
      [
        ['can-update-machine', 'CanUpdateMachine'],
        ['can-update-machine-set', 'CanUpdateMachineSet'],
        ['update-machine', 'UpdateMachine'],
      ],
    );
  });
});

describe('an update in place', () => {
  /** A machine that Cluster API updates, and its node. */
  function machine({ isInProgress = true, document = DOCUMENT as object, version = NEW, annotations = {} } = {}) {
    const api = new ManagementCluster();
    addReadyCluster(api);
    const { machinePath, configPath } = addConfig(api, 'w-1', { document }, { machine: { version } });
    const stored = z.looseObject({ metadata: z.looseObject({}) }).parse(api.get(machinePath));
    const marks = isInProgress ? { [IN_PROGRESS]: '', ...annotations } : annotations;
    api.put(machinePath, {
      ...stored,
      metadata: { ...stored.metadata, name: 'w-1', annotations: marks },
      status: { nodeRef: { name: 'node-1' } },
    });
    const node = new WorkloadNode('node-1', OLD);
    const updates = updatesOf(api, node);
    const names = () => [...node.pods.keys()].filter((one) => one.startsWith('kube-system/machineadm-update'));
    return {
      ...{ api, node, machinePath, configPath, updates, names },
      pod: (phase: 'check' | 'run') =>
        names()
          .find((one) => one.endsWith(`-${phase}`))
          ?.split('/')[1] ?? assert.fail(`no pod ${phase}: ${names().join()}`),
      // What the request says of the machine is not believed.
      next: async () =>
        await ask(updates, 'updatemachine/update-machine', {
          desired: {
            machine: {
              apiVersion: 'cluster.x-k8s.io/v1beta2',
              kind: 'Machine',
              metadata: { name: 'w-1', namespace: NAMESPACE, annotations: { [IN_PROGRESS]: '' } },
              spec: { version: 'v9.9.9' },
            },
          },
        }),
    };
  }
  const State = z.looseObject({
    spec: z.looseObject({
      nodeName: z.string(),
      containers: z.tuple([z.looseObject({ image: z.string(), command: z.array(z.string()) })]),
    }),
  });
  const commandOf = (one: ReturnType<typeof machine>, phase: 'check' | 'run') => {
    const { nodeName, containers } = State.parse(one.node.pods.get(`kube-system/${one.pod(phase)}`)).spec;
    assert.deepEqual([nodeName, containers[0].image], ['node-1', IMAGE]);
    return containers[0].command.join(' ');
  };

  test('checks, drains, runs, waits for the version, and leaves nothing', async () => {
    const one = machine();
    one.node.addPod('web', {
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: '1', controller: true }],
    });
    assert.match((await one.next()).message, /^machineadm checks whether anything is in the way on node node-1$/);
    assert.match(
      commandOf(one, 'check'),
      /machineadm upgrade --drained --dry-run -f \/var\/lib\/kubelet\/pods\/\$\(POD_UID\)\/\S+document-1\.yaml$/,
    );
    const [secret] = one.node.secrets.values();
    const [text = ''] = Object.values(z.record(z.string(), z.string()).parse(secret?.data)).map((value) =>
      Buffer.from(value, 'base64').toString(),
    );
    assert.equal(parse(text).kubernetes.version, NEW);
    assert.ok(one.node.pods.has('default/web'), 'nothing is drained for an update that may be refused');
    assert.equal(one.node.node.spec.unschedulable, undefined);
    one.node.end(one.pod('check'), 0);
    const draining = await one.next();
    assert.equal(one.node.node.spec.unschedulable, true);
    assert.match(draining.message, /^one pod has to leave the node: default\/web$/);
    const { message, retryAfterSeconds = 0 } = await one.next();
    assert.match(message, /^machineadm upgrade runs on node node-1$/);
    assert.ok(retryAfterSeconds > 0);
    assert.match(commandOf(one, 'run'), /machineadm upgrade --drained -f /);
    assert.match((await one.next()).message, /upgrade runs/);
    one.node.end(one.pod('run'), 0);
    assert.match((await one.next()).message, /still reports the version v1\.35\.2/);
    one.node.node.status.nodeInfo.kubeletVersion = NEW;
    const done = await one.next();
    assert.deepEqual([done.status, done.retryAfterSeconds, done.message], ['Success', 0, '']);
    assert.deepEqual([one.names(), one.node.secrets.size, one.node.node.spec.unschedulable], [[], 0, undefined]);
    assert.deepEqual(one.node.node.metadata.annotations, {});
    assert.deepEqual(one.api.writes, [], 'nothing is written on the management cluster');
  });

  test('needs the rights of packaging/in-place-updates, and no other of it is there', async () => {
    const one = machine();
    await one.next();
    const used = new Set(one.api.calls.flatMap((call) => needed(call) ?? []));
    const own = granted('packaging/in-place-updates/rbac.yaml');
    const base = [
      ...granted('packaging/translator/base/rbac.yaml'),
      ...granted('packaging/bootstrap-provider/rbac.yaml'),
    ];
    assert.deepEqual(
      [...used].filter((right) => !own.has(right) && !base.includes(right)),
      [],
    );
    assert.deepEqual(
      [...own].filter((right) => !used.has(right)),
      [],
    );
  });

  test('without another version disturbs no pod', async () => {
    const one = machine({ version: OLD });
    one.node.addPod('web');
    await one.next();
    assert.deepEqual(
      one.names().map((name) => name.split('-').at(-1)),
      ['run'],
    );
    one.node.end(one.pod('run'), 0);
    assert.equal((await one.next()).retryAfterSeconds, 0);
    assert.ok(one.node.pods.has('default/web'));
  });

  test('is not begun where Cluster API did not begin it', async () => {
    const one = machine({ isInProgress: false });
    assert.match((await one.next()).message, /updates no such Machine/);
    assert.deepEqual(one.node.calls, []);
  });

  test('a drain leaves what Cluster API leaves, and says what a budget forbids, without the words of the cluster', async () => {
    const one = machine();
    const owner = (kind: string) => ({
      ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'x', uid: '1', controller: true }],
    });
    one.node.addPod('daemon', owner('DaemonSet'));
    one.node.addPod('static', { annotations: { 'kubernetes.io/config.mirror': 'x' } });
    one.node.addPod('stays', { labels: { 'cluster.x-k8s.io/drain': 'skip' } });
    one.node.addPod('leaving', { deletionTimestamp: '2026-01-01T00:00:00Z' });
    one.node.addPod('bound', owner('StatefulSet'));
    one.node.protected.add('default/bound');
    one.node.page = 2;
    await one.next();
    one.node.end(one.pod('check'), 0);
    const { message } = await one.next();
    assert.equal(
      message,
      '2 pods have to leave the node: default/leaving, default/bound; a PodDisruptionBudget forbids it now: default/bound',
    );
    assert.deepEqual(one.node.calls.filter((call) => call.endsWith('/eviction')).length, 1);
    one.node.pods.delete('default/leaving');
    one.node.protected.clear();
    await one.next();
    await one.next();
    one.pod('run');
  });

  test('with the annotation of Cluster API, evicts and cordons nothing', async () => {
    const one = machine({ annotations: { 'machine.cluster.x-k8s.io/exclude-node-draining': '' } });
    one.node.addPod('web');
    await one.next();
    one.node.end(one.pod('check'), 0);
    await one.next();
    one.pod('run');
    assert.deepEqual([one.node.pods.has('default/web'), one.node.node.spec.unschedulable], [true, undefined]);
  });

  test('a node that was cordoned before stays so', async () => {
    const one = machine();
    one.node.node.spec.unschedulable = true;
    await one.next();
    one.node.end(one.pod('check'), 0);
    await one.next();
    one.node.end(one.pod('run'), 0);
    one.node.node.status.nodeInfo.kubeletVersion = NEW;
    assert.equal((await one.next()).retryAfterSeconds, 0);
    assert.equal(one.node.node.spec.unschedulable, true);
  });

  test('tells why it was refused, and asks again after a while', async () => {
    const one = machine();
    await one.next();
    const said =
      '\u001b[31mx\u001b[0m\nmachineadm: the kubelet would be newer [UpgradeVersionSkew]\n\u0007Upgrade the control planes first.';
    one.node.end(one.pod('check'), 4, said);
    const { status, message, retryAfterSeconds = 0 } = await one.next();
    assert.equal(status, 'Success', 'Cluster API shows no message of a failure');
    assert.equal(
      message,
      'machineadm upgrade --dry-run on node node-1: machineadm: the kubelet would be newer [UpgradeVersionSkew] Upgrade the control planes first.',
    );
    assert.ok(retryAfterSeconds > 0);
    one.node.end(one.pod('check'), 4, said, new Date(Date.now() - 120_000));
    await one.next();
    assert.deepEqual(one.names(), []);
    await one.next();
    // The second attempt gets twice the pause.
    one.node.end(one.pod('check'), 4, said, new Date(Date.now() - 90_000));
    await one.next();
    one.node.end(one.pod('check'), 4, said, new Date(Date.now() - 150_000));
    await one.next();
    assert.deepEqual(one.names(), []);
  });

  test('an order that changes takes the place of one that has ended, and of none that works', async () => {
    const one = machine();
    await one.next();
    one.node.end(one.pod('check'), 0);
    await one.next();
    const before = one.node.pods.get(`kube-system/${one.pod('run')}`);
    const config = z.looseObject({ metadata: z.looseObject({}) }).parse(one.api.get(one.configPath));
    one.api.put(one.configPath, {
      ...config,
      metadata: { ...config.metadata, name: 'w-1' },
      spec: { document: { host: { files: FILES, timezone: 'UTC' } } },
    });
    await one.next();
    assert.equal(one.node.pods.get(`kube-system/${one.pod('run')}`), before);
    one.node.end(one.pod('run'), 0);
    one.node.node.status.nodeInfo.kubeletVersion = NEW;
    await one.next();
    await one.next();
    assert.notEqual(one.node.pods.get(`kube-system/${one.pod('run')}`), before);
    const [secret] = one.node.secrets.values();
    const [text = ''] = Object.values(z.record(z.string(), z.string()).parse(secret?.data)).map((value) =>
      Buffer.from(value, 'base64').toString(),
    );
    assert.equal(parse(text).host.timezone, 'UTC');
  });

  test('an image that cannot be pulled is told', async () => {
    const one = machine();
    await one.next();
    one.node.say(one.pod('check'), {
      phase: 'Pending',
      containerStatuses: [{ state: { waiting: { reason: 'ErrImagePull', message: 'no such host' } } }],
    });
    assert.match((await one.next()).message, /\(ErrImagePull no such host\)$/);
    const corrected = { ...one.updates, image: 'registry.example/machineadm:0.1.1' };
    const machines = { desired: { machine: one.api.get(one.machinePath) } };
    await ask(corrected, 'updatemachine', machines);
    assert.deepEqual(one.names(), [], 'it has begun nothing, and makes room for the correction');
  });

  test('a workload cluster that does not answer is waited for', async () => {
    const one = machine();
    one.api.remove(`/api/v1/namespaces/${NAMESPACE}/secrets/prod-a-kubeconfig`);
    const { status, message, retryAfterSeconds = 0 } = await one.next();
    assert.match(message, /^WorkloadClusterUnreachable: there is no Secret prod-a-kubeconfig$/);
    assert.deepEqual([status, retryAfterSeconds > 0], ['Success', true]);
  });

  test('an answer that is no object of Kubernetes is the fault of the workload cluster, and said to be so', async () => {
    const said = 'WorkloadClusterUnreachable: the API server of the Cluster answers with an unexpected object';
    const pod = machine();
    await pod.next();
    pod.node.say(pod.pod('check'), { phase: 7 });
    assert.equal((await pod.next()).message, said);
    const node = machine();
    node.node.node.status.nodeInfo.kubeletVersion = [] as never;
    assert.equal((await node.next()).message, said);
    const secret = machine();
    await secret.next();
    secret.node.end(secret.pod('check'), 4, 'refused');
    const [[key = '', stored] = []] = secret.node.secrets;
    secret.node.secrets.set(key, { ...stored, metadata: { name: 'a', annotations: 7 } });
    assert.equal((await secret.next()).message, said);
  });
});
