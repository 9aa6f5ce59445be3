import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { admit, reasonToSkip } from '@machineadm/translator/admission/handler.ts';
import { recordOutcome } from '@machineadm/translator/admission/record.ts';
import { allowed, markOf, parseReview, TRANSLATED } from '@machineadm/translator/admission/review.ts';
import { newServingCertificate } from '@machineadm/translator/certificates/x509.ts';
import { type Api, ApiError, type Request } from '@machineadm/translator/cluster/api.ts';
import { ServedVersions } from '@machineadm/translator/cluster/related.ts';
import { parseProfiles } from '@machineadm/translator/profiles.ts';
import { convertSecret, wrapConverted } from '@machineadm/translator/translate.ts';
import { parse } from 'yaml';
import * as z from 'zod';
import { goldenUserData } from '../../support/capi.ts';

const WORKER = goldenUserData('02-worker-registry-mirrors', 'join-worker');
const NAMESPACE = 'clusters';
const base64 = (text: string) => Buffer.from(text).toString('base64');

const OWNER = {
  apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta1',
  kind: 'KubeadmConfig',
  name: 'm1',
  uid: 'config-uid',
};
const SECRET = {
  metadata: { name: 'm1', labels: { 'cluster.x-k8s.io/cluster-name': 'prod-a' }, ownerReferences: [OWNER] },
  type: 'cluster.x-k8s.io/secret',
  data: { value: base64(WORKER), format: base64('cloud-config') },
};

function body(request: object): string {
  return JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { uid: 'u1', operation: 'CREATE', namespace: NAMESPACE, object: SECRET, ...request },
  });
}

function review(request: object = {}) {
  return parseReview(body(request)) ?? assert.fail('no review');
}

const { authority: AUTHORITY } = newServingCertificate({
  dnsNames: ['management.example'],
  notBefore: new Date('2026-01-01T00:00:00Z'),
  notAfter: new Date('2056-01-01T00:00:00Z'),
});

/** The API server of a cluster with one machine, m1. */
class Cluster implements Api {
  readonly certificateAuthority = AUTHORITY;
  readonly calls: string[] = [];
  readonly bodies: unknown[] = [];
  readonly missing = new Set<string>();
  label: Record<string, string> = { 'machineadm.dev/bootstrap': 'enabled' };
  annotations: Record<string, string> = {};
  fails: ApiError | undefined;
  /** The only version that is served. */
  serves = 'v1beta2';

  async request({ method = 'GET', path, body: sent }: Request): Promise<unknown> {
    const name = path.split('/').at(-1) ?? '';
    this.calls.push(`${method} ${path.split('/').slice(-2).join('/')}`);
    if (sent !== undefined) this.bodies.push(sent);
    if (this.fails !== undefined) throw this.fails;
    if (this.missing.has(path.split('/').at(-2) ?? '')) throw new ApiError(404, 'not found');
    if (method !== 'GET') return path.endsWith('/token') ? { status: { token: 'the-token' } } : {};
    const discovery = /^\/apis\/[^/]+$/.test(path);
    if (discovery) return { preferredVersion: { version: this.serves } };
    if (!path.includes(`/${this.serves}/`)) throw new ApiError(404, 'not found');
    const metadata = { name, namespace: NAMESPACE, labels: { 'cluster.x-k8s.io/cluster-name': 'prod-a' } };
    if (path.includes('/kubeadmconfigs/')) {
      const machine = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Machine', name: 'm1', uid: 'machine-uid' };
      return {
        apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
        kind: 'KubeadmConfig',
        metadata: { ...metadata, uid: 'config-uid', ownerReferences: [machine] },
      };
    }
    const kind = path.includes('/machines/') ? 'Machine' : 'Cluster';
    return {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind,
      metadata: {
        ...metadata,
        uid: `${kind.toLowerCase()}-uid`,
        ...(kind === 'Machine' ? { labels: { ...metadata.labels, ...this.label }, annotations: this.annotations } : {}),
      },
      spec: {
        version: 'v1.35.2',
        clusterName: 'prod-a',
        bootstrap: { configRef: { kind: 'KubeadmConfig', name: 'm1' } },
      },
    };
  }

  async watch(): Promise<void> {}
}

const PROFILES = parseProfiles("profiles: {reporting: {report: {server: 'https://management.example:6443'}}}");

