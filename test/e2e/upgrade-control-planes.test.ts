import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { ADDON_ARCHIVES, buildAddons, buildLab, buildLayer, buildNextRelease } from '../../scripts/lab/artefacts.ts';
import { until } from '../../scripts/lab/process.ts';
import type { Downtime } from '../support/api-prober.ts';
import {
  balancerDocument,
  controlPlaneDocument,
  type DocumentTree,
  initDocument,
  merge,
  type NodeSite,
  newSeeds,
} from '../support/documents.ts';
import { DOCUMENT, Fleet, KUBECTL, LAB, type Node, progress, provisionOnce, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { type ObservedCluster, observeCluster } from '../support/observed-cluster.ts';
import {
  installPrograms,
  killUpgrade,
  networked,
  planUpgrade,
  UPGRADE,
  upgrade,
  upgradeDocument,
} from '../support/upgrades.ts';

const MINUTE = 60_000;
const NEXT = 'v1.20.3';
/** The new release brings another etcd, so that every member restarts. */
const NEXT_ETCD = '3.4.14-0';
/** Far above what was measured: performance is not tested, but an API that stays away is a failure. */
const LONGEST_GAP_SECONDS = 60;
/**
 * An upgrade takes the Lease before its 28th record, and makes at least 44: it is killed between the end of kubeadm and
 * the restart of the kubelet.
 */
const KILLED_RECORD = 32;
const BUSYBOX = 'k8s.gcr.io/quickstart/busybox:1';
const SITES: readonly NodeSite[] = [
  { name: 'e2e-u3', ip: '10.99.0.83' },
  { name: 'e2e-u4', ip: '10.99.0.84' },
  { name: 'e2e-u5', ip: '10.99.0.85' },
];
const BALANCER: NodeSite = { name: 'e2e-u6', ip: '10.99.0.86' };

describe('an upgrade of three control planes behind a load balancer', {
  skip: needs(...LAB, 'MACHINEADM_E2E=all'),
  timeout: 60 * MINUTE,
}, () => {
  const seeds = newSeeds();
  const nodes: Node[] = [];
  let uids: string;
  let members: string;
  let cluster: ObservedCluster;
  const laps: Record<string, Readonly<Record<'readyz' | 'write', Downtime>>> = {};

  after(async () => await cluster?.[Symbol.asyncDispose]());
  const fleet = Fleet.ofSuite(
    async () => {
      const lab = await buildLab(progress);
      const next = await buildNextRelease(lab, { version: NEXT, etcd: NEXT_ETCD }, progress);
      const lower = [next, await buildAddons(lab, progress)];
      const balancer = await fleet.start({ ...BALANCER, lower: [await buildLayer('haproxy', progress, lab.root)] });
      await provisionOnce(balancer, balancerDocument(BALANCER, SITES));
      for (const [index, site] of SITES.entries()) {
        const node = await fleet.start({ ...site, lower });
        nodes.push(node);
        await provisionOnce(node, documentOf(index));
        await installPrograms(node);
      }
      const [first] = nodes;
      assert.ok(first);
      await until('all nodes are Ready', 5 * MINUTE, async () => {
        const ready = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}";
        return (await first.kubectl(`get nodes -o "${ready}"`)) === 'True True True';
      });
      await first.kubectl('create configmap probe --from-literal=count=0');
      uids = await uidsOf(first);
      cluster = await observeCluster(first, BALANCER.ip, SITES);
      members = await cluster.members();
      assert.equal(members.split(' ').length, 3);
    },
    { timeoutMs: 40 * MINUTE },
  );

  function documentOf(index: number): DocumentTree {
    const site = SITES[index];
    assert.ok(site);
    const own =
      index === 0
        ? merge(initDocument(site, seeds), {
            kubernetes: { cluster: { controlPlaneEndpoint: `${BALANCER.ip}:6443` } },
          })
        : controlPlaneDocument(site, seeds, BALANCER.ip);
    const { images } = own as { images: { archives: readonly object[] } };
    const busybox = { path: `/${ADDON_ARCHIVES}/busybox.tar` };
    return networked(merge(own, { images: { archives: [...images.archives, busybox] } }), index);
  }

  /** The node with this index, and the others. */
  function control(index: number): { readonly node: Node; readonly others: readonly Node[] } {
    const node = nodes[index];
    assert.ok(node);
    return { node, others: nodes.filter((other) => other !== node) };
  }

  /** Upgrades a control plane by `run` while pods run on the others, and keeps the downtime of the API. */
  async function observed(index: number, run: () => Promise<void>): Promise<void> {
    const { node, others } = control(index);
    for (const other of others) await createPod(other);
    const before = await podsOf(node);
    cluster.lap();
    await run();
    laps[node.site.name] = cluster.lap();
    console.error(`downtime of the API, ${node.site.name}: ${JSON.stringify(laps[node.site.name])}`);
    assert.equal(await podsOf(node), before, 'pods of other nodes were not disturbed');
    await node.kubectl('delete pods -l app=undisturbed --grace-period=1');
    assert.equal(await node.kubectl(`get node ${node.site.name} -o jsonpath={.status.nodeInfo.kubeletVersion}`), NEXT);
    assert.equal(await uidsOf(node), uids, 'they are the same Nodes');
    assert.equal(await cluster.members(), members, 'etcd has the members that it had');
    assert.match(await etcdImage(node), new RegExp(`etcd:${NEXT_ETCD}$`));
  }

  async function next(index: number): Promise<Node> {
    const { node } = control(index);
    await node.lay(upgradeDocument(documentOf(index), NEXT));
    return node;
  }

  /** Asserts that a control plane cannot be upgraded now, because `holder` is. */
  async function assertLocked(node: Node, holder: Node): Promise<void> {
    const plan = await planUpgrade(node);
    assert.equal(plan.exitCode, 4);
    const locked = plan.problems.find(({ code }) => code === 'UpgradeLocked');
    assert.match(locked?.message ?? '', new RegExp(`${holder.site.name} .*is being upgraded`), JSON.stringify(plan));
    const run = await node.agent(UPGRADE);
    assert.equal(run.exitCode, 4, told(run));
    assert.match(run.stderr, /UpgradeLocked/);
    assert.doesNotMatch((await node.read('/etc/kubernetes/manifests/kube-apiserver.yaml')) ?? '', new RegExp(NEXT));
  }

  test('the first is upgraded as planned, and no other at the same time', { timeout: 25 * MINUTE }, async () => {
    const node = await next(0);
    const second = await next(1);
    const plan = await planUpgrade(node);
    assert.deepEqual([plan.exitCode, plan.problems], [0, []]);
    assert.match(plan.changes.find(({ id }) => id === 'upgrade-kubeadm/run')?.summary ?? '', /kubeadm upgrade apply/);
    await observed(0, async () => {
      const running = upgrade(node);
      await until('it holds the Lease', 5 * MINUTE, async () => (await leaseHolder(second)) === node.site.name);
      await assertLocked(second, node);
      const run = await running;
      assert.equal(run.status.outcome, 'Succeeded', told(run));
      assert.deepEqual([...run.changes].sort(), [...plan.ids].sort(), 'the plan listed what the upgrade did');
    });
  });

  test('the second is killed, keeps its turn, and continues', { timeout: 25 * MINUTE }, async () => {
    const node = await next(1);
    const third = await next(2);
    const plan = await planUpgrade(node);
    assert.deepEqual([plan.exitCode, plan.problems], [0, []]);
    assert.match(plan.changes.find(({ id }) => id === 'upgrade-kubeadm/run')?.summary ?? '', /kubeadm upgrade node/);
    await observed(1, async () => {
      const killed = await killUpgrade(node, KILLED_RECORD);
      assert.equal(killed.exitCode, 137, told(killed));
      assert.equal(await leaseHolder(third), node.site.name, 'the killed upgrade keeps its turn');
      const refused = await node.agent(['provision', '-f', DOCUMENT]);
      assert.match(refused.stderr, /\[UpgradeUnfinished\]/);
      const done = new Set((await node.status()).steps.flatMap(({ changes }) => changes));
      await assertLocked(third, node);
      const run = await upgrade(node);
      assert.equal(run.status.outcome, 'Succeeded', told(run));
      for (const id of run.changes) done.add(id);
      assert.deepEqual(
        [...done].filter((id) => !plan.ids.includes(id)),
        [],
        'it did nothing else than what was planned',
      );
    });
  });

  test('the third follows, and nothing is left to do', { timeout: 25 * MINUTE }, async () => {
    const node = await next(2);
    const plan = await planUpgrade(node);
    assert.deepEqual([plan.exitCode, plan.problems], [0, []]);
    await observed(2, async () => {
      const run = await upgrade(node);
      assert.equal(run.status.outcome, 'Succeeded', told(run));
      assert.deepEqual([...run.changes].sort(), [...plan.ids].sort(), 'the plan listed what the upgrade did');
    });
    for (const each of nodes) {
      const again = await upgrade(each);
      assert.deepEqual([again.status.outcome, again.changes], ['Succeeded', []], told(again));
      assert.deepEqual(await each.plan(), [], 'the document is that of the node now');
      assert.match(
        await each.kubectl(`--server https://${each.site.ip}:6443 get --raw /version`),
        /"gitVersion": "v1\.20\.3"/,
      );
    }
    assert.equal(await node.kubectl('get nodes -o jsonpath={.items[*].spec.unschedulable}'), '');
    assert.equal(await leaseHolder(node), undefined);
  });

  test('an argument of etcd changes on one control plane at a time, and not without a quorum of the others', {
    timeout: 25 * MINUTE,
  }, async () => {
    const etcd = { local: { args: [{ name: 'snapshot-count', value: '5000' }] } };
    for (const [index, node] of nodes.entries()) {
      const document = upgradeDocument(documentOf(index), NEXT);
      await node.lay(merge(document, { kubernetes: { controlPlane: { etcd } } }));
    }
    const [first, second, third] = nodes;
    assert.ok(first && second && third);
    for (const each of nodes) {
      const plan = await planUpgrade(each);
      assert.deepEqual([plan.exitCode, plan.problems], [0, []]);
      assert.ok(plan.ids.includes('upgrade-control-plane/etcd'), plan.ids.join());
    }
    const runs = await Promise.all([first, second].map(async (node) => ({ node, run: await node.agent(UPGRADE) })));
    const [winner, loser] = runs.toSorted((a, b) => a.run.exitCode - b.run.exitCode);
    assert.ok(winner && loser);
    assert.equal(winner.run.exitCode, 0, told(winner.run));
    assert.match(loser.run.stderr, /UpgradeLocked/, told(loser.run));
    assert.match(await commandOfEtcd(winner.node), / --snapshot-count=5000/);
    assert.doesNotMatch(await commandOfEtcd(loser.node), / --snapshot-count=5000/);
    const next = await upgrade(loser.node);
    assert.equal(next.status.outcome, 'Succeeded', told(next));
    const manifest = '/etc/kubernetes/manifests/etcd.yaml';
    await first.machine.shell(`mv ${manifest} /root/etcd.yaml`);
    await until('the member of the first is gone', 5 * MINUTE, async () => {
      const { problems } = await planUpgrade(third);
      return problems.some(({ code }) => code === 'EtcdQuorumAtRisk');
    });
    const before = await commandOfEtcd(third);
    const refused = await third.agent(UPGRADE);
    assert.equal(refused.exitCode, 4, told(refused));
    assert.match(refused.stderr, /EtcdQuorumAtRisk/);
    assert.equal(await commandOfEtcd(third), before);
    await first.machine.shell(`mv /root/etcd.yaml ${manifest}`);
    await until('the member of the first is back', 5 * MINUTE, async () => (await planUpgrade(third)).exitCode === 0);
    const last = await upgrade(third);
    assert.equal(last.status.outcome, 'Succeeded', told(last));
    for (const each of nodes) {
      assert.match(await commandOfEtcd(each), / --snapshot-count=5000/);
      const again = await upgrade(each);
      assert.deepEqual([again.status.outcome, again.changes], ['Succeeded', []], told(again));
    }
    assert.equal(await cluster.members(), members, 'etcd has the members that it had');
    assert.equal(cluster.mostLost, 1);
    assert.equal(await leaseHolder(first), undefined);
  });

  test('etcd never lost two members, no write was lost, and the API was away for a moment at most', async () => {
    assert.deepEqual([...cluster.restarted].sort(), SITES.map(({ name }) => name).sort(), 'every member restarted');
    assert.equal(cluster.mostLost, 1);
    const { acknowledged } = cluster;
    assert.ok(acknowledged > 100, `${acknowledged} writes`);
    const { node } = control(0);
    assert.ok(Number(await node.kubectl('get configmap probe -o jsonpath={.data.count}')) >= acknowledged);
    assert.deepEqual(Object.keys(laps).sort(), SITES.map(({ name }) => name).sort());
    for (const [name, of] of Object.entries(laps)) {
      for (const [what, { longest }] of Object.entries(of))
        assert.ok(longest < LONGEST_GAP_SECONDS, `${name}, ${what}: ${longest} s without an answer`);
    }
  });
});

