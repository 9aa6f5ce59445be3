import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServedVersions } from '@machineadm/translator/cluster/related.ts';
import { type Mark, translatedMark } from '@machineadm/translator/handover/mark.ts';
import { NO_PROFILES, type Profiles, parseProfiles } from '@machineadm/translator/handover/profiles.ts';
import { reconcile } from '@machineadm/translator/reconcile/reconciler.ts';
import { newMetrics } from '@machineadm/translator/telemetry/metrics.ts';
import { base64, ENABLED, ManagementCluster, type SecretOfProvider } from '../../support/management-cluster.ts';
import { waitUntil } from '../../support/wait-until.ts';

const TYPE = 'machineadm.dev/BootstrapTranslated';
const MARK: Mark = { version: '0.1.0', profile: 'default', codes: [], notes: [] };
const MACHINES = '/apis/cluster.x-k8s.io/v1beta2/machines';
const CONFIGS = '/apis/bootstrap.cluster.x-k8s.io/v1beta2/kubeadmconfigs';
const SERVER = "report: {server: 'https://management.example:6443'}";

/** A Secret with a translation of its value. */
function translated(secret: SecretOfProvider, mark: Partial<Mark> = {}): object {
  const value = base64('#cloud-config\n# runs machineadm\n');
  const annotations = translatedMark(value, { ...MARK, ...mark });
  return { ...secret, metadata: { ...secret.metadata, annotations }, data: { ...secret.data, value } };
}

/** The reconciler of a cluster, until it is disposed of. */
function running(api: ManagementCluster, profiles: Profiles = NO_PROFILES) {
  const end = new AbortController();
  const said: string[] = [];
  const done = reconcile(
    {
      api,
      versions: new ServedVersions(api),
      profiles: async () => profiles,
      log: (level, message, fields) => said.push([level, message, ...Object.values(fields ?? {})].join(' ')),
      metrics: newMetrics(),
    },
    { resyncMs: 3_600_000, retryMs: 5, checkIntervalMs: 20, reportNamespaces: ['clusters'] },
    end.signal,
  );
  return {
    said,
    isReady: () => api.isWatched(MACHINES) && api.isWatched(CONFIGS),
    async [Symbol.asyncDispose]() {
      end.abort();
      await done;
    },
  };
}

const reasonOn = (api: ManagementCluster, path: string) => api.conditions(path)[TYPE]?.reason;
const eventsIn = (api: ManagementCluster) =>
  [...api.objects].filter(([path]) => path.includes('/events/')).map(([, event]) => event);

