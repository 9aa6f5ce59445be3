import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildAddons, buildLab, buildNextRelease } from '../../scripts/lab/artefacts.ts';
import { until } from '../../scripts/lab/process.ts';
import { type DocumentTree, initDocument, merge, newSeeds, workerDocument } from '../support/documents.ts';
import { AGENT, DOCUMENT, Fleet, LAB, type Node, progress, provisionOnce, type Run, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { assertNoLeaks } from '../support/twice.ts';
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
const SNAPSHOT = '/var/lib/machineadm/upgrade/etcd-snapshot.db';
describe('an upgrade to another patch release', { skip: needs(...LAB), timeout: 30 * MINUTE }, () => {
  const seeds = newSeeds();
  let controlPlane: Node;
  let worker: Node;

  const fleet = Fleet.ofSuite(async () => {
    const lab = await buildLab(progress);
    const lower = [await buildNextRelease(lab, { version: NEXT }, progress), await buildAddons(lab, progress)];
    controlPlane = await fleet.start({ name: 'e2e-u1', ip: '10.99.0.81', lower });
    worker = await fleet.start({ name: 'e2e-u2', ip: '10.99.0.82', lower });
    await provisionOnce(controlPlane, networked(own(), 0));
    await provisionOnce(worker, networked(workerDocument(worker.site, seeds, controlPlane.machine.ip), 1));
  });

  /** kubeadm patches a static pod of it. */
  const own = (): DocumentTree => {
    const patch = {
      target: 'kube-controller-manager',
      type: 'merge',
      patch: { metadata: { labels: { e2e: 'patched' } } },
    };
    return merge(initDocument(controlPlane.site, seeds), {
      kubernetes: { bootstrapper: { kubeadm: { patches: [patch] } } },
    });
  };
  const next = (document: DocumentTree, index: number): DocumentTree =>
    upgradeDocument(networked(document, index), NEXT);

  /** Ends an upgrade by SIGKILL once kubeadm has replaced the manifest of the API server, while it waits for it. */
  async function killUnderKubeadm(node: Node): Promise<Run> {
    const run = node.agent(UPGRADE);
    await until('kubeadm has replaced the API server', 4 * MINUTE, async () => {
      const manifest = (await node.read('/etc/kubernetes/manifests/kube-apiserver.yaml')) ?? '';
      return manifest.includes(`kube-apiserver:${NEXT}`);
    });
    await node.machine.shell(`pkill -KILL -f '^${AGENT} upgrade '`);
    return await run;
  }

  const kubectl = (args: string): Promise<string> => controlPlane.kubectl(args);
  const nodeOf = (node: Node, path: string) => kubectl(`get node ${node.site.name} -o jsonpath='{${path}}'`);
  const etcdMember = () =>
    controlPlane.machine.shell(
      'sed -n "s/.*--initial-cluster=//p" /etc/kubernetes/manifests/etcd.yaml; ls /var/lib/etcd',
    );

  test('provision refuses the other version, and names the command', async () => {
    await controlPlane.lay(next(own(), 0));
    const { exitCode, stderr } = await controlPlane.agent(['provision', '-f', DOCUMENT]);
    assert.equal(exitCode, 4);
    assert.match(stderr, /\[DocumentChanged\]\n.*machineadm upgrade does that/);
  });

  test('nothing begins while the programs are the old ones', async () => {
    const { exitCode, problems } = await planUpgrade(controlPlane);
    assert.equal(exitCode, 4);
    assert.deepEqual(
      problems.map(({ code, message }) => `${code} ${message}`),
      ['kubeadm', 'kubelet'].map((one) => `UpgradeProgramMissing ${one} 1.20.3 is not installed: 1.20.2 is`),
    );
    const before = await kubectl('get --raw /version');
    const run = await controlPlane.agent(UPGRADE);
    assert.equal(run.exitCode, 4, run.stderr);
    assert.match(run.stderr, /\[UpgradeProgramMissing\]/);
    assert.equal(await kubectl('get --raw /version'), before);
    assert.equal(await controlPlane.read(SNAPSHOT), undefined);
  });

  test('an edit of a static pod that the document patches is shown', async () => {
    const manifest = '/etc/kubernetes/manifests/kube-controller-manager.yaml';
    const shell = (script: string) => controlPlane.machine.shell(script);
    assert.match((await controlPlane.read(manifest)) ?? '', /e2e: patched/);
    // So that the pod stays as it is.
    await shell('systemctl stop kubelet');
    await shell(`cp -p ${manifest} /root/ && sed -i 's/^    - --leader-elect=.*/&\\n    - --v=3/' ${manifest}`);
    const { problems } = await planUpgrade(controlPlane);
    await shell(`cp -p /root/kube-controller-manager.yaml ${manifest} && systemctl start kubelet`);
    const edited = problems.find(({ code }) => code === 'ControlPlaneEdited');
    assert.match(edited?.message ?? '', /kube-controller-manager\.yaml \(removes --v=3\)/, JSON.stringify(problems));
  });

  test('an image that cannot be pulled ends it before kubeadm runs, and the node is as before', {
    timeout: 5 * MINUTE,
  }, async () => {
    await installPrograms(controlPlane);
    const document = next(own(), 0);
    await controlPlane.lay(merge(document, { images: { archives: [] } }));
    const state = () =>
      controlPlane.machine.shell(
        'pgrep -x "kubelet|containerd|etcd|kube-apiserver|kube-controller|kube-scheduler"; sha256sum /etc/kubernetes/manifests/* /etc/containerd/config.toml /var/lib/kubelet/config.yaml',
      );
    const before = await state();
    const run = await upgrade(controlPlane);
    assert.equal(run.exitCode, 10, told(run));
    const { failure } = run.status;
    assert.match(failure?.reason ?? '', /^Image(?:PullDNSFailure|RegistryUnreachable)$/);
    assert.equal(failure?.step, 'upgrade-kubeadm');
    assert.match(
      failure?.summary ?? '',
      /^This run did not start kubeadm upgrade: containerd could not pull k8s\.gcr\.io\/kube-\S+:v1\.20\.3\. This node works as before, with Kubernetes 1\.20\.2\./,
    );
    assert.equal(await state(), before);
    assert.equal(await kubectl('-n kube-system get lease machineadm-upgrade --ignore-not-found -o name'), '');
    await controlPlane.lay(document);
    const refused = await controlPlane.agent(['provision', '-f', DOCUMENT]);
    assert.match(refused.stderr, /\[DocumentChanged\]/, 'the upgrade counts as not begun');
  });

  test('a control plane becomes the other version as it was planned, although it is killed again and again', {
    timeout: 12 * MINUTE,
  }, async () => {
    await installPrograms(controlPlane);
    const { exitCode, ids, problems } = await planUpgrade(controlPlane);
    assert.deepEqual([exitCode, problems], [0, []]);
    const [uid, member] = [await nodeOf(controlPlane, '.metadata.uid'), await etcdMember()];
    const killed: Run[] = [];
    const done = new Set<string>();
    const ways: Readonly<Record<string, () => Promise<Run>>> = {
      'at its first record, before it kept anything': () => killUpgrade(controlPlane, 1),
      'with the state kept': () => killUpgrade(controlPlane, 3),
      'under kubeadm': () => killUnderKubeadm(controlPlane),
      'once more': () => killUpgrade(controlPlane, 2),
      'and once more': () => killUpgrade(controlPlane, 3),
    };
    for (const [what, way] of Object.entries(ways)) {
      const run = await way();
      assert.equal(run.exitCode, 137, `${what}: ${told(run)}`);
      killed.push(run);
      // Whatever was cut off, no other command takes the node for one that may be changed.
      const refused = await controlPlane.agent(['provision', '-f', DOCUMENT]);
      assert.match(refused.stderr, killed.length === 1 ? /\[DocumentChanged\]/ : /\[UpgradeUnfinished\]/, what);
      for (const { changes } of (await controlPlane.status()).steps) for (const id of changes) done.add(id);
    }
    const last = await upgrade(controlPlane);
    assert.equal(last.status.outcome, 'Succeeded', told(last));
    for (const id of last.changes) done.add(id);
    // What a killed run did is in the journal; its last step may not have come to its status.
    assert.deepEqual(
      [...done].filter((id) => !ids.includes(id)),
      [],
      'it did nothing else than what was planned',
    );
    assert.match(await kubectl('get --raw /version'), /"gitVersion": "v1\.20\.3"/);
    assert.equal(await nodeOf(controlPlane, '.status.nodeInfo.kubeletVersion'), NEXT);
    assert.equal(await nodeOf(controlPlane, '.metadata.uid'), uid, 'it is the same Node');
    assert.equal(await etcdMember(), member, 'etcd has the member that it had');
    assert.equal(await nodeOf(controlPlane, '.spec.unschedulable'), '', 'pods are allowed again');
    assert.equal(await kubectl('-n kube-system get lease machineadm-upgrade --ignore-not-found -o name'), '');
    const images = await kubectl(
      "-n kube-system get pods -l tier=control-plane -o jsonpath='{.items[*].spec.containers[*].image}'",
    );
    for (const name of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'])
      assert.ok(images.includes(`${name}:${NEXT}`));
    const again = await upgrade(controlPlane);
    assert.deepEqual([again.status.outcome, again.changes], ['Succeeded', []], told(again));
    assert.deepEqual(await controlPlane.plan(), [], 'the document is that of the node now');
    // The snapshot is etcd, with every Secret of the cluster: root's alone, as etcd's own directory is.
    assert.equal(await controlPlane.machine.shell(`stat -c '%a %U' ${SNAPSHOT}; mv ${SNAPSHOT} /root/`), '600 root\n');
    await assertNoLeaks(controlPlane, seeds, {
      last,
      again,
      ...Object.fromEntries(killed.map((run, index) => [`killed run ${index}`, run])),
    });
  });

  test('a worker follows, drained by somebody else', { timeout: 6 * MINUTE }, async () => {
    await worker.lay(next(workerDocument(worker.site, seeds, controlPlane.machine.ip), 1));
    await installPrograms(worker);
    const refused = await planUpgrade(worker);
    assert.deepEqual([refused.exitCode, refused.problems.map(({ code }) => code)], [4, ['DrainNotPossible']]);
    const { exitCode, ids } = await planUpgrade(worker, '--drained');
    assert.equal(exitCode, 0);
    const uid = await nodeOf(worker, '.metadata.uid');
    const run = await upgrade(worker, '--drained');
    assert.equal(run.status.outcome, 'Succeeded', told(run));
    assert.deepEqual([...run.changes].sort(), [...ids].sort());
    assert.equal(await nodeOf(worker, '.status.nodeInfo.kubeletVersion'), NEXT);
    assert.equal(await nodeOf(worker, '.metadata.uid'), uid);
    assert.deepEqual((await upgrade(worker, '--drained')).changes, []);
    await assertNoLeaks(worker, seeds, { run });
  });

  test('reset returns the worker to before its bootstrap', async () => {
    const run = await worker.agent(['reset', '--yes']);
    assert.equal(run.exitCode, 0, told(run));
    assert.equal(await worker.read('/etc/kubernetes/kubelet.conf'), undefined);
    assert.equal((await worker.machine.exec(['ls', '/var/lib/machineadm/upgrade'])).status, 2);
  });
});
