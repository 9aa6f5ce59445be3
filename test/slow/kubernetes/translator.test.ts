import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer } from 'node:http';
import { createServer, request as sendTls } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { parse } from 'yaml';
import { newAuthority } from '../../support/api-server.ts';
import { userDataOfWorker } from '../../support/bootstrap-provider.ts';
import { goldenUserData } from '../../support/capi.ts';
import { installClusterApi, upgradeClusterApi } from '../../support/capi-definitions.ts';
import {
  type CreatedMachine,
  Machines,
  NAMESPACE,
  type Reported,
  type StoredSecret,
  userDataOf,
  type WithConditions,
} from '../../support/capi-machines.ts';
import { type KubeApiServer, startKubeApiServer } from '../../support/kube-apiserver.ts';
import { needs } from '../../support/needs.ts';
import { workerIgnition } from '../../support/provider-ignition.ts';
import { BASE, InstalledTranslator, type Replica, until, webhookClient } from '../../support/translator.ts';

const ENABLED = { 'machineadm.dev/bootstrap': 'enabled' };
const WORKER = goldenUserData('02-worker-registry-mirrors', 'join-worker');
const CONTROL_PLANE = goldenUserData('01-controlplane-kube-vip', 'init');
/** Needs a decision: the device alias of Azure. */
const UNDECIDED = goldenUserData('03-controlplane-etcd-disk', 'init');
const PROFILES = `profiles:
  default: {}
  reporting:
    report: {server: 'https://management.example.com:6443'}
    sinks: [{type: Webhook, url: 'https://reports.example.com/machines'}]
  decided: {accept: [DeviceAlias]}
`;

/** Number of Secrets in the burst: a thousand in the full set. */
const BURST = process.env.MACHINEADM_E2E === 'all' ? 1000 : 24;

/** The document in translated user data, as a machine reads it. */
async function documentIn(userData: string): Promise<Model> {
  const bytes = userData.startsWith('#cloud-config')
    ? Buffer.from(parse(userData).write_files[0].content, 'base64')
    : Buffer.from(JSON.parse(userData).storage.files[0].contents.source.replace(/^data:;base64,/, ''), 'base64');
  const result = await loadDocument([{ name: 'document', bytes: gunzipSync(bytes) }], { agentVersion: '0.1.0' });
  assert.ok(result.ok);
  return result.document.model;
}

