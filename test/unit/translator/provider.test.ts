import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { parseProfiles } from '@machineadm/translator/handover/profiles.ts';
import { NotReady } from '@machineadm/translator/provider/not-ready.ts';
import { TOKEN_MS, workloadOf } from '@machineadm/translator/provider/workload.ts';
import { connectTo } from '@machineadm/translator/provider/workload-api.ts';
import { parse, stringify } from 'yaml';
import * as z from 'zod';
import { newAuthority } from '../../support/api-server.ts';
import { addConfig, addReadyCluster, CA_HASH, CLUSTER_PATH, providing } from '../../support/machineadm-configs.ts';
import { base64, ManagementCluster, NAMESPACE } from '../../support/management-cluster.ts';
import { granted, needed } from '../../support/rights.ts';
import { waitUntil } from '../../support/wait-until.ts';

const TOKEN_ID = 'machineadm.dev/bootstrap-token-id';
const Stored = z.object({
  metadata: z.object({
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()).default({}),
    ownerReferences: z.array(z.object({ kind: z.string(), uid: z.string(), controller: z.boolean() })),
  }),
  type: z.string(),
  data: z.object({ value: z.string(), format: z.string() }),
});
const stored = (api: ManagementCluster, path: string) => Stored.parse(api.get(path));
const ready = (api: ManagementCluster, path: string) => api.conditions(path).Ready;
const plain = (value: unknown) => z.record(z.string(), z.unknown()).parse(value ?? {});

/** The document in user data of cloud-init. */
function documentIn(value: string): string {
  const { write_files: files } = parse(Buffer.from(value, 'base64').toString());
  return gunzipSync(Buffer.from(files[0].content, 'base64')).toString();
}

async function until(api: ManagementCluster, path: string, reason: string): Promise<Record<string, unknown>> {
  await waitUntil(() => ready(api, path)?.reason === reason, `${reason} at ${path}`);
  return { ...ready(api, path) };
}

