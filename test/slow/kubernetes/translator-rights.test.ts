import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { AttackedCluster } from '../../support/attacked-cluster.ts';
import { NAMESPACE } from '../../support/capi-machines.ts';
import type { KubeApiServer, Method } from '../../support/kube-apiserver.ts';
import { needs } from '../../support/needs.ts';
import { type Answered, askWith, assertRefused } from '../../support/tenants.ts';

const PAGE = readFileSync(join(resolve(import.meta.dirname, '../../..'), 'docs/cluster-api.md'), 'utf8');
const SYSTEM = 'machineadm-system';
const UNBOUND = 'unbound';
const ACCOUNT = `system:serviceaccount:${SYSTEM}:machineadm-translator`;
const WEBHOOK = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/machineadm-translator';
const JSON_PATCH = 'application/json-patch+json';
const CAPI = 'cluster.x-k8s.io';
const BOOTSTRAP = 'bootstrap.cluster.x-k8s.io';

/** The table of docs/cluster-api.md in the terms of RBAC: rows with their rights, as `verb group/resource`. */
const EVERYWHERE = {
  'get Clusters and MachinePools; get, list and watch Machines and KubeadmConfigs': [
    ...rights(CAPI, ['clusters', 'machinepools'], ['get']),
    ...rights(CAPI, ['machines'], ['get', 'list', 'watch']),
    ...rights(BOOTSTRAP, ['kubeadmconfigs'], ['get', 'list', 'watch']),
  ],
  'patch `machines/status` and `kubeadmconfigs/status`, create Events': [
    ...rights(CAPI, ['machines/status'], ['patch']),
    ...rights(BOOTSTRAP, ['kubeadmconfigs/status'], ['patch']),
    ...rights('', ['events'], ['create']),
  ],
};
const OWN = {
  'the Lease `machineadm-translator`: get, update; create Leases': [
    ...rights('coordination.k8s.io', ['leases'], ['create']),
    ...rights('coordination.k8s.io', ['leases'], ['get', 'update'], 'machineadm-translator'),
  ],
};
const BOUND = {
  'get Secrets': rights('', ['secrets'], ['get']),
  'create ConfigMaps, ServiceAccounts, their tokens, Roles and RoleBindings; read them; patch ConfigMaps': [
    ...rights('', ['configmaps'], ['create', 'get', 'list', 'watch', 'patch']),
    ...rights('', ['serviceaccounts'], ['create', 'get']),
    ...rights('', ['serviceaccounts/token'], ['create']),
    ...rights('rbac.authorization.k8s.io', ['roles', 'rolebindings'], ['create', 'get']),
  ],
};

function rights(group: string, resources: readonly string[], verbs: readonly string[], name?: string): string[] {
  const only = name === undefined ? '' : ` ${name}`;
  return resources.flatMap((one) => verbs.map((verb) => `${verb} ${group}/${one}${only}`));
}

