import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { type ReportEvent, reportEvent } from '@machineadm/status/event.ts';
import { parseAllDocuments } from 'yaml';
import type { ApiCredential } from '../../../src/host/cluster/api-server.ts';
import { configMapPatch, nodePatch } from '../../../src/reporting/remote/apply-patch.ts';
import { kubernetesSink } from '../../../src/reporting/remote/kubernetes.ts';
import { deliveryContext, literal } from '../../support/delivery.ts';
import { type KubeApiServer, type Method, startKubeApiServer } from '../../support/kube-apiserver.ts';
import { needs } from '../../support/needs.ts';
import { at, FAILURE, statusAfter } from '../../unit/reporting/runs.ts';

const PACKAGING = resolve(import.meta.dirname, '../../../packaging/management-cluster');
const NAMESPACE = 'clusters';
const APPLY = 'application/apply-patch+yaml';

function failed(): ReportEvent {
  const status = statusAfter({ kind: 'concluded', conclusion: { outcome: 'Failed', exitCode: 11, failure: FAILURE } });
  return reportEvent({ kind: 'concluded', status }, 3, at(9));
}

describe('a machine reports to a management cluster', {
  skip: needs('a kube-apiserver (npm run lab -- build)'),
  timeout: 120_000,
}, () => {
  let server: KubeApiServer;
  let token = '';
  const credential = (): ApiCredential => ({ ...server.admin, token: new Secret(token) });

  before(
    async () => {
      server = await startKubeApiServer();
      await server.ask('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
      for (const machine of ['m1', 'm2']) await makeReport(server, machine);
      token = await tokenOf(server, 'm1');
    },
    { timeout: 300_000 },
  );
  after(async () => server?.[Symbol.asyncDispose]());

  const sinkTo = (name: string, value = token) =>
    kubernetesSink({
      kind: 'Kubernetes',
      name: 'Kubernetes',
      events: ['concluded'],
      timeoutMs: 5_000,
      access: {
        server: server.url,
        serverName: undefined,
        certificateAuthority: server.certificateAuthority,
        credential: { token: literal(value) },
      },
      configMap: { namespace: NAMESPACE, name },
    });
  const configMap = async (name: string): Promise<ConfigMap> =>
    (await server.ask('GET', `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}`)) as ConfigMap;

  test('with the manifest’s credential it writes its conditions, and twice the same changes nothing', async () => {
    const sink = sinkTo('machineadm-report-m1');
    assert.deepEqual(await sink.deliver(failed(), deliveryContext()), { kind: 'delivered' });
    const first = await configMap('machineadm-report-m1');
    assert.deepEqual(await sink.deliver(failed(), deliveryContext()), { kind: 'delivered' });
    const second = await configMap('machineadm-report-m1');
    assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
    assert.equal(first.data.outcome, 'Failed');
    assert.equal(first.data.reason, 'SwapEnabled');
    assert.deepEqual(JSON.parse(first.data['conditions.json'] ?? ''), [
      {
        type: 'machineadm.dev/BootstrapSucceeded',
        status: 'False',
        reason: 'SwapEnabled',
        message: 'Swap is on. Set host.swap to Disabled.',
        lastTransitionTime: '2026-11-20T10:00:01Z',
      },
    ]);
    assert.equal(JSON.parse(first.data['report.json'] ?? '').id, 'run-1.3');
    assert.equal(first.metadata.labels?.['machineadm.dev/report'], 'true', 'what is not its own stays');
  });

  test('what comes after the conclusion does not hide it', async () => {
    const status = statusAfter({
      kind: 'concluded',
      conclusion: { outcome: 'Failed', exitCode: 11, failure: FAILURE },
    });
    const warning = reportEvent({ kind: 'warning', message: 'a sink is slow', status }, 4, at(10));
    assert.deepEqual(await sinkTo('machineadm-report-m1').deliver(warning, deliveryContext()), { kind: 'delivered' });
    assert.equal((await configMap('machineadm-report-m1')).data.outcome, 'Failed');
  });

  test('a test event is validated and not stored', async () => {
    const before = await configMap('machineadm-report-m1');
    const event: ReportEvent = { ...failed(), test: true, id: 'test.1' };
    assert.deepEqual(await sinkTo('machineadm-report-m1').deliver(event, deliveryContext()), { kind: 'delivered' });
    assert.equal((await configMap('machineadm-report-m1')).metadata.resourceVersion, before.metadata.resourceVersion);
    assert.equal((await sinkTo('machineadm-report-m2').deliver(event, deliveryContext())).kind, 'retry');
  });

  test('a ConfigMap that is not its own or is missing, or an invalid token, is retried later, and the error says why', async () => {
    for (const [name, value, why] of [
      ['machineadm-report-m2', token, /403.*\(does the ConfigMap clusters\/machineadm-report-m2 exist, and may this/],
      ['machineadm-report-gone', token, /403.*machineadm-report-gone exist/],
      ['machineadm-report-m1', 'no-token-at-all', /answered 401/],
    ] as const) {
      const result = await sinkTo(name, value).deliver(failed(), deliveryContext());
      assert.equal(result.kind, 'retry');
      assert.match(result.kind === 'retry' ? result.why : '', why);
    }
  });

  test('the credential can do this one patch and nothing else', async () => {
    const own = `/api/v1/namespaces/${NAMESPACE}/configmaps/machineadm-report-m1`;
    const object = (name: string) => JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
    const forbidden: readonly (readonly [Method, string, string?, string?])[] = [
      ['GET', own],
      ['DELETE', own],
      ['PUT', own, 'application/json', object('machineadm-report-m1')],
      ['GET', `/api/v1/namespaces/${NAMESPACE}/configmaps`],
      ['POST', `/api/v1/namespaces/${NAMESPACE}/configmaps`, 'application/json', object('mine')],
      [
        'PATCH',
        `/api/v1/namespaces/${NAMESPACE}/configmaps/machineadm-report-m2`,
        APPLY,
        object('machineadm-report-m2'),
      ],
      ['PATCH', `/api/v1/namespaces/${NAMESPACE}/configmaps/new`, APPLY, object('new')],
      ['PATCH', '/api/v1/namespaces/default/configmaps/machineadm-report-m1', APPLY, object('machineadm-report-m1')],
      ['GET', `/api/v1/namespaces/${NAMESPACE}/secrets`],
      ['GET', '/api/v1/nodes'],
      ['GET', `/apis/cluster.x-k8s.io/v1beta2/namespaces/${NAMESPACE}/machines`],
      ['POST', `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/machineadm-report-m1/token`, 'application/json', '{}'],
      ['POST', `/api/v1/namespaces/${NAMESPACE}/events`, 'application/json', '{}'],
      ['GET', `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/roles`],
    ];
    for (const [method, path, contentType, body] of forbidden) {
      assert.equal(await server.statusOf(credential(), method, path, contentType, body), 403, `${method} ${path}`);
    }
    const { path, body } = configMapPatch(failed(), { namespace: NAMESPACE, name: 'machineadm-report-m1' });
    assert.equal(await server.statusOf(credential(), 'PATCH', path, APPLY, body), 200);
    // Every right it has, by its own account: this patch, and what everybody who is known may ask about himself.
    assert.deepEqual(await rightsOf(server, credential()), ['patch configmaps machineadm-report-m1']);
  });

  test('its Node may be patched with the kubelet’s credential, and no other', async () => {
    for (const name of ['w1', 'w2']) await server.ask('POST', '/api/v1/nodes', { metadata: { name } });
    const patch = (name: string) => nodePatch(failed(), name);
    const w1 = server.node('w1');
    const put = async (name: string) => {
      const { path, body } = patch(name);
      return await server.statusOf(w1, 'PATCH', path, APPLY, body);
    };
    assert.equal(await put('w1'), 200);
    assert.equal(await put('w2'), 403);
    const node = (await server.ask('GET', '/api/v1/nodes/w1')) as Node;
    assert.deepEqual(
      node.status.conditions.map(({ type, status, reason }) => [type, status, reason]),
      [['machineadm.dev/BootstrapSucceeded', 'False', 'SwapEnabled']],
    );
    assert.equal(JSON.parse(node.metadata.annotations?.['machineadm.dev/report'] ?? '').outcome, 'Failed');
    // The kubelet goes on reporting its own conditions: a patch that merges by type (k/k pkg/util/node/node.go).
    const ready = JSON.stringify({ status: { conditions: [{ type: 'Ready', status: 'True' }] } });
    const merge = 'application/strategic-merge-patch+json';
    assert.equal(await server.statusOf(w1, 'PATCH', '/api/v1/nodes/w1/status', merge, ready), 200);
    assert.equal(await put('w1'), 200);
    const both = ((await server.ask('GET', '/api/v1/nodes/w1')) as Node).status.conditions.map(({ type }) => type);
    assert.deepEqual(both.sort(), ['Ready', 'machineadm.dev/BootstrapSucceeded']);
  });

  test('a Node that does not exist yet is not created by a report', async () => {
    const { path, body } = nodePatch(failed(), 'w3');
    assert.equal(await server.statusOf(server.admin, 'PATCH', path, APPLY, body), 404);
  });
});

interface ConfigMap {
  readonly metadata: { readonly resourceVersion: string; readonly labels?: Readonly<Record<string, string>> };
  readonly data: Readonly<Record<string, string>>;
}

interface Node {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly status: { readonly conditions: readonly { type: string; status: string; reason: string }[] };
}

/** What packaging gives a machine, applied as kubectl would. */
async function makeReport(server: KubeApiServer, machine: string): Promise<void> {
  const text = readFileSync(join(PACKAGING, 'machine-report.yaml'), 'utf8')
    .replaceAll('"@OWNER@"', '[]')
    .replaceAll('@NAMESPACE@', NAMESPACE)
    .replaceAll('@MACHINE@', machine);
  for (const document of parseAllDocuments(text)) {
    const object: { kind: string; apiVersion: string } = document.toJS();
    const group = object.apiVersion === 'v1' ? '/api/v1' : `/apis/${object.apiVersion}`;
    await server.ask('POST', `${group}/namespaces/${NAMESPACE}/${object.kind.toLowerCase()}s`, object);
  }
}

/** What a credential may do beyond what everybody may ask about himself, as the API server sees it. */
async function rightsOf(server: KubeApiServer, credential: ApiCredential): Promise<readonly string[]> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    spec: { namespace: NAMESPACE },
  };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
  const answer = (await server.ask('POST', path, review, credential)) as {
    status: {
      resourceRules: readonly { verbs: string[]; apiGroups: string[]; resources: string[]; resourceNames?: string[] }[];
    };
  };
  return answer.status.resourceRules
    .filter(({ apiGroups }) => !apiGroups.includes('authorization.k8s.io'))
    .map(({ verbs, resources, resourceNames }) => [...verbs, ...resources, ...(resourceNames ?? ['*'])].join(' '));
}

async function tokenOf(server: KubeApiServer, machine: string): Promise<string> {
  const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/machineadm-report-${machine}/token`;
  const answer = (await server.ask('POST', path, { spec: { expirationSeconds: 600 } })) as {
    status: { token: string };
  };
  return answer.status.token;
}