describe('a MachineadmConfig of a worker', () => {
  test('gets the Secret, the status and the token of the contract', async () => {
    const api = new ManagementCluster();
    addReadyCluster(api);
    const spec = { document: { host: { sysctl: { 'vm.max_map_count': 262144 } } } };
    const { configPath, secretPath, uid } = addConfig(api, 'w-1', spec);
    await using provider = providing(api);
    const condition = await until(api, configPath, 'DataSecretCreated');
    assert.deepEqual([condition.status, condition.observedGeneration], ['True', 1]);
    assert.equal(condition.message, undefined, 'Cluster API shows a message as something to look at');
    const status = plain(api.get(configPath)?.status);
    assert.equal(status.dataSecretName, 'w-1');
    assert.deepEqual(status.initialization, { dataSecretCreated: true });
    assert.equal(api.conditions(configPath).Paused?.status, 'False');
    const secret = stored(api, secretPath);
    assert.equal(secret.type, 'cluster.x-k8s.io/secret');
    assert.equal(secret.metadata.labels['cluster.x-k8s.io/cluster-name'], 'prod-a');
    assert.deepEqual(secret.metadata.ownerReferences, [{ kind: 'MachineadmConfig', uid, controller: true }]);
    const id = secret.metadata.annotations[TOKEN_ID] ?? '';
    const { workload } = provider;
    assert.equal(workload.value(id, 'auth-extra-groups'), 'system:bootstrappers:kubeadm:default-node-token');
    const loaded = await loadDocument([{ name: 'it', bytes: Buffer.from(documentIn(secret.data.value)) }], {
      agentVersion: '0.1.0',
    });
    assert.ok(loaded.ok);
    const { kubernetes } = loaded.document.model;
    assert.equal(kubernetes?.version, 'v1.35.2');
    assert.equal(kubernetes?.role, 'Worker');
    const document = parse(documentIn(secret.data.value));
    assert.deepEqual(document.kubernetes.join.discovery.token, {
      token: { secret: 'bootstrapToken' },
      endpoint: 'api.prod-a.example:6443',
      caCertHashes: [CA_HASH],
    });
    assert.equal(document.secrets.bootstrapToken.value, `${id}.${workload.value(id, 'token-secret')}`);
    assert.deepEqual(document.metadata, { name: 'w-1', namespace: NAMESPACE, cluster: 'prod-a', uid: 'm-w-1' });
    assert.ok(!provider.said.join().includes(workload.value(id, 'token-secret')), 'the token is in the log');
  });

  test('keeps its token alive until the machine has joined, and then removes it', async () => {
    const api = new ManagementCluster();
    addReadyCluster(api);
    const { configPath, secretPath, machinePath } = addConfig(api, 'w-1');
    await using provider = providing(api);
    await until(api, configPath, 'DataSecretCreated');
    const { metadata, data } = stored(api, secretPath);
    const id = metadata.annotations[TOKEN_ID] ?? '';
    provider.workload.age(id, TOKEN_MS / 3);
    await waitUntil(() => provider.workload.expiry(id).getTime() > Date.now() + TOKEN_MS / 2, 'the extension');
    api.put(machinePath, { ...api.get(machinePath), status: { nodeRef: { name: 'w-1' } } });
    await waitUntil(() => provider.workload.secrets.size === 0, 'the removal');
    const calls = provider.workload.calls.length;
    await waitUntil(() => ready(api, configPath)?.status === 'True', 'it stays ready');
    assert.deepEqual(stored(api, secretPath).data, data, 'the Secret is written once');
    assert.equal(provider.workload.calls.length, calls, 'nothing is asked any more');
  });

  test('says that its token expired, and never makes a second one', async () => {
    const api = new ManagementCluster();
    addReadyCluster(api);
    const { configPath, secretPath } = addConfig(api, 'w-1');
    await using provider = providing(api);
    await until(api, configPath, 'DataSecretCreated');
    const before = stored(api, secretPath);
    provider.workload.secrets.clear();
    const { status, message } = await until(api, configPath, 'BootstrapTokenExpired');
    assert.equal(status, 'False');
    assert.match(String(message), /replace the Machine/);
    assert.equal(plain(api.get(configPath)?.status).dataSecretName, 'w-1');
    assert.deepEqual(stored(api, secretPath), before);
    assert.equal(provider.workload.secrets.size, 0);
  });

  test('takes a Secret that a killed run, or clusterctl move, left', async () => {
    const api = new ManagementCluster();
    addReadyCluster(api);
    const { configPath, secretPath } = addConfig(api, 'w-1');
    {
      await using _ = providing(api);
      await until(api, configPath, 'DataSecretCreated');
    }
    const { status: _, ...config } = plain(api.get(configPath));
    api.put(configPath, config);
    const before = stored(api, secretPath);
    await using provider = providing(api);
    provider.workload.secrets.set('bootstrap-token-x', { metadata: { name: 'x' }, data: {} });
    await until(api, configPath, 'BootstrapTokenExpired');
    assert.deepEqual(stored(api, secretPath), before);
  });

  test('joins another bootstrapper with the token of a Secret, and without a bootstrap token', async () => {
    const api = new ManagementCluster();
    addReadyCluster(api);
    api.put(`/api/v1/namespaces/${NAMESPACE}/secrets/rke2`, {
      metadata: { name: 'rke2', namespace: NAMESPACE },
      type: 'Opaque',
      data: { token: base64('K10abc::server:xyz') },
    });
    const { configPath, secretPath } = addConfig(api, 'w-1', {
      document: {
        kubernetes: {
          bootstrapper: { exec: { command: '/opt/bin/join', successTest: { command: ['true'] } } },
          ready: { require: 'Command' },
        },
      },
      secrets: [{ name: 'joinToken', secretRef: { name: 'rke2', key: 'token' } }],
    });
    await using provider = providing(api);
    await until(api, configPath, 'DataSecretCreated');
    assert.equal(provider.workload.secrets.size, 0);
    const document = parse(documentIn(stored(api, secretPath).data.value));
    assert.deepEqual(document.secrets, { joinToken: { value: 'K10abc::server:xyz' } });
    assert.equal(document.kubernetes.join.discovery.token.token.secret, 'joinToken');
  });
});

