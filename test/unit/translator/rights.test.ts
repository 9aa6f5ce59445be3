import assert from 'node:assert/strict';
import { test } from 'node:test';
import { admit } from '@machineadm/translator/admission/handler.ts';
import { parseReview } from '@machineadm/translator/admission/review.ts';
import { electLeader } from '@machineadm/translator/cluster/leader.ts';
import { ServedVersions } from '@machineadm/translator/cluster/related.ts';
import { parseProfiles } from '@machineadm/translator/handover/profiles.ts';
import { reconcile } from '@machineadm/translator/reconcile/reconciler.ts';
import { copyConditions } from '@machineadm/translator/reports/copier.ts';
import { newMetrics } from '@machineadm/translator/telemetry/metrics.ts';
import { goldenUserData } from '../../support/capi.ts';
import { DIRECT_CONVERSIONS } from '../../support/direct-conversions.ts';
import { ManagementCluster, PROVIDER, patched, reviewOf } from '../../support/management-cluster.ts';
import { granted, needed } from '../../support/rights.ts';
import { waitUntil } from '../../support/wait-until.ts';

const WORKER = goldenUserData('02-worker-registry-mirrors', 'join-worker');
const PROFILES = parseProfiles("profiles: {default: {report: {server: 'https://management.example:6443'}}}");
/** Who creates a Role must have what it allows (RBAC, privilege escalation prevention). The machines use it. */
const GRANTED = 'patch configmaps';

test('the translator has the rights that a run needs, and no other', async () => {
  const api = new ManagementCluster();
  const watch = api.watch.bind(api);
  api.watch = async (path, ...more) => {
    api.calls.push(`WATCH ${path}`);
    await watch(path, ...more);
  };
  api.addCluster();
  const machine = api.addMachine('prod-a-md-0-aaaaa');
  const pool = api.addMachine('prod-a-mp-0', { kind: 'MachinePool' });
  const taken = api.addMachine('prod-a-md-0-taken');
  const owner = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Machine', name: taken.name, uid: taken.uid };
  const metadata = { name: `machineadm-report-${taken.name}`, ownerReferences: [owner] };
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/clusters';
  // Of a replica that was killed halfway.
  for (const path of ['/api/v1/namespaces/clusters/configmaps', `${rbac}/roles`, `${rbac}/rolebindings`]) {
    api.put(`${path}/${metadata.name}`, { metadata });
  }
  const end = new AbortController();
  const versions = new ServedVersions(api);
  const log = () => undefined;
  const metrics = newMetrics();
  const following = { resyncMs: 3_600_000, retryMs: 5 };
  const work = electLeader(
    api,
    { namespace: 'machineadm-system', name: 'machineadm-translator', identity: 'me', durationMs: 60_000, retryMs: 20 },
    async (leading) => {
      const context = { api, versions, profiles: async () => PROFILES, log, metrics };
      await Promise.all([
        reconcile(context, { ...following, checkIntervalMs: 20, reportNamespaces: ['clusters'] }, leading),
        copyConditions(api, versions, { ...following, namespaces: ['clusters'] }, leading, log, metrics),
      ]);
    },
    end.signal,
    log,
  );
  const account = (name: string) => `/api/v1/namespaces/clusters/serviceaccounts/machineadm-report-${name}`;
  await waitUntil(() => [machine, taken].every(({ name }) => api.objects.has(account(name))), 'the accounts');
  const translator = {
    api,
    versions,
    profiles: async () => PROFILES,
    version: '0.1.0',
    conversions: DIRECT_CONVERSIONS,
    isCallerProven: true,
    providerUsers: [PROVIDER],
  };
  for (const one of [machine, pool]) {
    const secret = one.secret(WORKER);
    const request = parseReview(reviewOf(secret)) ?? assert.fail();
    const { review, outcome } = await admit(request, translator, new AbortController().signal);
    assert.equal(outcome.kind, 'Translated');
    one.store(patched(secret, review));
  }
  const condition = { type: 'machineadm.dev/BootstrapSucceeded', status: 'True', reason: 'Succeeded', message: 'done' };
  const report = `/api/v1/namespaces/clusters/configmaps/machineadm-report-${machine.name}`;
  api.put(report, { ...api.get(report), data: { 'conditions.json': JSON.stringify([condition]) } });
  await waitUntil(() => Object.keys(api.conditions(machine.machinePath)).length === 2, 'both conditions');
  await waitUntil(() => Object.keys(api.conditions(pool.configPath)).length === 1, 'that of the pool');
  await waitUntil(() => api.calls.some((call) => call.startsWith('PUT ')), 'a renewal of the lease');
  end.abort();
  await work;

  const used = new Set(api.calls.flatMap((call) => needed(call) ?? []));
  const rights = granted('packaging/translator/base/rbac.yaml');
  assert.deepEqual([...used].filter((one) => !rights.has(one)).sort(), [], 'rights that are missing');
  assert.deepEqual(
    [...rights].filter((one) => !used.has(one)),
    [GRANTED],
    'rights that nothing uses',
  );
});