describe('the bootstrap translator', {
  skip: needs('a kube-apiserver (npm run lab -- build)'),
  timeout: 900_000,
}, () => {
  let server: KubeApiServer;
  let translator: InstalledTranslator;
  let machines: Machines;
  let replica: Replica;
  let isCurrent = false;

  before(
    async () => {
      server = await startKubeApiServer(webhookClient());
      await installClusterApi(server, 'v1beta1', NAMESPACE);
      machines = new Machines(server, 'v1beta1');
      await machines.createCluster();
      translator = await InstalledTranslator.install(server, [NAMESPACE]);
      replica = await translator.start('one', `--report-namespace=${NAMESPACE}`);
      await trusted();
    },
    { timeout: 300_000 },
  );
  after(async () => {
    await translator?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  /** Waits until the API server calls the webhook: it learns of a new bundle a moment after it was written. */
  async function trusted(): Promise<void> {
    const probe = await machines.create({ name: `probe-${Date.now()}`, owner: 'MachineDeployment', labels: ENABLED });
    await until('the webhook is called', async () => {
      return isTranslated(await probe.createSecret('cloud-config', WORKER, '?dryRun=All'));
    });
  }

  const conditionOf = async (path: string, type: string): Promise<Reported | undefined> => {
    const { status } = (await server.ask('GET', path)) as WithConditions;
    const conditions = isCurrent ? status?.conditions : status?.v1beta2?.conditions;
    return conditions?.find((one) => one.type === type);
  };
  const translatedCondition = async ({ configPath }: CreatedMachine): Promise<Reported> => {
    let found: Reported | undefined;
    await until(`${configPath} has its condition`, async () => {
      found = await conditionOf(configPath, 'machineadm.dev/BootstrapTranslated');
      return found !== undefined;
    });
    assert.ok(found);
    return found;
  };
  const eventsOf = async ({ configUid }: CreatedMachine) => {
    const path = `/api/v1/namespaces/${NAMESPACE}/events?fieldSelector=involvedObject.uid%3D${configUid}`;
    const { items } = (await server.ask('GET', path)) as {
      items: { type: string; reason: string; message: string }[];
    };
    return items;
  };

  test('as it is installed, without the ConfigMap of profiles, it translates', async () => {
    const machine = await machines.create({ name: 'as-installed', owner: 'MachineDeployment', labels: ENABLED });
    assert.ok(isTranslated(await machine.createSecret('cloud-config', WORKER)));
    translator.writeProfiles(PROFILES);
  });

  test('it answers nobody but the API server', async () => {
    const review = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: { uid: 'u', operation: 'CREATE' },
    };
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = sendTls({
        port: replica.webhookPort,
        path: '/translate',
        method: 'POST',
        rejectUnauthorized: false,
      });
      sent.once('error', reject).once('response', (response) => resolve(response.resume().statusCode));
      sent.end(JSON.stringify(review));
    });
    assert.equal(status, 401);
  });

  for (const version of ['v1beta1', 'v1beta2'] as const) {
    describe(`with Cluster API ${version}`, () => {
      const name = `reporting-${version}`;

      before(async () => {
        if (version === 'v1beta1') return;
        // The translator goes on through an upgrade.
        await upgradeClusterApi(server, NAMESPACE);
        machines = new Machines(server, version);
        isCurrent = true;
      });

      for (const owner of ['KubeadmControlPlane', 'MachineDeployment'] as const) {
        const isControlPlane = owner === 'KubeadmControlPlane';
        test(`a cloud-config of a machine of a ${owner} that opted in runs machineadm`, async () => {
          const machine = await machines.create({
            name: `cloud-${version}-${owner.toLowerCase()}`,
            owner,
            labels: ENABLED,
          });
          const secret = await machine.createSecret('cloud-config', isControlPlane ? CONTROL_PLANE : WORKER);
          assert.ok(isTranslated(secret));
          assert.equal(secret.type, 'cluster.x-k8s.io/secret');
          assert.equal(Buffer.from(secret.data.format ?? '', 'base64').toString(), 'cloud-config');
          const { metadata, kubernetes } = await documentIn(userDataOf(secret));
          assert.deepEqual(
            [metadata.name, metadata.namespace, metadata.uid, metadata.cluster],
            [machine.name, NAMESPACE, machine.uid, 'prod-a'],
          );
          assert.equal(kubernetes?.role, isControlPlane ? 'InitControlPlane' : 'Worker');
          const condition = await translatedCondition(machine);
          assert.deepEqual([condition.status, condition.reason], ['True', 'Translated']);
          await until('its event', async () => (await eventsOf(machine)).length > 0);
          const [event] = await eventsOf(machine);
          assert.deepEqual([event?.type, event?.reason], ['Normal', 'BootstrapTranslated']);
        });
      }

      test('a machine gets a credential for its own report, and what it reports becomes conditions', async () => {
        const machine = await machines.create({
          name,
          owner: 'MachineDeployment',
          labels: ENABLED,
          annotations: { 'machineadm.dev/bootstrap-profile': 'reporting' },
        });
        const dry = await machine.createSecret('cloud-config', WORKER, '?dryRun=All');
        assert.ok(isTranslated(dry), 'a dry run shows the translation');
        const sinks = (await documentIn(userDataOf(dry))).reporting.sinks.map(({ kind }) => kind);
        assert.ok(!sinks.includes('Kubernetes'), 'and no token');
        const reports = `/api/v1/namespaces/${NAMESPACE}/configmaps`;

        const secret = await machine.createSecret('cloud-config', WORKER);
        assert.ok(isTranslated(secret), JSON.stringify(replica.log.slice(-3)));
        const { reporting } = await documentIn(userDataOf(secret));
        assert.deepEqual(
          reporting.sinks.map(({ kind }) => kind),
          ['Journal', 'Webhook', 'Kubernetes'],
        );
        const sink = reporting.sinks.find((one) => one.kind === 'Kubernetes');
        assert.ok(sink?.kind === 'Kubernetes' && 'credential' in sink.access && 'token' in sink.access.credential);
        const { source } = sink.access.credential.token;
        assert.ok(source.kind === 'value');
        assert.deepEqual(sink.configMap, { namespace: NAMESPACE, name: `machineadm-report-${name}` });
        const credential = { ...server.admin, token: source.secret };
        const report = (configMap: string, status: string) =>
          server.statusOf(
            credential,
            'PATCH',
            `${reports}/${configMap}`,
            'application/merge-patch+json',
            JSON.stringify({
              data: {
                'conditions.json': JSON.stringify([
                  { type: 'machineadm.dev/BootstrapSucceeded', status, reason: 'SwapEnabled', message: 'Swap is on.' },
                  { type: 'InfrastructureReady', status: 'True', reason: 'Lie', message: '' },
                ]),
              },
            }),
          );
        const own = { type: 'InfrastructureReady', status: 'False', reason: 'NotReady', message: 'Not yet.' };
        const conditions = [{ ...own, lastTransitionTime: '2026-11-23T00:00:00Z' }];
        const status = isCurrent ? { conditions } : { v1beta2: { conditions } };
        const type = 'application/merge-patch+json';
        const body = JSON.stringify({ status });
        assert.equal(await server.statusOf(server.admin, 'PATCH', `${machine.path}/status`, type, body), 200);
        assert.equal(await report(`machineadm-report-${name}`, 'False'), 200);
        assert.equal(await report('machineadm-report-other', 'False'), 403, 'no other report');
        assert.equal(await server.statusOf(credential, 'GET', `/api/v1/namespaces/${NAMESPACE}/secrets`), 403);
        for (const path of [machine.path, machine.configPath]) {
          await until(`${path} has the condition`, async () => {
            const found = await conditionOf(path, 'machineadm.dev/BootstrapSucceeded');
            return found?.status === 'False' && found.reason === 'SwapEnabled';
          });
        }
        const infrastructure = await conditionOf(machine.path, 'InfrastructureReady');
        assert.deepEqual(infrastructure, conditions[0], 'that of another controller stays as it is');
        assert.equal(
          await conditionOf(machine.configPath, 'InfrastructureReady'),
          undefined,
          'a machine says nothing else',
        );
        for (const path of [
          `${reports}/machineadm-report-${name}`,
          `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/roles/machineadm-report-${name}`,
        ]) {
          const { metadata } = (await server.ask('GET', path)) as { metadata: { ownerReferences: { uid: string }[] } };
          assert.equal(metadata.ownerReferences[0]?.uid, machine.uid, 'it goes with its Machine');
        }
      });
    });
  }

  // What follows does not depend on the version of the objects.

  test('an Ignition config becomes an Ignition config that runs machineadm', async () => {
    const machine = await machines.create({ name: 'ignition', owner: 'MachineDeployment', labels: ENABLED });
    const secret = await machine.createSecret('ignition', workerIgnition());
    assert.ok(isTranslated(secret), JSON.stringify(replica.log.slice(-3)));
    const config = JSON.parse(userDataOf(secret));
    assert.equal(config.ignition.version, '3.3.0');
    assert.deepEqual(
      config.systemd.units.map(({ name }: { name: string }) => name),
      ['machineadm-provision.service'],
    );
    const { kubernetes } = await documentIn(userDataOf(secret));
    assert.equal(kubernetes?.role, 'Worker');
  });

  test('the annotation of the KubeadmConfig opts in, and the Machine may opt out', async () => {
    const byConfig = await machines.create({
      name: 'by-config',
      owner: 'MachineDeployment',
      configAnnotations: ENABLED,
    });
    assert.ok(isTranslated(await byConfig.createSecret('cloud-config', WORKER)));
    const optedOut = await machines.create({
      name: 'opted-out',
      owner: 'MachineDeployment',
      configAnnotations: ENABLED,
      labels: { 'machineadm.dev/bootstrap': 'disabled' },
    });
    assertUntouched(await optedOut.createSecret('cloud-config', WORKER));
  });

  test('a MachinePool opts in as a Machine does', async () => {
    const pool = await machines.create({ name: 'pool', owner: 'MachinePool', labels: ENABLED });
    const secret = await pool.createSecret('cloud-config', WORKER);
    assert.equal((await documentIn(userDataOf(secret))).kubernetes?.version, 'v1.35.2');
  });

  test('a machine that did not opt in is left alone, and gets neither condition nor event', async () => {
    const machine = await machines.create({ name: 'by-kubeadm', owner: 'MachineDeployment' });
    assertUntouched(await machine.createSecret('cloud-config', WORKER));
    assert.equal(await conditionOf(machine.configPath, 'machineadm.dev/BootstrapTranslated'), undefined);
    assert.deepEqual(await eventsOf(machine), []);
  });

  test('a conversion that needs a decision leaves the Secret as it is, and says which', async () => {
    const machine = await machines.create({ name: 'undecided', owner: 'KubeadmControlPlane', labels: ENABLED });
    const secret = await machine.createSecret('cloud-config', UNDECIDED);
    assert.equal(userDataOf(secret), UNDECIDED);
    assert.match(secret.metadata.annotations?.['machineadm.dev/translation-kept'] ?? '', /^DecisionNeeded: /);
    const condition = await translatedCondition(machine);
    assert.deepEqual([condition.status, condition.reason], ['False', 'DecisionNeeded']);
    assert.match(condition.message, /DeviceAlias .*fs_setup\[1\]/s);
    assert.doesNotMatch(condition.message, /PRIVATE KEY/);
    await until('its event', async () => (await eventsOf(machine)).length > 0);
    const [event] = await eventsOf(machine);
    assert.deepEqual([event?.type, event?.reason], ['Warning', 'BootstrapNotTranslated']);
    assert.match(event?.message ?? '', /DeviceAlias/);
  });

  test('a profile or an annotation decides it', async () => {
    for (const [name, annotations] of [
      ['decided-by-profile', { 'machineadm.dev/bootstrap-profile': 'decided' }],
      ['decided-by-annotation', { 'machineadm.dev/bootstrap-accept': 'DeviceAlias' }],
    ] as const) {
      const machine = await machines.create({ name, owner: 'KubeadmControlPlane', labels: ENABLED, annotations });
      assert.ok(isTranslated(await machine.createSecret('cloud-config', UNDECIDED)), name);
    }
  });

  test('an update by the provider is translated again; one of anything else is left alone', async () => {
    const machine = await machines.create({ name: 'updated', owner: 'MachineDeployment', labels: ENABLED });
    const secret = await machine.createSecret('cloud-config', WORKER);
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets/${secret.metadata.name}`;
    const metadata = { ...secret.metadata, resourceVersion: undefined };
    const put = async (change: object) => (await server.ask('PUT', path, { ...secret, ...change })) as StoredSecret;
    const relabelled = await put({ metadata: { ...metadata, finalizers: ['example.com/mine'] } });
    assert.equal(relabelled.data.value, secret.data.value);
    const value = Buffer.from(WORKER.replace('prod-b', 'prod-z')).toString('base64');
    const again = await put({ metadata: { ...metadata, annotations: {} }, data: { ...secret.data, value } });
    assert.ok(isTranslated(again));
    assert.notEqual(again.data.value, secret.data.value);
  });

  test('a second Create that the API server rejects changes nothing, and the Update after it is translated', async () => {
    const machine = await machines.create({ name: 'twice', owner: 'MachineDeployment', labels: ENABLED });
    const first = await machine.createSecret('cloud-config', WORKER);
    await assert.rejects(machine.createSecret('cloud-config', WORKER), /409/);
    // The provider updates without a version, and with the annotations that it knows: none.
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets/${first.metadata.name}`;
    const { annotations: _, resourceVersion: __, ...metadata } = first.metadata;
    const value = Buffer.from(WORKER).toString('base64');
    const second = (await server.ask('PUT', path, {
      ...first,
      metadata,
      data: { ...first.data, value },
    })) as StoredSecret;
    assert.ok(isTranslated(second));
    assert.equal((await translatedCondition(machine)).reason, 'Translated');

    // The same Update while the translator is away, and once more: the condition follows, and it heals.
    translator.pointTo([]);
    await server.ask('PUT', path, { ...first, metadata, data: { ...first.data, value } });
    const reasonIs = (reason: string) =>
      until(`the Machine says ${reason}`, async () => {
        return (await conditionOf(machine.path, 'machineadm.dev/BootstrapTranslated'))?.reason === reason;
      });
    await reasonIs('NotTranslated');
    translator.pointTo(undefined);
    await server.ask('PUT', path, { ...first, metadata, data: { ...first.data, value } });
    await reasonIs('Translated');
  });

  test('an object of the name of a report that is not the Machine’s is never used: the machine does without, which is said', async () => {
    const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
    await server.ask('POST', path, { metadata: { name: 'machineadm-report-taken' }, data: { mine: 'yes' } });
    const machine = await machines.create({
      name: 'taken',
      owner: 'MachineDeployment',
      labels: ENABLED,
      annotations: { 'machineadm.dev/bootstrap-profile': 'reporting' },
    });
    assert.ok(isTranslated(await machine.createSecret('cloud-config', WORKER)));
    const condition = await translatedCondition(machine);
    assert.equal(condition.reason, 'Translated');
    assert.match(condition.message, /no report: ServiceAccount machineadm-report-taken was not created in time/);
    const { data } = (await server.ask('GET', `${path}/machineadm-report-taken`)) as { data: object };
    assert.deepEqual(data, { mine: 'yes' });
  });

  test('it may do that and nothing else', async () => {
    const credential = await translator.credential();
    for (const [method, path] of [
      ['GET', `/api/v1/namespaces/${NAMESPACE}/secrets`],
      ['GET', '/api/v1/namespaces/machineadm-system/secrets/any'],
      ['PATCH', `/api/v1/namespaces/${NAMESPACE}/secrets/reporting-v1beta2`],
      ['GET', '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/machineadm-translator'],
      ['PATCH', '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/machineadm-translator'],
      ['DELETE', machines.path('machines', 'reporting-v1beta2')],
      ['PATCH', machines.path('machines', 'reporting-v1beta2')],
      ['POST', '/api/v1/namespaces/default/serviceaccounts/default/token'],
      ['GET', '/api/v1/configmaps'],
      ['DELETE', `/api/v1/namespaces/${NAMESPACE}/configmaps/machineadm-report-reporting-v1beta2`],
      ['GET', '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'],
    ] as const) {
      assert.equal(await server.statusOf(credential, method, path), 403, `${method} ${path}`);
    }
  });

  test(`${BURST} machines at once, a fourth of them written twice, are all translated, within bounded memory`, async () => {
    const created: CreatedMachine[] = [];
    for (let index = 0; index < BURST; index += 1) {
      // As Cluster API names them: with an end of five characters.
      const name = `burst-${index.toString(36).padStart(5, 'x')}`;
      created.push(await machines.create({ name, owner: 'MachineDeployment', labels: ENABLED }));
    }
    const admissions = () => metric(replica, 'machineadm_translator_admissions_total{outcome="Translated"}');
    const secretPath = (name: string) => `/api/v1/namespaces/${NAMESPACE}/secrets/${name}`;
    const userDataFor = (index: number) => {
      const part = index.toString(36).padStart(4, 'x');
      return userDataOfWorker(
        'api.prod-a.example:6443',
        `sha256:${'ab'.repeat(32)}`,
        `tok${part[3]}zx.0123456789ab${part}`,
      );
    };
    /** The provider with a stale cache: Create, AlreadyExists, Update without version and annotations. */
    const writeTwice = async (machine: CreatedMachine, userData: string, first: StoredSecret): Promise<void> => {
      await assert.rejects(machine.createSecret('cloud-config', userData), /409/);
      const { annotations: _, resourceVersion: __, ...metadata } = first.metadata;
      const data = { ...first.data, value: Buffer.from(userData).toString('base64') };
      await server.ask('PUT', secretPath(machine.name), { ...first, metadata, data });
    };
    const before = await admissions();
    const cpuBefore = await metric(replica, 'process_cpu_seconds_total');
    const durations = await inParallel(created, async (machine, index) => {
      const from = performance.now();
      const secret = await machine.createSecret('cloud-config', userDataFor(index));
      const duration = performance.now() - from;
      if (index % 4 === 0) await writeTwice(machine, userDataFor(index + BURST), secret);
      return duration;
    });
    const written = (await admissions()) - before;
    assert.equal(written, BURST + Math.ceil(BURST / 4) * 2);
    const cpuSeconds = (await metric(replica, 'process_cpu_seconds_total')) - cpuBefore;
    for (const { name } of created) {
      assert.ok(isTranslated((await server.ask('GET', secretPath(name))) as StoredSecret), name);
    }
    for (const machine of created)
      assert.equal((await translatedCondition(machine)).reason, 'Translated', machine.name);
    // The same two requests, with Secrets about which the API server asks nobody.
    const alone = await inParallel(created, async ({ name, configPath }, index) => {
      const from = performance.now();
      await server.ask('POST', `/api/v1/namespaces/${NAMESPACE}/secrets`, {
        metadata: { name: `alone-${name}` },
        data: { value: Buffer.from(userDataFor(index)).toString('base64') },
      });
      await server.statusOf(server.admin, 'PATCH', `${configPath}/status`, 'application/merge-patch+json', '{}');
      return performance.now() - from;
    });
    const most = highestResidentMemory(replica.pid);
    assert.ok(most < memoryLimit(), `${most} bytes: more than the limit of its container`);
    const perAdmission = (cpuSeconds * 1000) / written;
    console.log(
      `${BURST} machines, ${written} admissions: p99 ${p99(durations).toFixed(0)} ms, without the translator ` +
        `${p99(alone).toFixed(0)} ms; ${perAdmission.toFixed(1)} ms of a processor for each admission, conditions and ` +
        `events included; at most ${(most / 2 ** 20).toFixed(0)} MiB`,
    );
    // The first dozens run code that is not optimized yet.
    if (BURST === 1000) assert.ok(perAdmission < 30, `${perAdmission} ms of a processor for each admission`);
  });

  test('a webhook that is away, slow or wrong lets the Secret pass as it is', { timeout: 180_000 }, async () => {
    const identity = newAuthority('another').issue('translator', ['localhost']);
    const foreign = createServer({ cert: identity.certificate, key: identity.key }, (_request, response) =>
      response.end(),
    );
    const garbage = createPlainServer((_request, response) => response.end('garbage'));
    const ports: number[] = [];
    for (const one of [foreign, garbage]) {
      await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
      ports.push((one.address() as AddressInfo).port);
    }
    const cases = [
      ['away', []],
      ['foreign', [ports[0] ?? 0]],
      ['garbage', [ports[1] ?? 0]],
    ] as const;
    for (const [name, targets] of cases) {
      translator.pointTo(targets);
      const machine = await machines.create({ name: `passes-${name}`, owner: 'MachineDeployment', labels: ENABLED });
      assertUntouched(await machine.createSecret('cloud-config', WORKER));
      await until(`${name}: the Machine says so`, async () => {
        const condition = await conditionOf(machine.path, 'machineadm.dev/BootstrapTranslated');
        return condition?.status === 'False' && condition.reason === 'NotTranslated';
      });
    }
    translator.pointTo(undefined);
    for (const one of [foreign, garbage]) {
      one.closeAllConnections();
      await new Promise((resolve) => one.close(resolve));
    }
  });

  test('a translation that does not end in time leaves the Secret as it is', async () => {
    const slow = await translator.start('slow', '--deadline=0.001');
    translator.pointTo([slow.webhookPort]);
    const machine = await machines.create({ name: 'slow', owner: 'MachineDeployment', labels: ENABLED });
    assertUntouched(await machine.createSecret('cloud-config', WORKER));
    assert.equal(await metric(slow, 'machineadm_translator_admissions_total{outcome="TimedOut"}'), 1);
    assert.equal(await slow.end('SIGTERM'), 0);
    translator.forget(slow);
  });

  test('profiles that are invalid are an event and a condition, until they are valid again', async () => {
    translator.writeProfiles('profiles: {default: {providers: capa}}');
    const machine = await machines.create({ name: 'bad-profile', owner: 'MachineDeployment', labels: ENABLED });
    assertUntouched(await machine.createSecret('cloud-config', WORKER));
    const condition = await translatedCondition(machine);
    assert.equal(condition.reason, 'OptionsInvalid');
    assert.match(condition.message, /providers/);
    translator.writeProfiles(PROFILES);
    const next = await machines.create({ name: 'good-profile', owner: 'MachineDeployment', labels: ENABLED });
    assert.ok(isTranslated(await next.createSecret('cloud-config', WORKER)));
  });

  test('two replicas: when the leader is killed, the other one copies reports', async () => {
    const second = await translator.start('two', `--report-namespace=${NAMESPACE}`);
    await until('the first one leads, and only that', async () => {
      const leaders = [replica, second].map((one) => metric(one, 'machineadm_translator_leader'));
      return (await Promise.all(leaders)).join() === '1,0';
    });
    await replica.end('SIGKILL');
    translator.forget(replica);
    await until('the second one leads', async () => (await metric(second, 'machineadm_translator_leader')) === 1);
    const conditions = [
      { type: 'machineadm.dev/BootstrapSucceeded', status: 'True', reason: 'Succeeded', message: 'It works.' },
    ];
    await server.statusOf(
      server.admin,
      'PATCH',
      `/api/v1/namespaces/${NAMESPACE}/configmaps/machineadm-report-reporting-v1beta2`,
      'application/merge-patch+json',
      JSON.stringify({ data: { 'conditions.json': JSON.stringify(conditions) } }),
    );
    await until('the second one copies', async () => {
      const found = await conditionOf(
        machines.path('machines', 'reporting-v1beta2'),
        'machineadm.dev/BootstrapSucceeded',
      );
      return found?.status === 'True';
    });
    const machine = await machines.create({ name: 'after-kill', owner: 'MachineDeployment', labels: ENABLED });
    assert.ok(isTranslated(await machine.createSecret('cloud-config', WORKER)));

    // A replica that ends gives the lease up: the next one need not wait for it to expire.
    assert.equal(await second.end('SIGTERM'), 0);
    translator.forget(second);
    const lease = '/apis/coordination.k8s.io/v1/namespaces/machineadm-system/leases/machineadm-translator';
    const { spec } = (await server.ask('GET', lease)) as { spec: { holderIdentity?: string } };
    assert.equal(spec.holderIdentity ?? '', '');
  });

  test('a certificate of cert-manager is served, also a renewed one, and the webhook configuration is left to it', async () => {
    const directory = join(translator.directory, 'certificates');
    /** A new certificate as the kubelet mounts it: links that are replaced at once. */
    const issue = async (generation: number): Promise<string> => {
      const issuer = newAuthority(`authority ${generation}`);
      const { certificate, key } = issuer.issue('translator', ['localhost']);
      mkdirSync(join(directory, `..${generation}`), { recursive: true });
      writeFileSync(join(directory, `..${generation}/tls.crt`), certificate);
      writeFileSync(join(directory, `..${generation}/tls.key`), key);
      symlinkSync(`..${generation}`, join(directory, '..new'));
      renameSync(join(directory, '..new'), join(directory, '..data'));
      return issuer.certificate;
    };
    const first = await issue(1);
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(`..data/${name}`, join(directory, name));
    // What cainjector of cert-manager does.
    await translator.trust(first);
    const fourth = await translator.start('four', `--certificate-directory=${directory}`);
    await trusted();
    const second = await issue(2);
    await translator.trust(`${first}${second}`);
    await until('the new certificate is served', () =>
      fourth.log.some(({ message }) => message === 'certificate rotated'),
    );
    await translator.trust(second);
    await trusted();
    assert.equal((await translator.webhook()).caBundle, second);
  });
});