test('the instances of a MachinePool get a new token once all have joined', async () => {
  const api = new ManagementCluster();
  addReadyCluster(api);
  const { configPath, secretPath, machinePath } = addConfig(api, 'pool', {}, { kind: 'MachinePool' });
  await using provider = providing(api);
  await until(api, configPath, 'DataSecretCreated');
  const idOf = () => stored(api, secretPath).metadata.annotations[TOKEN_ID] ?? '';
  const first = idOf();
  assert.deepEqual(parse(documentIn(stored(api, secretPath).data.value)).metadata, {
    name: 'pool',
    namespace: NAMESPACE,
    cluster: 'prod-a',
  });
  provider.workload.age(first, TOKEN_MS / 3);
  await waitUntil(() => provider.workload.expiry(first).getTime() > Date.now() + TOKEN_MS / 2, 'the extension');
  assert.equal(idOf(), first, 'one has not joined yet');
  api.put(machinePath, { ...api.get(machinePath), status: { nodeRefs: [{ name: 'a' }, { name: 'b' }] } });
  provider.workload.age(first, TOKEN_MS / 3);
  await waitUntil(() => idOf() !== first, 'the rotation');
  assert.ok(provider.workload.expiry(idOf()).getTime() > Date.now() + TOKEN_MS / 2);
  provider.workload.secrets.clear();
  const second = idOf();
  await waitUntil(() => idOf() !== second, 'a pool heals');
});