function admitBy(
  api: Cluster,
  request = review(),
  deadline = new AbortController().signal,
  versions = new ServedVersions(api),
) {
  const conversions = {
    convertSecret: (_: AbortSignal, ...args: Parameters<typeof convertSecret>) => convertSecret(...args),
    wrapConverted: (_: AbortSignal, ...args: Parameters<typeof wrapConverted>) => wrapConverted(...args),
    close: async () => undefined,
  };
  return admit(request, { api, versions, profiles: async () => PROFILES, version: '0.1.0', conversions }, deadline);
}

const Patched = z.object({
  response: z.object({ uid: z.literal('u1'), allowed: z.literal(true), patch: z.string().optional() }),
});

function patchOf(answer: object): readonly { readonly op: string; readonly path: string; readonly value: unknown }[] {
  const { patch } = Patched.parse(answer).response;
  return patch === undefined ? [] : JSON.parse(Buffer.from(patch, 'base64').toString());
}

describe('parseReview', () => {
  for (const text of ['', '{', '[]', '{}', body({ uid: '' }), body({ operation: 'READ' })]) {
    test(`refuses ${text.slice(0, 30)}`, () => assert.equal(parseReview(text), undefined));
  }

  test('takes the Secret of a write, and that before of an update', () => {
    assert.equal(review().secret?.metadata.name, 'm1');
    assert.equal(review().before, undefined);
    assert.equal(review({ operation: 'UPDATE', oldObject: SECRET }).before?.metadata.name, 'm1');
    assert.equal(review({ operation: 'DELETE' }).secret, undefined);
    assert.equal(review({ dryRun: true }).isDryRun, true);
  });
});

describe('reasonToSkip', () => {
  const skips = (change: object, request: object = {}) =>
    reasonToSkip(review({ object: { ...SECRET, ...change }, ...request }));

  test('is nothing for the bootstrap data of a provider', () => assert.equal(skips({}), undefined));

  for (const [what, reason] of [
    [skips({ type: 'Opaque' }), 'no Secret of Cluster API'],
    [skips({ data: {} }), 'no user data'],
    [skips({}, { operation: 'UPDATE', oldObject: SECRET }), 'user data unchanged'],
    [skips({ data: { value: base64('runcmd: [/usr/local/bin/machineadm provision -d /x]') } }), 'translated already'],
    [
      skips({ metadata: { ...SECRET.metadata, annotations: { [TRANSLATED]: markOf(SECRET.data.value) } } }),
      'translated already',
    ],
  ] as const) {
    test(reason, () => assert.equal(what, reason));
  }
});

