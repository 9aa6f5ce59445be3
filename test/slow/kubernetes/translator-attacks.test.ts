import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { newAuthority } from '../../support/api-server.ts';
import {
  AttackedCluster,
  isTranslated,
  MALLORY,
  ownerOf,
  secretFor,
  TRANSLATED,
  WORKER,
} from '../../support/attacked-cluster.ts';
import { type CreatedMachine, NAMESPACE, type StoredSecret, userDataOf } from '../../support/capi-machines.ts';
import type { KubeApiServer } from '../../support/kube-apiserver.ts';
import { reviewOf } from '../../support/management-cluster.ts';
import { needs } from '../../support/needs.ts';
import { askWith, assertRefused, postTo, Tenant } from '../../support/tenants.ts';
import { type Replica, until, webhookClient } from '../../support/translator.ts';

const ENABLED = { 'machineadm.dev/bootstrap': 'enabled' };
const SIGNING_SECRET = `whsec_${Buffer.alloc(32, 'machineadm').toString('base64')}`;
const REPORTING = { 'machineadm.dev/bootstrap-profile': 'reporting' };
const PROFILES = `profiles:
  default: {}
  reporting: {report: {server: 'https://management.example.com:6443'}}
  signed:
    namespaces: [${NAMESPACE}]
    document: {secrets: {signing: {value: ${SIGNING_SECRET}}}}
    sinks: [{type: Webhook, url: 'https://reports.example.com/machines', secret: {secret: signing}}]
`;
const CORE = '/api/v1/namespaces';
const MERGE = 'application/merge-patch+json';

/** User data with everything in it unpacked. */
function unpacked(userData: string): string {
  return userData.replace(/H4sI[A-Za-z0-9+/=]+/g, (text) => gunzipSync(Buffer.from(text, 'base64')).toString());
}

const tokensIn = (userData: string) => unpacked(userData).match(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g) ?? [];
const subjectOf = (token = ''): string => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64').toString()).sub;