interface Rules {
  readonly incomplete: boolean;
  readonly resourceRules: readonly {
    readonly verbs: readonly string[];
    readonly apiGroups?: readonly string[];
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
}

describe('the rights of the translator at a real API server', {
  skip: needs('MACHINEADM_CAPI=DIRECTORY'),
  timeout: 600_000,
}, () => {
  let cluster: AttackedCluster;
  let server: KubeApiServer;
  let headers: Readonly<Record<string, string>>;

  before(
    async () => {
      cluster = await AttackedCluster.start('profiles: {}');
      ({ server } = cluster);
      const { token } = await cluster.translator.credential();
      headers = { authorization: `Bearer ${token?.reveal() ?? ''}` };
      // In its own namespace and in one that is not bound: what `default` may, every account may.
      for (const namespace of [SYSTEM, NAMESPACE, UNBOUND]) {
        if (namespace === UNBOUND) await server.ask('POST', '/api/v1/namespaces', { metadata: { name: UNBOUND } });
        for (const name of ['prod-a-ca', 'prod-a-kubeconfig'])
          await server.ask('POST', `/api/v1/namespaces/${namespace}/secrets`, {
            metadata: { name },
            data: { a: 'YQ==' },
          });
        await server.ask('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
      }
    },
    { timeout: 300_000 },
  );
  after(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  /** A request of the translator's own account. */
  const asTranslator = (method: Method, path: string, body?: object, type?: string): Promise<Answered> =>
    askWith(server, method, path, body, type, headers);

  /** What the API server says that an account may do with objects in a namespace. */
  async function allowedIn(namespace: string, as: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
    const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
    const { incomplete, resourceRules } = (await askWith(server, 'POST', path, body, undefined, as)).status as Rules;
    assert.equal(incomplete, false);
    const all = resourceRules.flatMap(({ verbs, apiGroups = [], resources = [], resourceNames = [undefined] }) =>
      apiGroups.flatMap((group) => resourceNames.flatMap((name) => rights(group, resources, verbs, name))),
    );
    return [...new Set(all)].sort();
  }

  for (const [what, namespace, tables] of [
    ['a namespace that is not bound', UNBOUND, [EVERYWHERE]],
    ['its own namespace', SYSTEM, [EVERYWHERE, OWN]],
    ['a namespace of clusters', NAMESPACE, [EVERYWHERE, BOUND]],
  ] as const) {
    test(`are in ${what} what docs/cluster-api.md lists, and no more`, async () => {
      const [, part = ''] = PAGE.split('\n## Rights\n');
      for (const row of tables.flatMap((table) => Object.keys(table))) assert.ok(part.includes(`| ${row} |`), row);
      const nobody = { ...ADMIN(server), 'impersonate-user': `system:serviceaccount:${UNBOUND}:default` };
      const everybody = await allowedIn(namespace, nobody);
      const own = (await allowedIn(namespace, headers)).filter((one) => !everybody.includes(one));
      assert.deepEqual(own, tables.flatMap((table) => Object.values(table).flat()).sort());
    });
  }

  test('do not include its own webhook configuration: neither rules nor the address nor the authority', async () => {
    const before = await server.ask('GET', WEBHOOK);
    for (const [path, value] of [
      ['/webhooks/0/rules', [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*'] }]],
      ['/webhooks/0/clientConfig/url', 'https://attacker.example'],
      ['/webhooks/0/clientConfig/caBundle', 'YQ=='],
      ['/webhooks/0/failurePolicy', 'Fail'],
    ]) {
      const answer = await asTranslator('PATCH', WEBHOOK, [{ op: 'replace', path, value }], JSON_PATCH);
      assertRefused(answer, 403, 'Forbidden', /cannot patch resource "mutatingwebhookconfigurations"/);
    }
    assertRefused(await asTranslator('DELETE', WEBHOOK), 403, 'Forbidden', /cannot delete resource/);
    assert.deepEqual(await server.ask('GET', WEBHOOK), before);
  });

  test('include Secrets of clusters only where a namespace is bound, one by one', async () => {
    const secrets = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;
    for (const name of ['prod-a-ca', 'prod-a-kubeconfig']) {
      for (const namespace of [UNBOUND, SYSTEM])
        assertRefused(
          await asTranslator('GET', `${secrets(namespace)}/${name}`),
          403,
          'Forbidden',
          /cannot get resource/,
        );
      // As the page says: "covers every Secret whose name is known".
      assert.equal((await asTranslator('GET', `${secrets(NAMESPACE)}/${name}`)).code, 200);
      for (const method of ['PUT', 'PATCH', 'DELETE'] as const)
        assertRefused(await asTranslator(method, `${secrets(NAMESPACE)}/${name}`, {}), 403, 'Forbidden', /cannot/);
    }
    assertRefused(await asTranslator('GET', secrets(NAMESPACE)), 403, 'Forbidden', /cannot list resource "secrets"/);
    assert.match(PAGE, /covers every Secret whose name is known/);
  });

  test('do not reach what would make more of them', async () => {
    const review = async (attributes: object) => {
      const body = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: { user: ACCOUNT, groups: ['system:serviceaccounts'], resourceAttributes: attributes },
      };
      const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
      return ((await server.ask('POST', path, body)) as { status: { allowed: boolean } }).status.allowed;
    };
    const rbac = 'rbac.authorization.k8s.io';
    for (const [verb, group, resource] of [
      ['update', 'admissionregistration.k8s.io', 'mutatingwebhookconfigurations'],
      ['create', 'admissionregistration.k8s.io', 'validatingadmissionpolicybindings'],
      ['escalate', rbac, 'roles'],
      ['bind', rbac, 'clusterroles'],
      ['create', rbac, 'clusterrolebindings'],
      ['patch', rbac, 'roles'],
      ['impersonate', '', 'users'],
      ['create', '', 'pods'],
      ['create', '', 'secrets'],
      ['list', '', 'secrets'],
      ['create', CAPI, 'machines'],
      ['patch', CAPI, 'machines'],
      ['delete', CAPI, 'machines'],
    ]) {
      for (const namespace of [NAMESPACE, SYSTEM])
        assert.equal(await review({ verb, group, resource, namespace }), false, `${verb} ${resource} in ${namespace}`);
    }
    // A Role with more than it has: the API server prevents the escalation.
    const role = {
      metadata: { name: 'more' },
      rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['list'] }],
    };
    const roles = `/apis/${rbac}/v1/namespaces/${NAMESPACE}/roles`;
    assertRefused(await asTranslator('POST', roles, role), 403, 'Forbidden', /attempting to grant RBAC permissions/);
  });

  test('include tokens of reports only, by the policy', async () => {
    const accounts = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`;
    assert.equal((await asTranslator('POST', accounts, { metadata: { name: 'machineadm-report-a' } })).code, 201);
    assert.equal((await asTranslator('POST', `${accounts}/machineadm-report-a/token`, { spec: {} })).code, 201);
    const refused = await asTranslator('POST', `${accounts}/default/token`, { spec: {} });
    assertRefused(refused, 422, 'Invalid', /the translator may request tokens of ServiceAccounts for reports only/);
    assertRefused(
      await asTranslator('POST', `/api/v1/namespaces/${UNBOUND}/serviceaccounts/default/token`, { spec: {} }),
      403,
      'Forbidden',
      /cannot create resource "serviceaccounts\/token"/,
    );
  });
});

const ADMIN = (server: KubeApiServer) => ({ authorization: `Bearer ${server.admin.token?.reveal() ?? ''}` });