describe('admit', () => {
  test('replaces the user data of a machine that opted in, and marks it', async () => {
    const { review: answer, outcome } = await admitBy(new Cluster());
    assert.equal(outcome.kind, 'Translated');
    const [value, mark] = patchOf(answer);
    assert.deepEqual([value?.op, value?.path, mark?.path], ['replace', '/data/value', '/metadata/annotations']);
    assert.deepEqual(mark?.value, { [TRANSLATED]: markOf(String(value?.value)) });
    const { write_files: files, runcmd } = parse(Buffer.from(String(value?.value), 'base64').toString());
    assert.equal(files[0].path, '/etc/machineadm/bootstrap.yaml');
    assert.deepEqual(runcmd, ['/usr/local/bin/machineadm provision -d /etc/machineadm/bootstrap.yaml']);
  });

  test('keeps the annotations that a Secret has', async () => {
    const object = { ...SECRET, metadata: { ...SECRET.metadata, annotations: { a: 'b' } } };
    const [, mark] = patchOf((await admitBy(new Cluster(), review({ object }))).review);
    assert.equal(mark?.path, '/metadata/annotations/machineadm.dev~1translated');
  });

  test('asks for nothing but what it must know', async () => {
    const api = new Cluster();
    api.label = {};
    const { review: answer, outcome } = await admitBy(api);
    assert.deepEqual([answer, outcome], [allowed('u1'), { kind: 'Untouched', why: 'not opted in' }]);
    assert.deepEqual(api.calls.filter((call) => !call.startsWith('GET apis/')).sort(), [
      'GET clusters/prod-a',
      'GET kubeadmconfigs/m1',
      'GET machines/m1',
    ]);
    const other = new Cluster();
    await admitBy(other, review({ object: { ...SECRET, metadata: { name: 'm1' } } }));
    assert.deepEqual(other.calls, []);
  });

  for (const [what, change, reason] of [
    ['an API server that fails', (api: Cluster) => (api.fails = new ApiError(500, 'internal')), 'TranslationFailed'],
    ['a Machine that is gone', (api: Cluster) => api.missing.add('machines'), undefined],
    [
      'a profile that does not exist',
      (api: Cluster) => (api.annotations = { 'machineadm.dev/bootstrap-profile': 'x' }),
      'OptionsInvalid',
    ],
  ] as const) {
    test(`lets the Secret pass as it is with ${what}`, async () => {
      const api = new Cluster();
      change(api);
      const { review: answer, outcome } = await admitBy(api);
      assert.deepEqual(answer, allowed('u1'));
      assert.equal(outcome.kind === 'Kept' ? outcome.error.reason : undefined, reason);
    });
  }

  test('lets the Secret pass as it is when the time is over', async () => {
    const { review: answer, outcome } = await admitBy(new Cluster(), review(), AbortSignal.abort());
    assert.deepEqual(answer, allowed('u1'));
    assert.equal(outcome.kind === 'Kept' ? outcome.error.reason : undefined, 'TimedOut');
  });

  test('makes a credential for reports in this order, and none in a dry run', async () => {
    const api = new Cluster();
    api.annotations = { 'machineadm.dev/bootstrap-profile': 'reporting' };
    await admitBy(api, review({ dryRun: true }));
    assert.ok(api.calls.every((call) => call.startsWith('GET')));
    const { outcome } = await admitBy(api);
    assert.equal(outcome.kind, 'Translated');
    assert.deepEqual(
      api.calls.filter((call) => call.startsWith('POST')).map((call) => call.split('/').at(-1)),
      ['configmaps', 'serviceaccounts', 'roles', 'rolebindings', 'token'],
    );
    const [, , role] = api.bodies as { rules: object[]; metadata: { ownerReferences: { uid: string }[] } }[];
    assert.deepEqual(role?.rules, [
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['machineadm-report-m1'], verbs: ['patch'] },
    ]);
    assert.equal(role?.metadata.ownerReferences[0]?.uid, 'machine-uid');
  });
});

test('asks again for the version of Cluster API where the one before is no longer served', async () => {
  const api = new Cluster();
  const versions = new ServedVersions(api);
  api.serves = 'v1beta1';
  const { outcome: before } = await admitBy(api, review(), undefined, versions);
  api.serves = 'v1beta2';
  const { outcome } = await admitBy(api, review(), undefined, versions);
  assert.deepEqual([before.kind, outcome.kind], ['Translated', 'Translated']);
});

describe('recordOutcome', () => {
  const Event = z.looseObject({ type: z.string(), reason: z.string(), message: z.string() });
  const Applied = z.looseObject({
    status: z.object({ conditions: z.array(z.looseObject({ status: z.string(), reason: z.string() })) }),
  });

  test('says with an Event and a condition what became of the Secret', async () => {
    const api = new Cluster();
    const translated = await admitBy(api);
    await recordOutcome(api, translated.outcome);
    const [event, applied] = [Event.parse(api.bodies[0]), Applied.parse(api.bodies[1])];
    assert.deepEqual([event.type, event.reason], ['Normal', 'BootstrapTranslated']);
    assert.deepEqual(
      [applied.status.conditions[0]?.status, applied.status.conditions[0]?.reason],
      ['True', 'Translated'],
    );

    const failing = new Cluster();
    failing.annotations = { 'machineadm.dev/bootstrap-profile': 'x' };
    const kept = await admitBy(failing);
    await recordOutcome(failing, kept.outcome);
    const warning = Event.parse(failing.bodies[0]);
    assert.deepEqual([warning.type, warning.reason], ['Warning', 'BootstrapNotTranslated']);
    assert.match(warning.message, /^OptionsInvalid: .*no profile "x"/);
  });

  test('says nothing of a Secret that nobody wants translated', async () => {
    const api = new Cluster();
    await recordOutcome(api, { kind: 'Untouched', why: 'not opted in' });
    assert.deepEqual(api.calls, []);
  });

  test('tries both, and reports that one failed', async () => {
    const api = new Cluster();
    const { outcome } = await admitBy(api);
    api.calls.length = 0;
    api.fails = new ApiError(403, 'forbidden');
    await assert.rejects(recordOutcome(api, outcome), /forbidden/);
    assert.ok(api.calls.includes('POST clusters/events'));
  });
});