describe('attacks on the translator behind a real API server', {
  skip: needs('MACHINEADM_CAPI=DIRECTORY'),
  timeout: 900_000,
}, () => {
  let cluster: AttackedCluster;
  let server: KubeApiServer;
  let replica: Replica;
  let mallory: Tenant;
  /** May create objects in the namespace of others, and change none. */
  let eve: Tenant;
  let victim: CreatedMachine;
  let token = '';

  before(
    async () => {
      cluster = await AttackedCluster.start(PROFILES);
      ({ server, replica } = cluster);
      const objects = { apiGroups: ['', 'bootstrap.cluster.x-k8s.io', 'cluster.x-k8s.io'] };
      const resources = ['secrets', 'configmaps', 'kubeadmconfigs', 'machines'];
      mallory = await Tenant.create(server, MALLORY, MALLORY, [{ ...objects, resources, verbs: ['*'] }]);
      eve = await Tenant.create(server, 'eve', NAMESPACE, [
        { ...objects, resources: ['secrets', 'configmaps', 'kubeadmconfigs'], verbs: ['create'] },
        { ...objects, resources: ['machines', 'kubeadmconfigs'], verbs: ['get', 'list'] },
      ]);
      victim = await cluster.wanted('victim', REPORTING);
      const secret = await victim.createSecret('cloud-config', WORKER);
      [token = ''] = tokensIn(userDataOf(secret));
      assert.match(subjectOf(token), /:machineadm-report-victim$/);
    },
    { timeout: 300_000 },
  );
  after(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  test('a review that another than the API server sends is refused, and changes nothing', async () => {
    const before = await cluster.settled();
    const body = reviewOf(secretFor(victim), { userInfo: { username: 'admin' } });
    const other = newAuthority('callers').issue('kube-apiserver');
    const known = webhookClient('another-component');
    for (const [options, message] of [
      [{}, 'no valid client certificate'],
      [{ headers: { authorization: `Bearer ${token}` } }, 'no valid client certificate'],
      [{ cert: other.certificate, key: other.key }, 'no valid client certificate'],
      [{ cert: known.certificate, key: known.key }, 'the client certificate has another name'],
    ] as const) {
      const { status, text } = await postTo(replica.webhookPort, body, options);
      assert.deepEqual([status, JSON.parse(text)], [401, { message }]);
    }
    assert.deepEqual(await cluster.settled(), before);
  });

  test('a dry run shows the translation without a token, and has no effects', async () => {
    const machine = await cluster.wanted('dry', REPORTING);
    const before = await cluster.settled();
    const secret = await machine.createSecret('cloud-config', WORKER, '?dryRun=All');
    assert.ok(isTranslated(secret));
    assert.deepEqual(tokensIn(userDataOf(secret)), []);
    assert.deepEqual(await cluster.settled(), before);
  });

  test('a tenant gets no token of another machine, however she names her objects', async () => {
    const before = await cluster.settled([NAMESPACE]);
    for (const [method, path, right] of [
      ['GET', `${CORE}/${NAMESPACE}/secrets/victim`, /cannot get resource "secrets"/],
      ['POST', `${CORE}/${NAMESPACE}/serviceaccounts/machineadm-report-victim/token`, /cannot create/],
      ['POST', `${CORE}/${NAMESPACE}/secrets`, /cannot create resource "secrets"/],
      ['GET', `${CORE}/machineadm-system/configmaps`, /cannot list resource "configmaps"/],
    ] as const) {
      assertRefused(await mallory.ask(method, path, {}), 403, 'Forbidden', right);
    }
    // She writes the Secret herself, about the victim's KubeadmConfig and about one of her own of its name.
    const same = await cluster.wanted('victim', REPORTING, cluster.ofMallory);
    for (const secret of [secretFor(victim), secretFor(same, { name: 'own' })]) {
      assert.equal((await mallory.ask('POST', `${CORE}/${MALLORY}/secrets`, secret)).code, 201);
      const { data, metadata } = await cluster.stored(secret.metadata.name, MALLORY);
      assert.deepEqual(data, secret.data, 'stored as she wrote it');
      assert.equal(metadata.annotations, undefined);
      await mallory.ask('DELETE', `${CORE}/${MALLORY}/secrets/${secret.metadata.name}`);
    }
    const elsewhere = await mallory.ask(
      'POST',
      `${CORE}/${MALLORY}/secrets`,
      secretFor(victim, { namespace: NAMESPACE }),
    );
    assertRefused(elsewhere, 400, 'BadRequest', /namespace of the provided object does not match/);
    // The provider writes it: she gets a report in her own namespace.
    const [own] = tokensIn(userDataOf(await same.createSecret('cloud-config', WORKER)));
    assert.equal(subjectOf(own), `system:serviceaccount:${MALLORY}:machineadm-report-victim`);
    assert.deepEqual(await cluster.settled([NAMESPACE]), before);
  });

  test('a tenant gets no secret of a profile that is for other namespaces', async () => {
    const annotations = { 'machineadm.dev/bootstrap-profile': 'signed' };
    const foreign = await cluster.wanted('signed', annotations, cluster.ofMallory);
    const kept = await foreign.createSecret('cloud-config', WORKER);
    assert.ok(!unpacked(userDataOf(kept)).includes(SIGNING_SECRET));
    assert.equal(userDataOf(kept), WORKER);
    await cluster.untilReason(foreign, 'OptionsInvalid');
    assert.match((await cluster.conditionOf(foreign))?.message ?? '', /the profile "signed" is not for this namespace/);
    const own = await cluster.wanted('signed', annotations);
    assert.ok(unpacked(userDataOf(await own.createSecret('cloud-config', WORKER))).includes(SIGNING_SECRET));
  });

  test('a ConfigMap that is no report of its Machine sets no condition', async () => {
    const plain = await cluster.wanted('plain');
    const names = { metadata: { name: 'machineadm-report-plain', labels: { 'machineadm.dev/report': 'true' } } };
    const claim = {
      type: 'machineadm.dev/BootstrapSucceeded',
      status: 'False',
      reason: 'Forged',
      message: 'Replace me.',
    };
    const data = { 'conditions.json': JSON.stringify([claim]) };
    const foreign = 'machineadm_translator_foreign_reports_total';
    const seen = async (): Promise<number> => {
      const { text } = await replica.get('/metrics');
      return Number(new RegExp(`^${foreign} (\\d+)$`, 'm').exec(text)?.[1]);
    };
    for (const [why, namespace, owner] of [
      ['no owner', NAMESPACE, undefined],
      ['the owner is another Machine', NAMESPACE, ownerOf(victim)],
      ['its name with the uid of another', NAMESPACE, { ...ownerOf(plain), uid: victim.uid }],
      ['its owner, and no ServiceAccount', NAMESPACE, ownerOf(plain)],
    ] as const) {
      const before = await seen();
      const metadata = { ...names.metadata, ...(owner === undefined ? {} : { ownerReferences: [owner] }) };
      assert.equal((await eve.ask('POST', `${CORE}/${namespace}/configmaps`, { metadata, data })).code, 201, why);
      await until(`${why}: it is seen`, async () => (await seen()) > before);
      assert.equal(await cluster.conditionOf(plain, claim.type), undefined, why);
      await server.ask('DELETE', `${CORE}/${namespace}/configmaps/${metadata.name}`);
    }
    const metadata = { ...names.metadata, name: 'machineadm-report-victim-2', ownerReferences: [ownerOf(victim)] };
    assert.equal((await mallory.ask('POST', `${CORE}/${MALLORY}/configmaps`, { metadata, data })).code, 201);
    const report = `${CORE}/${NAMESPACE}/configmaps/machineadm-report-victim`;
    const taken = { metadata: { ...metadata, name: 'machineadm-report-victim' }, data };
    assertRefused(await eve.ask('POST', `${CORE}/${NAMESPACE}/configmaps`, taken), 409, 'AlreadyExists', /exists/);
    assertRefused(await eve.ask('PATCH', report, { data }, MERGE), 403, 'Forbidden', /cannot patch resource/);
    // With the right to change ConfigMaps, it is the policy that refuses.
    const refused = await askWith(server, 'PATCH', report, { data }, MERGE);
    assertRefused(refused, 422, 'Invalid', /only the machine writes its report/);
    // The token of one machine about another one.
    const other = await cluster.wanted('other', REPORTING);
    const [foreignToken] = tokensIn(userDataOf(await other.createSecret('cloud-config', WORKER)));
    const authorization = `Bearer ${foreignToken}`;
    assertRefused(
      await askWith(server, 'PATCH', report, { data }, MERGE, { authorization }),
      403,
      'Forbidden',
      /cannot patch/,
    );
    assert.equal(await cluster.conditionOf(victim, claim.type), undefined);
    assert.equal((await askWith(server, 'GET', report)).data, undefined);
  });

  test('a ConfigMap that was there before the report is not taken for what the machine said', async () => {
    const late = await cluster.machines.create({ name: 'late', owner: 'MachineDeployment', annotations: REPORTING });
    const claim = {
      type: 'machineadm.dev/BootstrapSucceeded',
      status: 'False',
      reason: 'Forged',
      message: 'Replace me.',
    };
    const forged = {
      metadata: {
        name: 'machineadm-report-late',
        labels: { 'machineadm.dev/report': 'true' },
        ownerReferences: [ownerOf(late)],
      },
      data: { 'conditions.json': JSON.stringify([claim]) },
    };
    assert.equal((await eve.ask('POST', `${CORE}/${NAMESPACE}/configmaps`, forged)).code, 201);
    await askWith(server, 'PATCH', late.path, { metadata: { labels: ENABLED } }, MERGE);
    const secret = await late.createSecret('cloud-config', WORKER);
    assert.ok(isTranslated(secret));
    assert.deepEqual(tokensIn(userDataOf(secret)), [], 'no report');
    await cluster.untilReason(late, 'Translated');
    assert.match(
      (await cluster.conditionOf(late))?.message ?? '',
      /no report: ServiceAccount machineadm-report-late was not created/,
    );
    assert.equal(await cluster.conditionOf(late, claim.type), undefined);
  });

  test('a mark that a user wrote is no translation', async () => {
    const machine = await cluster.wanted('marked');
    const digest = `sha256:${createHash('sha256').update('#cloud-config\n').digest('hex')}`;
    const forged = secretFor(machine, { annotations: { [TRANSLATED]: digest } }, '#cloud-config\n');
    assert.equal((await eve.ask('POST', `${CORE}/${NAMESPACE}/secrets`, forged)).code, 201);
    // The provider finds it, and writes its own over it.
    await assert.rejects(machine.createSecret('cloud-config', WORKER), /409/);
    const path = `${CORE}/${NAMESPACE}/secrets/marked`;
    const written = (await server.ask('PUT', path, secretFor(machine))) as StoredSecret;
    assert.match(userDataOf(written), /machineadm provision/);
    assert.notEqual(written.metadata.annotations?.[TRANSLATED], digest);
    // A mark of another value, in a namespace of her own: the condition says what is stored.
    const own = await cluster.wanted('own-mark', {}, cluster.ofMallory);
    const wrong = secretFor(own, { annotations: { [TRANSLATED]: digest } });
    assert.equal((await mallory.ask('POST', `${CORE}/${MALLORY}/secrets`, wrong)).code, 201);
    await askWith(server, 'PATCH', `${own.configPath}/status`, { status: { dataSecretName: own.name } }, MERGE);
    await cluster.untilReason(own, 'ChangedAfterTranslation');
  });

  test('the Secret of a machine that booted is not rewritten', async () => {
    const machine = await cluster.machines.create({ name: 'booted', owner: 'MachineDeployment' });
    const before = await machine.createSecret('cloud-config', WORKER);
    const spec = { bootstrap: { dataSecretName: 'booted' }, providerID: 'aws:///a/i-1' };
    await askWith(server, 'PATCH', machine.path, { metadata: { labels: ENABLED }, spec }, MERGE);
    const path = `${CORE}/${NAMESPACE}/secrets/booted`;
    assertRefused(await eve.ask('PUT', path, secretFor(machine)), 403, 'Forbidden', /cannot update resource "secrets"/);
    // The provider itself, once more: it stays as it is, and the condition says so.
    const after = (await server.ask('PUT', path, secretFor(machine))) as StoredSecret;
    assert.deepEqual(after.data, before.data);
    assert.equal(after.metadata.annotations, undefined);
    await cluster.untilReason(machine, 'NotTranslated');
  });
});