/** Eight at a time, in their order. */
async function inParallel<T, R>(items: readonly T[], work: (item: T, index: number) => Promise<R>): Promise<R[]> {
  const waiting = [...items.entries()];
  const results: R[] = [];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      results.push(await work(next[1], next[0]));
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return results;
}

function p99(durations: readonly number[]): number {
  return [...durations].sort((a, b) => a - b)[Math.ceil(durations.length * 0.99) - 1] ?? 0;
}

function isTranslated(secret: StoredSecret): boolean {
  return (
    /machineadm(?:-provision\.service| provision )/.test(userDataOf(secret)) &&
    secret.metadata.annotations?.['machineadm.dev/translated'] !== undefined
  );
}

function assertUntouched(secret: StoredSecret): void {
  assert.equal(userDataOf(secret), WORKER);
  assert.equal(secret.metadata.annotations?.['machineadm.dev/translated'], undefined);
}

/** The most memory that a process had resident so far, in bytes. */
function highestResidentMemory(pid: number): number {
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1024;
}

/** The memory limit of the translator's container, in bytes. */
function memoryLimit(): number {
  const text = readFileSync(join(BASE, 'deployment.yaml'), 'utf8');
  return Number(/limits: \{memory: (\d+)Mi\}/.exec(text)?.[1]) * 2 ** 20;
}

/** A sample of a replica's metrics, by its name with its labels. */
async function metric(replica: Replica, name: string): Promise<number> {
  const { text } = await replica.get('/metrics');
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}