describe('the condition of a machine that opted in', () => {
  for (const [what, change, [status, reason], message] of [
    ['is translated', (secret: SecretOfProvider) => translated(secret), ['True', 'Translated'], /runs machineadm/],
    [
      'is translated with differences and without its report',
      (secret: SecretOfProvider) => translated(secret, { codes: ['HookOrder'], notes: ['no report: why'] }),
      ['True', 'Translated'],
      /no report: why Differences: HookOrder/,
    ],
    [
      'passed while the translator was away',
      (secret: SecretOfProvider) => secret,
      ['False', 'NotTranslated'],
      /Replace/,
    ],
    [
      'was kept',
      (secret: SecretOfProvider) => ({
        ...secret,
        metadata: {
          ...secret.metadata,
          annotations: { 'machineadm.dev/translation-kept': 'DecisionNeeded: DeviceAlias: fs_setup[1]' },
        },
      }),
      ['False', 'DecisionNeeded'],
      /stays as it was: DeviceAlias: fs_setup\[1\]/,
    ],
    [
      'was replaced by the data of the provider',
      (secret: SecretOfProvider) => ({ ...translated(secret), data: secret.data }),
      ['False', 'ChangedAfterTranslation'],
      /changed after/,
    ],
  ] as const) {
    test(`says that its stored Secret ${what}, on both objects, with an Event`, async () => {
      const api = new ManagementCluster();
      api.addCluster();
      const machine = api.addMachine('m-1');
      await using reconciler = running(api);
      await waitUntil(reconciler.isReady, 'the watches');
      machine.store(change(machine.secret('#cloud-config\n# of the provider')));
      for (const path of [machine.configPath, machine.machinePath]) {
        await waitUntil(() => reasonOn(api, path) !== undefined, `the condition of ${path}`);
        const condition = api.conditions(path)[TYPE];
        assert.deepEqual([condition?.status, condition?.reason, condition?.observedGeneration], [status, reason, 1]);
        assert.match(String(condition?.message), message);
      }
      await waitUntil(() => eventsIn(api).length === 2, 'the events');
      const kinds = eventsIn(api).map(({ involvedObject, type }) => [(involvedObject as { kind: string }).kind, type]);
      const type = status === 'True' ? 'Normal' : 'Warning';
      assert.deepEqual(kinds.sort(), [
        ['KubeadmConfig', type],
        ['Machine', type],
      ]);
    });
  }

  test('says so where the translator may not read the Secret', async () => {
    const api = new ManagementCluster();
    const machine = api.addMachine('m-1');
    machine.store(translated(machine.secret('')));
    api.failing.set('/secrets/', 403);
    await using _ = running(api);
    await waitUntil(() => reasonOn(api, machine.machinePath) === 'NotVerified', 'the condition');
    assert.equal(api.conditions(machine.machinePath)[TYPE]?.status, 'Unknown');
    api.failing.clear();
    await waitUntil(() => reasonOn(api, machine.machinePath) === 'Translated', 'the next check');
  });

  test('follows a second write of the provider that nobody translated, and one that was', async () => {
    const api = new ManagementCluster();
    const machine = api.addMachine('m-1');
    const secret = machine.secret('#cloud-config\n# of the provider');
    machine.store(translated(secret));
    await using _ = running(api);
    await waitUntil(() => reasonOn(api, machine.machinePath) === 'Translated', 'the first');
    // Create, AlreadyExists, Update: the KubeadmConfig does not change.
    api.put(machine.secretPath, secret);
    await waitUntil(() => reasonOn(api, machine.machinePath) === 'NotTranslated', 'the second');
    api.put(machine.secretPath, translated(secret));
    await waitUntil(() => reasonOn(api, machine.configPath) === 'Translated', 'the third');
  });

  test('is written again after clusterctl move, which takes the mark along and leaves conditions behind', async () => {
    const api = new ManagementCluster();
    const machine = api.addMachine('m-1', { providerID: 'aws:///a/i-1', dataSecretName: 'm-1' });
    machine.store(translated(machine.secret('')));
    await using _ = running(api);
    await waitUntil(() => reasonOn(api, machine.machinePath) === 'Translated', 'the condition');
  });

  test('of a MachinePool is that of its latest rotation', async () => {
    const api = new ManagementCluster();
    const pool = api.addMachine('pool-1', { kind: 'MachinePool' });
    const secret = pool.secret('#cloud-config\n# of the provider');
    pool.store(translated(secret));
    await using _ = running(api);
    await waitUntil(() => reasonOn(api, pool.configPath) === 'Translated', 'the condition');
    api.put(pool.secretPath, secret);
    await waitUntil(() => reasonOn(api, pool.configPath) === 'NotTranslated', 'the rotation');
    assert.deepEqual(api.conditions(pool.machinePath), {}, 'the translator may not write to a MachinePool');
  });

  test('is that of the label at the time: a machine that opts in later is told what it booted from', async () => {
    const api = new ManagementCluster();
    const machine = api.addMachine('m-1', { labels: {} });
    machine.store(machine.secret('#cloud-config\n'));
    await using reconciler = running(api);
    await waitUntil(reconciler.isReady, 'the watches');
    assert.equal(reasonOn(api, machine.machinePath), undefined);
    assert.ok(
      !api.calls.some((call) => call.includes('/secrets/')),
      'the Secret of a machine that did not opt in is never read',
    );
    const object = api.get(machine.machinePath) ?? {};
    api.put(machine.machinePath, { ...object, metadata: { ...(object.metadata as object), labels: ENABLED } });
    await waitUntil(() => reasonOn(api, machine.machinePath) === 'NotTranslated', 'the condition');
  });

  test('is tried again after a failure, and the Event is written once', async () => {
    const api = new ManagementCluster();
    const machine = api.addMachine('m-1');
    machine.store(machine.secret('#cloud-config\n'));
    api.failing.set('PATCH ', 500);
    await using reconciler = running(api);
    await waitUntil(() => reconciler.said.some((line) => line.startsWith('warn Secret not checked')), 'the failure');
    api.failing.clear();
    await waitUntil(() => reasonOn(api, machine.machinePath) === 'NotTranslated', 'the condition');
    await waitUntil(() => eventsIn(api).length === 2, 'the events');
    const checks = () => api.calls.filter((call) => call.startsWith('GET /api/v1/namespaces/clusters/secrets/')).length;
    const before = checks();
    await waitUntil(() => checks() > before + 3, 'more checks');
    assert.equal(eventsIn(api).length, 2);
  });
});

