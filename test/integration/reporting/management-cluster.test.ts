import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadDocument } from '@machineadm/document/load.ts';
import { Secret } from '@machineadm/document/secret.ts';
import { parse, parseAllDocuments } from 'yaml';
import { type ReportEvent, reportEvent } from '../../../src/reporting/event.ts';
import { kubernetesSink } from '../../../src/reporting/remote/kubernetes.ts';
import { kubeconfig } from '../../support/api-server.ts';
import { deliveryContext } from '../../support/delivery.ts';
import {
  apiServerUnavailable,
  type KubeApiServer,
  labProgram,
  startKubeApiServer,
} from '../../support/kube-apiserver.ts';
import { at, FAILURE, statusAfter } from '../../unit/reporting/runs.ts';

const PACKAGING = resolve(import.meta.dirname, '../../../packaging/management-cluster');
const MACHINES = '/apis/cluster.x-k8s.io/v1beta2/namespaces/clusters/machines';
const REPORTS = '/api/v1/namespaces/clusters/configmaps';

function unavailable(): string | undefined {
  const missing = ['curl', 'jq'].filter((program) => spawnSync(program, ['--version']).status !== 0);
  return missing.length > 0 ? `needs ${missing.join(' and ')}` : apiServerUnavailable();
}

describe('the material for a management cluster', { skip: unavailable() ?? false, timeout: 600_000 }, () => {
  let server: KubeApiServer;
  let directory = '';
  let account = '';

  before(
    async () => {
      server = await startKubeApiServer();
      directory = mkdtempSync(join(tmpdir(), 'machineadm-management-'));
      account = join(directory, 'account');
      const token = server.admin.token?.reveal() ?? '';
      writeFileSync(join(directory, 'kubeconfig'), kubeconfig(server.url, server.certificateAuthority, { token }));
      await server.ask('POST', '/api/v1/namespaces', { metadata: { name: 'clusters' } });
      await server.ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', MACHINE_DEFINITION);
      await server.until(MACHINES);
      for (const name of ['m1', 'm2']) {
        await server.ask('POST', MACHINES, {
          apiVersion: 'cluster.x-k8s.io/v1beta2',
          kind: 'Machine',
          metadata: { name },
          spec: { clusterName: 'prod-a' },
        });
      }
      await installCopier();
    },
    { timeout: 300_000 },
  );
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const run = (script: string, args: readonly string[], env: Readonly<Record<string, string>>) =>
    execute(join(PACKAGING, script), args, { PATH: `${dirname(labProgram('kubectl'))}:${process.env.PATH}`, ...env });
  const mint = (...args: string[]) =>
    run('mint-report-credential.sh', args, { KUBECONFIG: join(directory, 'kubeconfig'), HOME: directory });
  const copy = () => run('copy-conditions.sh', [], { API_SERVER: server.url, SERVICE_ACCOUNT: account });
  const copied = async (): Promise<void> => {
    const { status, stderr } = await copy();
    assert.equal(status, 0, stderr);
  };
  const conditionsOf = async (name: string): Promise<readonly Condition[]> =>
    ((await server.ask('GET', `${MACHINES}/${name}`)) as Machine).status?.conditions ?? [];
  const patchReport = (name: string, data: Readonly<Record<string, string>>) =>
    server.statusOf(
      server.admin,
      'PATCH',
      `${REPORTS}/machineadm-report-${name}`,
      'application/merge-patch+json',
      JSON.stringify({ data }),
    );

  /** The copier's account as its manifest makes it, where a pod would have it mounted. */
  async function installCopier(): Promise<void> {
    for (const document of parseAllDocuments(readFileSync(join(PACKAGING, 'copy-conditions.yaml'), 'utf8'))) {
      const object: { kind: string; apiVersion: string } = document.toJS();
      const group = object.apiVersion === 'v1' ? '/api/v1' : `/apis/${object.apiVersion}`;
      await server.ask('POST', `${group}/namespaces/clusters/${object.kind.toLowerCase()}s`, object);
    }
    const path = '/api/v1/namespaces/clusters/serviceaccounts/machineadm-copy-conditions/token';
    const { status } = (await server.ask('POST', path, { spec: {} })) as { status: { token: string } };
    mkdirSync(account);
    writeFileSync(join(account, 'token'), status.token, { mode: 0o600 });
    writeFileSync(join(account, 'ca.crt'), server.certificateAuthority);
    writeFileSync(join(account, 'namespace'), 'clusters');
  }

  test('the script makes a credential of one machine, in a part of a document that is valid', async () => {
    const minted = await mint('--namespace', 'clusters', '--machine', 'm1');
    assert.equal(minted.status, 0, minted.stderr);
    assert.doesNotMatch(minted.stderr, /eyJ/, 'the token is on standard output only');
    const result = await loadDocument([{ name: 'report.yaml', bytes: Buffer.from(minted.stdout) }], {
      agentVersion: '0.1.0',
    });
    assert.ok(result.ok);
    const { model } = result.document;
    assert.deepEqual([model.metadata.namespace, model.metadata.name], ['clusters', 'm1']);
    const sink = model.reporting.sinks.find((one) => one.kind === 'Kubernetes');
    assert.ok(sink?.kind === 'Kubernetes');
    assert.deepEqual(await kubernetesSink(sink).deliver(concluded('Failed'), deliveryContext()), { kind: 'delivered' });

    const machine = (await server.ask('GET', `${MACHINES}/m1`)) as Machine;
    const report = (await server.ask('GET', `${REPORTS}/machineadm-report-m1`)) as Machine;
    assert.equal(report.metadata.ownerReferences?.[0]?.uid, machine.metadata.uid, 'it goes with its Machine');
  });

  test('the script may be run again, and the machine keeps its report', async () => {
    assert.equal((await mint('--namespace', 'clusters', '--machine', 'm1')).status, 0);
    const report = (await server.ask('GET', `${REPORTS}/machineadm-report-m1`)) as { data: Record<string, string> };
    assert.equal(report.data.outcome, 'Failed');
  });

  test('a machine that does not exist gets no credential, unless that is asked for', async () => {
    const refused = await mint('--namespace', 'clusters', '--machine', 'm9');
    assert.notEqual(refused.status, 0);
    assert.equal(refused.stdout, '');
    const minted = await mint('--namespace', 'clusters', '--machine', 'm9', '--without-owner');
    assert.equal(minted.status, 0, minted.stderr);
    assert.equal(parse(minted.stdout).reporting.sinks[1].configMap.name, 'machineadm-report-m9');
  });

  for (const name of ['m1; touch x', '../m1', 'M1', '', 'm1\nkind: Secret']) {
    test(`${JSON.stringify(name)} is not the name of a machine`, async () => {
      assert.equal((await mint('--namespace', 'clusters', '--machine', name, '--without-owner')).status, 2);
    });
  }

  test('what a machine reported becomes a condition of its Machine; a second look changes nothing', async () => {
    const begun = Date.now();
    const first = await copy();
    assert.equal(first.status, 0, first.stderr);
    assert.equal(first.stdout, 'm1: machineadm.dev/BootstrapSucceeded=False (SwapEnabled)\n');
    const [condition] = await conditionsOf('m1');
    assert.deepEqual([condition?.status, condition?.reason], ['False', 'SwapEnabled']);
    assert.equal(condition?.message, 'Swap is on. Set host.swap to Disabled.');
    const at = Date.parse(condition?.lastTransitionTime ?? '');
    assert.ok(
      at > begun - 1_000 && at <= Date.now(),
      'by the clock of the management cluster, and not by the machine’s',
    );
    assert.deepEqual(await copy(), { status: 0, stdout: '', stderr: '' });
  });

  test('the conditions of Cluster API’s own controllers stay as they are', async () => {
    const own = {
      type: 'InfrastructureReady',
      status: 'True',
      reason: 'Ready',
      message: 'It is.',
      lastTransitionTime: NOW,
    };
    const body = JSON.stringify({ status: { conditions: [...(await conditionsOf('m1')), own] } });
    await server.statusOf(server.admin, 'PATCH', `${MACHINES}/m1/status`, 'application/merge-patch+json', body);
    const healthy = {
      ...own,
      message: '',
      type: 'machineadm.dev/NodeHealthy',
      status: 'Unknown',
      reason: 'NodeNotRegistered',
    };
    await patchReport('m1', { 'watch-conditions.json': JSON.stringify([healthy]) });
    await copied();
    assert.deepEqual((await conditionsOf('m1')).map(({ type, status }) => `${type}=${status}`).sort(), [
      'InfrastructureReady=True',
      'machineadm.dev/BootstrapSucceeded=False',
      'machineadm.dev/NodeHealthy=Unknown',
    ]);
  });

  test('the time of a condition moves only with its status', async () => {
    const [before] = await conditionsOf('m1');
    const told = { ...before, reason: 'AnotherReason', lastTransitionTime: '1970-01-01T00:00:00Z' };
    await patchReport('m1', { 'conditions.json': JSON.stringify([told]) });
    await copied();
    const [after] = await conditionsOf('m1');
    assert.equal(after?.reason, 'AnotherReason');
    assert.equal(after?.lastTransitionTime, before?.lastTransitionTime);
  });

  test('a machine that lies can say nothing but its own conditions, of its own Machine', async () => {
    assert.equal((await mint('--namespace', 'clusters', '--machine', 'm2')).status, 0);
    const good = { type: 'machineadm.dev/BootstrapSucceeded', status: 'True', reason: 'Succeeded', message: 'x' };
    const lies = [
      { ...good, type: 'Ready' },
      { ...good, type: 'machineadm.dev/NodeHealthy', status: 'Maybe' },
      { ...good, type: 'machineadm.dev/NodeHealthy', reason: 'not a reason' },
      { ...good, type: 'machineadm.dev/AfterBootstrapHooksSucceeded', reason: 7 },
      'words',
      { ...good, message: 'y'.repeat(100_000), extra: 'field', observedGeneration: 99 },
    ];
    for (const [key, text] of [
      ['watch-conditions.json', '{"type": "Ready"}'],
      ['conditions.json', 'no JSON "}]}'],
      ['conditions.json', JSON.stringify(lies)],
    ] as const) {
      await patchReport('m2', { [key]: text, name: 'm1', 'metadata.json': '{"name":"m1"}' });
      await copied();
    }
    const told = await conditionsOf('m2');
    assert.deepEqual(
      told.map(({ type, status, reason }) => [type, status, reason]),
      [['machineadm.dev/BootstrapSucceeded', 'True', 'Succeeded']],
    );
    assert.equal(told[0]?.message.length, 1024);
    assert.deepEqual(Object.keys(told[0] ?? {}).sort(), ['lastTransitionTime', 'message', 'reason', 'status', 'type']);
  });

  test('a ConfigMap of no Machine is left alone', async () => {
    await patchReport('m9', { 'conditions.json': '[]' });
    assert.deepEqual(await copy(), { status: 0, stdout: '', stderr: '' });
  });

  test('the copier may do that and nothing else', async () => {
    const credential = { ...server.admin, token: new Secret(readFileSync(join(account, 'token'), 'utf8')) };
    for (const [method, path] of [
      ['GET', `${REPORTS}/machineadm-report-m1`],
      ['GET', '/api/v1/namespaces/clusters/secrets'],
      ['DELETE', `${MACHINES}/m1`],
      ['GET', '/api/v1/namespaces/default/configmaps'],
    ] as const) {
      assert.equal(await server.statusOf(credential, method, path), 403, `${method} ${path}`);
    }
    const spec = JSON.stringify({ apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Machine', metadata: { name: 'm1' } });
    assert.equal(
      await server.statusOf(credential, 'PATCH', `${MACHINES}/m1?fieldManager=x`, 'application/apply-patch+yaml', spec),
      403,
    );
  });
});

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

interface Machine {
  readonly metadata: { readonly uid: string; readonly ownerReferences?: readonly { readonly uid: string }[] };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const NOW = new Date().toISOString().replace(/\.\d+Z$/, 'Z');

/** The parts of Cluster API's Machine that matter here, as its own definition has them (api/core/v1beta2/machine_types.go). */
const MACHINE_DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'machines.cluster.x-k8s.io' },
  spec: {
    group: 'cluster.x-k8s.io',
    names: { kind: 'Machine', listKind: 'MachineList', plural: 'machines', singular: 'machine' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1beta2',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { clusterName: { type: 'string' } } },
              status: {
                type: 'object',
                properties: {
                  conditions: {
                    type: 'array',
                    maxItems: 32,
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['type'],
                    items: {
                      type: 'object',
                      required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
                      properties: {
                        type: { type: 'string', maxLength: 316 },
                        status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
                        reason: { type: 'string', minLength: 1, maxLength: 1024 },
                        message: { type: 'string', maxLength: 32768 },
                        lastTransitionTime: { type: 'string', format: 'date-time' },
                        observedGeneration: { type: 'integer', format: 'int64' },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

function concluded(outcome: 'Failed'): ReportEvent {
  const status = statusAfter({ kind: 'concluded', conclusion: { outcome, exitCode: 11, failure: FAILURE } });
  return reportEvent({ kind: 'concluded', status }, 3, at(9));
}

async function execute(program: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
    });
  }
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { status, ...output };
}
