import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { attempts, type DocumentTree, initDocument, merge, newSeeds, workerDocument } from '../support/documents.ts';
import { assertFailed, assertSucceeded, Fleet, LAB, type Node, provisionOnce, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { assertNoLeaks } from '../support/twice.ts';

const MINUTE = 60_000;
const ROOT = resolve(import.meta.dirname, '../..');
const PACKAGING = join(ROOT, 'packaging');
const REPORT = 'machineadm-report-e2e-k2';
/** The boot id of a nested machine is mounted over the kernel's: a /proc of one's own does not show it. */
const NESTED = ['--boot-id-file', '/dev/null'];

const skip = needs(...LAB, 'MACHINEADM_E2E=all');

describe('a machine reports the result of its bootstrap to the cluster', { skip, timeout: 20 * MINUTE }, () => {
  const seeds = newSeeds();
  /** The management cluster, and the one that is joined: one cluster in two roles. */
  let management: Node;
  let worker: Node;
  /** What the script of packaging/ made: sinks, and the token. */
  let minted: { secrets: { reportToken: { value: string } }; reporting: { sinks: object[] } };

  const fleet = Fleet.ofSuite(
    async () => {
      management = await fleet.start({ name: 'e2e-k1', ip: '10.99.0.83' });
      worker = await fleet.start({ name: 'e2e-k2', ip: '10.99.0.84' });
      await provisionOnce(management, initDocument(management.site, seeds));
      const directory = '/root/management-cluster';
      for (const name of ['machine-report.yaml', 'mint-report-credential.sh']) {
        await management.machine.copyIn(join(PACKAGING, 'management-cluster', name), `${directory}/${name}`);
      }
      await kubectl('create', 'namespace', 'clusters');
      const script = `KUBECONFIG=/etc/kubernetes/admin.conf ${directory}/mint-report-credential.sh`;
      minted = parse(await management.machine.shell(`${script} --namespace clusters --machine e2e-k2 --without-owner`));
    },
    { timeoutMs: 35 * MINUTE },
  );

  const kubectl = async (...args: string[]): Promise<string> => {
    const command = ['kubectl', '--kubeconfig', '/etc/kubernetes/admin.conf', ...args];
    const run = await management.machine.exec(command, { timeoutMs: MINUTE });
    assert.equal(run.status, 0, told(run));
    return run.stdout;
  };
  const report = async (): Promise<Record<string, string>> =>
    JSON.parse(await kubectl('-n', 'clusters', 'get', 'configmap', REPORT, '-o', 'json')).data ?? {};
  const conditionsOf = async (node: string): Promise<readonly Condition[]> => {
    const { status }: { status: { conditions: Condition[] } } = JSON.parse(
      await kubectl('get', 'node', node, '-o', 'json'),
    );
    return status.conditions.filter(({ type }) => type.startsWith('machineadm.dev/'));
  };
  const document = (): DocumentTree =>
    merge(merge(workerDocument(worker.site, seeds, management.machine.ip), { secrets: minted.secrets }), {
      reporting: { sinks: [...minted.reporting.sinks, { type: 'Node' }] },
    });

  test('a sink is tested before it is needed, and the test event is not stored', async () => {
    await worker.lay(document());
    const run = await worker.agent(['report', 'test', '-d', '/root/document.yaml', '-o', 'json']);
    const { sinks }: { sinks: { sink: string; result: string; message?: string }[] } = JSON.parse(run.stdout);
    const resultOf = (name: string) => sinks.find(({ sink }) => sink === name);
    assert.equal(resultOf('Kubernetes')?.result, 'Taken', told(run));
    assert.equal(resultOf('Node')?.result, 'Failed');
    assert.match(resultOf('Node')?.message ?? '', /has joined no cluster yet/);
    assert.equal(run.exitCode, 20);
    assert.deepEqual(await report(), {});
  });

  test('a join that fails: the management cluster gets the reason, and no secret', {
    timeout: 4 * MINUTE,
  }, async () => {
    const wrong = { kubernetes: { join: { discovery: { token: { caCertHashes: [`sha256:${'0'.repeat(64)}`] } } } } };
    await worker.lay(merge(merge(document(), wrong), attempts(1)));
    const run = await worker.provision();
    await assertFailed(worker, run, 11, 'kubeadm', 'CACertHashMismatch');
    await until('the report is there', async () => (await report()).outcome === 'Failed');
    const data = await report();
    assert.equal(data.reason, 'CACertHashMismatch');
    const [condition]: Condition[] = JSON.parse(data['conditions.json'] ?? '');
    assert.deepEqual([condition?.type, condition?.reason], ['machineadm.dev/BootstrapSucceeded', 'CACertHashMismatch']);
    const event = JSON.parse(data['report.json'] ?? '');
    assert.equal(event.runId, run.status.runId);
    assert.notEqual(event.failure.remedy, '');
    const written = JSON.stringify(data);
    for (const secret of [seeds.token, seeds.password, minted.secrets.reportToken.value]) {
      assert.ok(!written.includes(secret));
    }
    await assertNoLeaks(worker, seeds, { failed: run });
  });

  test('the corrected join: both clusters get the result, also what waited for the Node', {
    timeout: 4 * MINUTE,
  }, async () => {
    await worker.lay(document());
    const run = await worker.provision();
    await assertSucceeded(worker, run);
    await until('the management cluster knows', async () => (await report()).outcome === 'Succeeded');
    await until('the Node knows', async () =>
      (await conditionsOf('e2e-k2')).some(
        ({ type, status }) => type === 'machineadm.dev/BootstrapSucceeded' && status === 'True',
      ),
    );
    const annotation = await kubectl(
      'get',
      'node',
      'e2e-k2',
      '-o',
      'jsonpath={.metadata.annotations.machineadm\\.dev/report}',
    );
    assert.equal(JSON.parse(annotation).outcome, 'Succeeded');
    assert.ok(JSON.parse(annotation).id.startsWith(run.status.runId));
    const types = await kubectl('get', 'node', 'e2e-k2', '-o', 'jsonpath={.status.conditions[*].type}');
    assert.match(types, /MemoryPressure.*Ready/, 'the conditions of the kubelet are there as well');
  });

  test('the token of the machine gives access to nothing else', async () => {
    const api = `https://${management.machine.ip}:6443`;
    const paths = ['namespaces/clusters/configmaps', 'namespaces/kube-system/secrets', 'nodes'];
    for (const path of [...paths, `namespaces/clusters/configmaps/${REPORT}`]) {
      const header = `Authorization: Bearer ${minted.secrets.reportToken.value}\n`;
      const command = ['curl', '-sk', '-o', '/dev/null', '-w', '%{http_code}', '-H', '@-', `${api}/api/v1/${path}`];
      const { status, stdout } = spawnSync('curl', command.slice(1), { input: header, encoding: 'utf8' });
      assert.deepEqual([status, stdout], [0, '403'], path);
    }
  });

  test('the unit watches a node', { timeout: 3 * MINUTE }, async () => {
    const unit = 'machineadm-report-watch.service';
    await management.machine.copyIn(join(PACKAGING, 'systemd', unit), `/etc/systemd/system/${unit}`);
    const nested = `[Service]\nExecStart=\nExecStart=/usr/local/bin/machineadm report watch ${NESTED.join(' ')}\n`;
    await management.machine.write(`/etc/systemd/system/${unit}.d/nested.conf`, nested);
    await management.machine.shell(`systemctl daemon-reload; systemctl start ${unit}`);
    await until('the Node is told', async () =>
      (await conditionsOf('e2e-k1')).some(({ type }) => type === 'machineadm.dev/NodeHealthy'),
    );
    const told = (await conditionsOf('e2e-k1')).find(({ type }) => type === 'machineadm.dev/NodeHealthy');
    // No pod network is installed in the lab.
    assert.deepEqual([told?.status, told?.reason], ['False', 'NodeNotReady']);
    assert.match(await management.machine.shell(`journalctl -u ${unit} -o cat --no-pager`), /NodeHealthy=False/);
    await management.machine.shell(`systemctl stop ${unit}`);
    assert.equal((await management.machine.shell(`systemctl show ${unit} -p Result --value`)).trim(), 'success');
  });

  test('the DaemonSet watches every node, and reports a kubelet that is gone', { timeout: 8 * MINUTE }, async () => {
    const packed = spawnSync(process.execPath, [join(ROOT, 'scripts/image.ts')], { encoding: 'utf8' });
    assert.equal(packed.status, 0, packed.stderr);
    for (const node of [management, worker]) {
      await node.machine.copyIn(join(ROOT, 'dist/machineadm-image-linux-amd64.tar'), '/root/image.tar');
      await node.machine.shell('ctr -n k8s.io images import /root/image.tar; rm /root/image.tar', {
        timeoutMs: MINUTE,
      });
    }
    const manifest = readFileSync(join(PACKAGING, 'daemonset/daemonset.yaml'), 'utf8');
    const nested = manifest.replace('args: [report, watch]', `args: [report, watch, ${NESTED.join(', ')}]`);
    await management.machine.write('/root/daemonset.yaml', nested);
    await kubectl('apply', '-f', '/root/daemonset.yaml');
    const healthOf = async (node: string) => {
      const found = (await conditionsOf(node)).find(({ type }) => type === 'machineadm.dev/NodeHealthy');
      return found === undefined ? '' : `${found.status} ${found.reason}`;
    };
    await until('both nodes are watched', async () => {
      const pods = await kubectl(
        '-n',
        'kube-system',
        'get',
        'pods',
        '-l',
        'app.kubernetes.io/name=machineadm-report-watch',
      );
      return (pods.match(/Running/g) ?? []).length === 2;
    });
    await until('the worker is told of', async () => (await healthOf('e2e-k2')) === 'False NodeNotReady');
    await worker.machine.shell('systemctl stop kubelet');
    await until('its kubelet is missed', async () => (await healthOf('e2e-k2')) === 'False KubeletNotHealthy');
    await worker.machine.shell('systemctl start kubelet');
    await until('its kubelet is back', async () => (await healthOf('e2e-k2')) !== 'False KubeletNotHealthy');
  });
});

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
}

async function until(what: string, holds: () => Promise<boolean>, ms = 2 * MINUTE): Promise<void> {
  for (const end = Date.now() + ms; !(await holds()); await sleep(1_000)) assert.ok(Date.now() < end, what);
}