async function uidsOf(node: Node): Promise<string> {
  return await node.kubectl(
    'get nodes --sort-by=.metadata.name -o "jsonpath={range .items[*]}{.metadata.name}={.metadata.uid} {end}"',
  );
}

/** Who holds the Lease; undefined: nobody, or the API does not answer now. */
async function leaseHolder(node: Node): Promise<string | undefined> {
  const args = '--request-timeout=5s -n kube-system get lease machineadm-upgrade -o jsonpath={.spec.holderIdentity}';
  const { status, stdout } = await node.machine.exec(['sh', '-c', `${KUBECTL} ${args}`]);
  return status === 0 && stdout !== '' ? stdout : undefined;
}

/** With the process, which a restart replaces. */
async function commandOfEtcd(node: Node): Promise<string> {
  return (await node.machine.shell('pid=$(pgrep -o -x etcd); echo "$pid"; tr "\\0" " " < /proc/$pid/cmdline')).trim();
}

async function etcdImage(node: Node): Promise<string> {
  return await node.kubectl(`-n kube-system get pod etcd-${node.site.name} -o jsonpath={.spec.containers[0].image}`);
}

/** A pod on a node that nothing else creates, so that an eviction or a restart shows. */
async function createPod(node: Node): Promise<void> {
  const name = `undisturbed-${node.site.name}`;
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'undisturbed' } },
    spec: {
      nodeName: node.site.name,
      automountServiceAccountToken: false,
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'sleep', image: BUSYBOX, imagePullPolicy: 'Never', command: ['sleep', '86400'] }],
    },
  };
  await node.kubectl('create -f -', { input: JSON.stringify(pod) });
  await node.kubectl(`wait --for=condition=Ready pod/${name} --timeout=3m`);
}

/** Where these pods run, which ones they are, and whether they were restarted. */
async function podsOf(node: Node): Promise<string> {
  const of = '{.spec.nodeName} {.metadata.uid} {.status.phase} {.status.containerStatuses[0].restartCount}';
  return await node.kubectl(
    `get pods -l app=undisturbed --sort-by=.metadata.name -o "jsonpath={range .items[*]}${of},{end}"`,
  );
}
