import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { type ReportEvent, reportEvent } from '@machineadm/status/event.ts';
import { parse } from 'yaml';
import { kubernetesSink } from '../../../src/reporting/remote/kubernetes.ts';
import { kubeconfig } from '../../support/api-server.ts';
import { installClusterApi } from '../../support/capi-definitions.ts';
import { deliveryContext } from '../../support/delivery.ts';
import { type KubeApiServer, startKubeApiServer } from '../../support/kube-apiserver.ts';
import { kubernetesProgram } from '../../support/kubernetes-release.ts';
import { needs } from '../../support/needs.ts';
import { at, FAILURE, statusAfter } from '../../unit/reporting/runs.ts';

const PACKAGING = resolve(import.meta.dirname, '../../../packaging/management-cluster');
const MACHINES = '/apis/cluster.x-k8s.io/v1beta2/namespaces/clusters/machines';
const REPORTS = '/api/v1/namespaces/clusters/configmaps';

describe('the material for a management cluster', {
  skip: needs('a kube-apiserver (npm run lab -- build)'),
  timeout: 600_000,
}, () => {
  let server: KubeApiServer;
  let directory = '';

  before(
    async () => {
      server = await startKubeApiServer();
      directory = mkdtempSync(join(tmpdir(), 'machineadm-management-'));
      const token = server.admin.token?.reveal() ?? '';
      writeFileSync(join(directory, 'kubeconfig'), kubeconfig(server.url, server.certificateAuthority, { token }));
      await installClusterApi(server, 'v1beta2', 'clusters');
      await server.ask('POST', MACHINES, {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Machine',
        metadata: { name: 'm1' },
        spec: { clusterName: 'prod-a' },
      });
    },
    { timeout: 300_000 },
  );
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const run = (script: string, args: readonly string[], env: Readonly<Record<string, string>>) =>
    execute(join(PACKAGING, script), args, {
      PATH: `${dirname(kubernetesProgram('kubectl'))}:${process.env.PATH}`,
      ...env,
    });
  const mint = (...args: string[]) =>
    run('mint-report-credential.sh', args, { KUBECONFIG: join(directory, 'kubeconfig'), HOME: directory });

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
});

interface Machine {
  readonly metadata: { readonly uid: string; readonly ownerReferences?: readonly { readonly uid: string }[] };
}

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