describe('a MachineadmConfig that is not ready says why, and creates nothing', () => {
  const decided = { document: { kubernetes: { version: 'v1.36.0', join: {} }, metadata: { name: 'x' } } };
  const referring = (name: string, key = 'key') => ({ secrets: [{ name: 'own', secretRef: { name, key } }] });
  for (const [reason, message, spec, change] of [
    ['WaitingForClusterInfrastructure', /infrastructure/, {}, { status: { initialization: {} } }],
    ['WaitingForClusterInfrastructure', /infrastructure/, {}, { spec: { controlPlaneEndpoint: undefined } }],
    [
      'WaitingForControlPlaneInitialized',
      /not initialized/,
      {},
      { status: { initialization: { infrastructureProvisioned: true } } },
    ],
    ['DocumentInvalid', /kubernetes\.version: leave it out: it is decided by spec\.version/, decided, {}],
    ['DocumentInvalid', /host\.sysctls: unknown key \(hint: .*sysctl/, { document: { host: { sysctls: {} } } }, {}],
    ['DocumentInvalid', /secrets\.a: everyone who reads/, { document: { secrets: { a: { value: 'SECRET' } } } }, {}],
    [
      'DocumentInvalid',
      /joinToken is for/,
      { secrets: [{ name: 'joinToken', secretRef: { name: 'a', key: 'b' } }] },
      {},
    ],
    ['SecretUnavailable', /Secret gone does not exist/, referring('gone'), {}],
    ['SecretUnavailable', /which no machine may get/, referring('prod-a-kubeconfig', 'value'), {}],
    ['SecretUnavailable', /no value for the key other/, referring('mine', 'other'), {}],
    ['OptionsInvalid', /no profile "gone"/, { profile: 'gone' }, {}],
  ] as const) {
    test(`${reason}: ${message.source}`, async () => {
      const api = new ManagementCluster();
      addReadyCluster(api, change);
      api.put(`/api/v1/namespaces/${NAMESPACE}/secrets/mine`, {
        metadata: { name: 'mine' },
        data: { key: base64('v') },
      });
      const { configPath, secretPath } = addConfig(api, 'w-1', spec);
      await using provider = providing(api);
      const condition = await until(api, configPath, reason);
      assert.equal(condition.status, 'False');
      assert.match(String(condition.message), message);
      assert.ok(!JSON.stringify(condition).includes('SECRET'));
      assert.equal(api.get(secretPath), undefined);
      assert.equal(provider.workload.secrets.size, 0);
      assert.equal(plain(api.get(configPath)?.status).initialization, undefined);
      await waitUntil(() => [...api.objects.keys()].some((path) => path.includes('/events/')), 'the Event');
    });
  }

  test('VersionMissing', async () => {
    const api = new ManagementCluster();
    addReadyCluster(api);
    const { configPath, secretPath } = addConfig(api, 'w-1', {}, { machine: { version: undefined } });
    await using _ = providing(api);
    await until(api, configPath, 'VersionMissing');
    assert.equal(api.get(secretPath), undefined);
  });

  test('DataSecretExists: what belongs to something else stays as it is', async () => {
    const api = new ManagementCluster();
    addReadyCluster(api);
    const { configPath, secretPath } = addConfig(api, 'w-1');
    api.put(secretPath, { metadata: { name: 'w-1' }, type: 'Opaque', data: { a: 'b' } });
    const before = api.get(secretPath);
    await using _ = providing(api);
    await until(api, configPath, 'DataSecretExists');
    assert.deepEqual(api.get(secretPath), before);
  });

  test('WorkloadClusterUnreachable: without the text of the answer', async () => {
    const api = new ManagementCluster();
    addReadyCluster(api);
    const { configPath, secretPath } = addConfig(api, 'w-1');
    await using provider = providing(api);
    provider.workload.failing = 403;
    const { message } = await until(api, configPath, 'WorkloadClusterUnreachable');
    assert.equal(message, 'the API server of the Cluster answers with HTTP status 403');
    assert.equal(api.get(secretPath), undefined);
    provider.workload.failing = undefined;
    await until(api, configPath, 'DataSecretCreated');
  });

  for (const how of ['the Cluster', 'the object'] as const) {
    test(`paused by ${how}, until it is not`, async () => {
      const api = new ManagementCluster();
      addReadyCluster(api, how === 'the Cluster' ? { spec: { paused: true } } : {});
      const annotations = how === 'the object' ? { 'cluster.x-k8s.io/paused': '' } : {};
      const { configPath, secretPath } = addConfig(api, 'w-1', {}, { metadata: { annotations } });
      await using _ = providing(api);
      await waitUntil(() => api.conditions(configPath).Paused?.status === 'True', 'the condition');
      assert.equal(api.get(secretPath), undefined);
      assert.equal(ready(api, configPath), undefined);
      if (how === 'the Cluster') addReadyCluster(api);
      else
        api.put(configPath, {
          ...api.get(configPath),
          metadata: { ...plain(api.get(configPath)?.metadata), annotations: {} },
        });
      await until(api, configPath, 'DataSecretCreated');
      assert.equal(api.conditions(configPath).Paused?.status, 'False');
    });
  }

  test('without an owner, nothing is done', async () => {
    const api = new ManagementCluster();
    addReadyCluster(api);
    const { configPath, secretPath } = addConfig(api, 'w-1', {}, { metadata: { ownerReferences: [] } });
    const other = addConfig(api, 'w-2');
    await using _ = providing(api);
    await until(api, other.configPath, 'DataSecretCreated');
    assert.equal(api.get(secretPath), undefined);
    assert.equal(ready(api, configPath), undefined);
  });
});

test('an object that is not as its definition says stops no other one', async () => {
  const api = new ManagementCluster();
  addReadyCluster(api);
  const damaged = addConfig(api, 'a-1', { format: 'none' });
  const other = addConfig(api, 'w-1');
  await using _ = providing(api);
  await until(api, other.configPath, 'DataSecretCreated');
  assert.equal(ready(api, damaged.configPath), undefined);
  assert.equal(api.get(damaged.secretPath), undefined);
});

test('a profile of the operator says how machineadm comes to the machine', async () => {
  const api = new ManagementCluster();
  addReadyCluster(api);
  const profiles = parseProfiles('profiles: {edge: {binary: /opt/machineadm, document: {host: {hostname: edge}}}}');
  const { configPath, secretPath } = addConfig(api, 'w-1', { profile: 'edge' });
  await using _ = providing(api, profiles);
  await until(api, configPath, 'DataSecretCreated');
  const { value } = stored(api, secretPath).data;
  assert.match(Buffer.from(value, 'base64').toString(), /\/opt\/machineadm/);
  assert.equal(parse(documentIn(value)).host.hostname, 'edge');
});

test('a Cluster of v1beta1 is read too', async () => {
  const api = new ManagementCluster();
  addReadyCluster(api, {
    status: {
      initialization: undefined,
      infrastructureReady: true,
      conditions: [{ type: 'ControlPlaneInitialized', status: 'True' }],
    },
  });
  const { configPath } = addConfig(api, 'w-1');
  await using _ = providing(api);
  await until(api, configPath, 'DataSecretCreated');
  assert.ok(api.get(CLUSTER_PATH));
});

describe('a kubeconfig of a Cluster', () => {
  const authority = newAuthority();
  const cluster = {
    server: 'https://api.prod-a.example:6443',
    'certificate-authority-data': base64(authority.certificate),
  };
  const kubeconfig = (change: object = {}, user: object = { token: 'abc' }) =>
    stringify({
      'current-context': 'it',
      contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
      clusters: [{ name: 'it', cluster: { ...cluster, ...change } }],
      users: [{ name: 'it', user }],
    });

  test('gives the hash of the authority', async () => {
    assert.match((await workloadOf(kubeconfig())).caCertHashes.join(), /^sha256:[0-9a-f]{64}$/);
  });

  for (const [what, text] of [
    ['starts a program', kubeconfig({}, { exec: { command: '/bin/sh' } })],
    ['names a file of the controller', kubeconfig({}, { tokenFile: '/var/run/secrets/token' })],
    ['adds a file to a token', kubeconfig({}, { token: 'a', tokenFile: '/var/run/secrets/token' })],
    ['names a file as authority', kubeconfig({ 'certificate-authority': '/etc/passwd' })],
    ['trusts anybody', kubeconfig({ 'insecure-skip-tls-verify': true })],
    ['sends through a proxy', kubeconfig({ 'proxy-url': 'http://attacker.example' })],
    ['has no TLS', kubeconfig({ server: 'http://api.prod-a.example' })],
    ['has no authority', kubeconfig({ 'certificate-authority-data': base64('none') })],
    ['has no context', 'clusters: []'],
    ['is no YAML', '{'],
    ['would take minutes to read', `${'? '.repeat(400)}x`],
  ] as const) {
    test(`is refused where it ${what}`, async () => {
      await assert.rejects(
        () => workloadOf(text),
        (error) => error instanceof NotReady && error.reason === 'WorkloadClusterUnreachable',
      );
    });
  }
});

test('the bootstrap provider has the rights that a run needs, and those of the translator', async () => {
  const api = new ManagementCluster();
  const watch = api.watch.bind(api);
  api.watch = async (path, ...more) => {
    api.calls.push(`WATCH ${path}`);
    await watch(path, ...more);
  };
  addReadyCluster(api);
  const machine = addConfig(api, 'w-1');
  const pool = addConfig(api, 'pool', {}, { kind: 'MachinePool' });
  await using provider = providing(api);
  await until(api, machine.configPath, 'DataSecretCreated');
  await until(api, pool.configPath, 'DataSecretCreated');
  api.put(pool.machinePath, { ...api.get(pool.machinePath), status: { nodeRefs: [{ name: 'a' }, { name: 'b' }] } });
  provider.workload.age(stored(api, pool.secretPath).metadata.annotations[TOKEN_ID] ?? '', TOKEN_MS / 3);
  await waitUntil(() => api.calls.some((call) => call === `PUT ${pool.secretPath}`), 'the rotation');
  await waitUntil(() => api.calls.some((call) => call.startsWith('WATCH') && call.endsWith('/machines')), 'the watch');
  const used = new Set(api.calls.flatMap((call) => needed(call) ?? []));
  const own = granted('packaging/bootstrap-provider/rbac.yaml');
  const shared = granted('packaging/translator/base/rbac.yaml');
  assert.deepEqual([...used].filter((one) => !own.has(one) && !shared.has(one)).sort(), [], 'rights that are missing');
  assert.deepEqual(
    [...own].filter((one) => !used.has(one)),
    [],
    'rights that nothing uses',
  );
});

test('an API server of a tenant cannot send without end, nor send the controller elsewhere', async () => {
  const authority = newAuthority();
  const { certificate, key } = authority.issue('it', ['localhost']);
  let asked = 0;
  const server = createServer({ cert: certificate, key }, (request, response) => {
    asked += 1;
    if (request.url === '/large') {
      response.writeHead(200);
      response.on('error', () => undefined);
      for (let left = 20; left > 0; left -= 1) response.write(Buffer.alloc(131_072));
    } else response.writeHead(302, { location: '/large' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = z.object({ port: z.number() }).parse(server.address());
  const connection = { server: `https://localhost:${port}`, serverName: undefined, token: 'abc' };
  const api = connectTo({ ...connection, certificateAuthority: authority.certificate });
  await assert.rejects(api.request({ path: '/elsewhere' }), { status: 302 });
  assert.equal(asked, 1);
  await assert.rejects(api.request({ path: '/large' }), /too large/);
  const other = connectTo({ ...connection, certificateAuthority: newAuthority('other').certificate });
  await assert.rejects(other.request({ path: '/' }), /certificate/);
  assert.equal(asked, 2);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
