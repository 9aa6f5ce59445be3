import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { before, beforeEach, describe, test } from 'node:test';
import { type Agent, startAgent } from '../../support/agent.ts';
import { kubeconfig, newAuthority, nodeObject, startHealthz } from '../../support/api-server.ts';
import { startServer } from '../../support/http-servers.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { WEBHOOK_SECRET } from '../../support/webhook-receiver.ts';

const authority = newAuthority();
const identity = authority.issue('kube-apiserver', ['127.0.0.1']);
const kubelet = authority.issue('system:node:node-1');

inThrowAwayMachine(import.meta.filename, () => {
  // A new image may have no id.
  before(() => writeFileSync('/etc/machine-id', `${'a'.repeat(32)}\n`));
  beforeEach(() => {
    for (const path of ['/etc/kubernetes', '/var/lib/kubelet', '/var/lib/machineadm', '/run/machineadm']) {
      rmSync(path, { recursive: true, force: true });
    }
  });

  /** A cluster that has this machine's Node, and notes what is written on it. */
  async function startCluster() {
    const machine = {
      machineID: readFileSync('/etc/machine-id', 'utf8').trim(),
      bootID: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    };
    const state = { ready: 'True' as 'True' | 'False' };
    const told: { status: string; reason: string }[] = [];
    const server = await startServer((request, body) => {
      if (request.method === 'GET') return { body: JSON.stringify(nodeObject({ ...machine, ready: state.ready })) };
      told.push(JSON.parse(body).status.conditions[0]);
      return { body: '{}' };
    }, identity);
    return { state, told, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  }

  function join(url: string, healthzPort: number): void {
    mkdirSync('/etc/kubernetes', { recursive: true });
    mkdirSync('/var/lib/kubelet', { recursive: true });
    writeFileSync('/etc/kubernetes/kubelet.conf', kubeconfig(url, authority.certificate, kubelet));
    writeFileSync('/var/lib/kubelet/config.yaml', `healthzPort: ${healthzPort}\n`);
  }

  /** Tells it to end, which it does by itself never. */
  async function stopped(watch: Agent) {
    watch.kill('SIGTERM');
    return await watch.ended;
  }

  describe('report watch', () => {
    test('works as the user of its unit, who may read and nothing else; any other user is refused', async () => {
      await using cluster = await startCluster();
      await using healthz = await startHealthz();
      join(cluster.server.url, healthz.port);
      chmodSync('/etc/kubernetes/kubelet.conf', 0o600);
      chmodSync('/var/lib/kubelet', 0o700);
      const other = ['setpriv', '--reuid=61234', '--regid=61234', '--clear-groups', '--no-new-privs'];
      const rights = ['--inh-caps=-all,+dac_read_search', '--ambient-caps=-all,+dac_read_search'];
      const bounded = '--bounding-set=-all,+dac_read_search';
      const args = ['report', 'watch', '--interval', '1s'];
      const watch = startAgent(args, { wrapper: [...other, ...rights, bounded] });
      await waitUntil(() => cluster.told.length > 0, 'the Node is told that it works');
      assert.equal(cluster.told[0]?.status, 'True');
      assert.equal((await stopped(watch)).status, 0);
      const refused = await startAgent(args, { wrapper: other }).ended;
      assert.equal(refused.status, 4, refused.stderr);
      assert.match(refused.stderr, /NotPrivilegedUser/);
    });

    test('reports changes to its own Node, and needs no document and no earlier run', async () => {
      await using cluster = await startCluster();
      await using healthz = await startHealthz();
      join(cluster.server.url, healthz.port);
      const watch = startAgent(['report', 'watch', '--interval', '1s']);
      await waitUntil(() => cluster.told.length > 0, 'the Node is told that it works');
      cluster.state.ready = 'False';
      await waitUntil(() => cluster.told.length > 1, 'the Node is told that it is not ready');
      cluster.state.ready = 'True';
      await waitUntil(() => cluster.told.length > 2, 'the Node is told that it works again');
      healthz.status = 500;
      await waitUntil(() => cluster.told.length > 3, 'the Node is told of the kubelet');
      const run = await stopped(watch);
      assert.equal(run.status, 0, run.stderr);
      assert.deepEqual(
        cluster.told.map(({ status, reason }) => `${status} ${reason}`),
        ['True NodeWorks', 'False NodeNotReady', 'True NodeWorks', 'False KubeletNotHealthy'],
      );
      assert.match(run.stdout, /^\S+Z NodeHealthy=True \(NodeWorks\)\n\S+Z NodeHealthy=False \(NodeNotReady\): Node/);
      const writes = cluster.server.requests.filter((line) => line.startsWith('PATCH'));
      const where = '/api/v1/nodes/node-1/status?fieldManager=machineadm-watch&force=true';
      assert.deepEqual([...new Set(writes)], [`PATCH ${where}`]);
    });

    test('repeats an unchanged report after a while: a recreated Node has lost it', async () => {
      await using cluster = await startCluster();
      await using healthz = await startHealthz();
      join(cluster.server.url, healthz.port);
      const watch = startAgent(['report', 'watch', '--interval', '1s', '--repeat', '2s']);
      await waitUntil(() => cluster.told.length > 1, 'the Node is told twice');
      await stopped(watch);
      assert.deepEqual([...new Set(cluster.told.map(({ reason }) => reason))], ['NodeWorks']);
    });

    test('starts before the machine has joined, and reports once it has', async () => {
      await using cluster = await startCluster();
      await using healthz = await startHealthz();
      const watch = startAgent(['report', 'watch', '--interval', '1s']);
      const isTold = () =>
        watch.messages().includes('kubelet.conf does not exist: this machine has joined no cluster yet');
      await waitUntil(isTold, 'it tells that it has not joined');
      join(cluster.server.url, healthz.port);
      await waitUntil(() => cluster.told.some(({ status }) => status === 'True'), 'the Node is told');
      await stopped(watch);
    });

    test('reports to the sinks of a document, whatever the result of a bootstrap', async () => {
      await using healthz = await startHealthz();
      join('https://127.0.0.1:9', healthz.port);
      const told: { message: string; conditions: { status: string }[] }[] = [];
      await using receiver = await startServer((_, body) => {
        told.push(JSON.parse(body).data);
        return {};
      });
      const document = {
        apiVersion: 'machineadm.dev/v1alpha1',
        kind: 'MachineBootstrap',
        metadata: { name: 'edge-7' },
        reporting: { sinks: [{ type: 'Webhook', url: `${receiver.url}/hook`, secret: WEBHOOK_SECRET }] },
      };
      writeFileSync('/tmp/watch.json', JSON.stringify(document));
      const watch = startAgent(['report', 'watch', '-d', '/tmp/watch.json', '--interval', '1s']);
      await waitUntil(() => told.length > 0, 'the webhook is told');
      await stopped(watch);
      assert.match(told[0]?.message ?? '', /^NodeHealthy is Unknown \(NodeStateUnknown\): 127\.0\.0\.1:9/);
      assert.equal(told[0]?.conditions[0]?.status, 'Unknown', 'who cannot ask knows nothing');
    });

    test('refuses a document without a sink', async () => {
      writeFileSync(
        '/tmp/nobody.yaml',
        'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a}\n',
      );
      const run = await startAgent(['report', 'watch', '-d', '/tmp/nobody.yaml']).ended;
      assert.equal(run.status, 3);
      assert.match(run.stderr, /DocumentInvalid/);
    });
  });
});