describe('the objects of a report', () => {
  const profiles = parseProfiles(`profiles: {default: {${SERVER}}}`);
  const account = (name: string) => `/api/v1/namespaces/clusters/serviceaccounts/machineadm-report-${name}`;

  test('exist before the machine boots, owned by it, and let it patch its own ConfigMap only', async () => {
    const api = new ManagementCluster();
    const machine = api.addMachine('m-1');
    await using _ = running(api, profiles);
    await waitUntil(() => api.objects.has(account('m-1')), 'the account');
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/clusters';
    for (const path of [
      '/api/v1/namespaces/clusters/configmaps/machineadm-report-m-1',
      `${rbac}/roles/machineadm-report-m-1`,
      `${rbac}/rolebindings/machineadm-report-m-1`,
      account('m-1'),
    ]) {
      const metadata = api.get(path)?.metadata as { ownerReferences: { uid: string }[] } | undefined;
      assert.deepEqual(
        metadata?.ownerReferences.map(({ uid }) => uid),
        [machine.uid],
        path,
      );
    }
    assert.deepEqual(api.get(`${rbac}/roles/machineadm-report-m-1`)?.rules, [
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['machineadm-report-m-1'], verbs: ['patch'] },
    ]);
  });

  for (const [what, change, wanted] of [
    ['did not opt in', { labels: {} }, profiles],
    ['booted already', { providerID: 'aws:///a/i-1' }, profiles],
    ['is in a namespace without reports', { namespace: 'others' }, profiles],
    ['has a profile without report', {}, NO_PROFILES],
    ['turns the report off', { annotations: { 'machineadm.dev/bootstrap-report': 'None' } }, profiles],
  ] as const) {
    test(`are not created for a machine that ${what}`, async () => {
      const api = new ManagementCluster();
      api.addMachine('m-1', change);
      await using reconciler = running(api, wanted);
      api.addMachine('m-2');
      await waitUntil(() => wanted === NO_PROFILES || api.objects.has(account('m-2')), 'the other machine');
      await waitUntil(reconciler.isReady, 'the watches');
      assert.ok(![...api.objects.keys()].some((path) => path.endsWith('machineadm-report-m-1')));
    });
  }

  test('is not made where a report was there before the account that may write it', async () => {
    const api = new ManagementCluster();
    api.addCluster();
    await using reconciler = running(api, profiles);
    await waitUntil(reconciler.isReady, 'the watches');
    const machine = api.addMachine('m-1', { labels: {} });
    const path = '/api/v1/namespaces/clusters/configmaps/machineadm-report-m-1';
    const owner = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Machine', name: 'm-1', uid: machine.uid };
    const forged = { metadata: { name: 'machineadm-report-m-1', ownerReferences: [owner] }, data: { mine: 'yes' } };
    api.put(path, forged);
    api.addMachine('m-1');
    await waitUntil(
      () => reconciler.said.some((line) => /report not prepared .*has a report that no machine wrote/.test(line)),
      'the reason',
    );
    assert.equal(api.objects.has(account('m-1')), false);
  });

  test('of another owner are never used: no account is created', async () => {
    const api = new ManagementCluster();
    const path = '/api/v1/namespaces/clusters/configmaps/machineadm-report-m-1';
    api.put(path, { metadata: { name: 'machineadm-report-m-1' }, data: { mine: 'yes' } });
    api.addMachine('m-1');
    await using reconciler = running(api, profiles);
    await waitUntil(
      () => reconciler.said.some((line) => /report not prepared .*does not belong/.test(line)),
      'the log',
    );
    assert.deepEqual(api.get(path)?.data, { mine: 'yes' });
    assert.ok(!api.objects.has(account('m-1')));
  });
});
