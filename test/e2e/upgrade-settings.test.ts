import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildLab } from '../../scripts/lab/artefacts.ts';
import { type DocumentTree, initDocument, merge, newSeeds } from '../support/documents.ts';
import {
  assertSucceeded,
  DOCUMENT,
  Fleet,
  LAB,
  type Node,
  progress,
  provisionOnce,
  type Run,
  told,
} from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { assertNoLeaks } from '../support/twice.ts';
import { killUpgrade, networked, planUpgrade, upgrade } from '../support/upgrades.ts';

const MINUTE = 60_000;
const PKI = '/etc/kubernetes/pki';
const CHANGE = 'upgrade-certificates/renew';
const RECORD = '/var/lib/machineadm/upgrade/certificates.json';
/** Names of kubeadm, with their files and authorities. */
const OLD = { apiserver: 'ca', 'etcd/server': 'etcd/ca', 'etcd/healthcheck-client': 'etcd/ca' } as const;

describe('a node whose version stays', {
  skip: needs(...LAB, 'openssl', 'MACHINEADM_E2E=all'),
  timeout: 30 * MINUTE,
}, () => {
  const seeds = newSeeds();
  let node: Node;

  const fleet = Fleet.ofSuite(async () => {
    const lab = await buildLab(progress);
    assert.ok(lab !== undefined);
    node = await fleet.start({ name: 'e2e-c1', ip: '10.99.0.91' });
    await provisionOnce(node, networked(initDocument(node.site, seeds), 0));
  });

  const renewing = (): DocumentTree =>
    merge(networked(initDocument(node.site, seeds), 0), {
      kubernetes: { controlPlane: { certificates: { renewBefore: '30d' } } },
    });
  const kubectl = (args: string): Promise<string> => node.kubectl(args);
  const fingerprintOf = (file: string) => node.machine.shell(`openssl x509 -noout -fingerprint -sha256 -in ${file}`);
  const served = (port: number, more = '') =>
    node.machine.shell(
      `openssl s_client -connect 127.0.0.1:${port} ${more} </dev/null 2>/dev/null | openssl x509 -noout -fingerprint -sha256`,
    );
  const processes = () =>
    node.machine.shell('for one in etcd kube-apiserver kube-controller kube-scheduler; do pgrep -o $one; done');
  const etcdClient = `-cert ${PKI}/etcd/healthcheck-client.crt -key ${PKI}/etcd/healthcheck-client.key`;

  /** The same certificates for ten days: signed again by their authorities, with their keys and extensions. */
  async function age(): Promise<void> {
    for (const [name, authority] of Object.entries(OLD)) {
      const [file, ca] = [`${PKI}/${name}`, `${PKI}/${authority}`];
      await node.machine.shell(
        [
          `openssl x509 -x509toreq -copy_extensions copyall -in ${file}.crt -signkey ${file}.key -out /tmp/one.csr`,
          `openssl x509 -req -copy_extensions copyall -in /tmp/one.csr -CA ${ca}.crt -CAkey ${ca}.key -CAcreateserial -days 10 -out ${file}.crt`,
          `rm -f /tmp/one.csr ${ca}.srl`,
        ].join(' && '),
      );
    }
  }

  test('provision accepts the field on a node that exists, and renews nothing', async () => {
    await age();
    await node.lay(renewing());
    const before = await fingerprintOf(`${PKI}/apiserver.crt`);
    await assertSucceeded(node, await node.provision());
    assert.equal(await fingerprintOf(`${PKI}/apiserver.crt`), before);
    assert.deepEqual(await node.plan(), []);
  });

  test('the dry run lists them with their end, and changes nothing', async () => {
    const before = await processes();
    const { exitCode, changes, problems } = await planUpgrade(node);
    assert.deepEqual([exitCode, problems], [0, []]);
    assert.deepEqual(
      changes.map(({ id }) => id),
      [CHANGE, 'upgrade-proof/release'],
    );
    const summary = changes[0]?.summary ?? '';
    assert.match(summary, /^renew 3 certificates: .*, and restart etcd, kube-apiserver$/);
    for (const name of ['apiserver', 'etcd-server', 'etcd-healthcheck-client'])
      assert.match(summary, new RegExp(`${name} \\(until 20\\d\\d-[^)]*Z\\)`));
    assert.equal(await processes(), before);
  });

  test('upgrade renews exactly these, although it is killed, and a second run does nothing', {
    timeout: 12 * MINUTE,
  }, async () => {
    const files = `${PKI}/*.crt ${PKI}/*.key ${PKI}/etcd/*.crt ${PKI}/etcd/*.key /etc/kubernetes/*.conf`;
    const sums = async () =>
      new Map(
        (await node.machine.shell(`sha256sum ${files}`))
          .split('\n')
          .map((line) => line.split('  ').reverse() as [string, string]),
      );
    const [filesBefore, processesBefore] = [await sums(), (await processes()).split('\n')];
    const killed: Run[] = [];
    for (const nth of [2, 4]) {
      const run = await killUpgrade(node, nth);
      assert.equal(run.exitCode, 137, told(run));
      killed.push(run);
      const refused = await node.agent(['provision', '-f', DOCUMENT]);
      if (nth === 4) assert.match(refused.stderr, /\[UpgradeUnfinished\]\n?.*/);
    }
    const last = await upgrade(node);
    assert.equal(last.status.outcome, 'Succeeded', told(last));
    const filesAfter = await sums();
    const changed = [...filesAfter].filter(([path, sum]) => filesBefore.get(path) !== sum).map(([path]) => path);
    assert.deepEqual(
      changed.sort(),
      Object.keys(OLD)
        .flatMap((name) => [`${PKI}/${name}.crt`, `${PKI}/${name}.key`])
        .sort(),
    );
    assert.equal(await served(6443), await fingerprintOf(`${PKI}/apiserver.crt`));
    assert.equal(await served(2379, etcdClient), await fingerprintOf(`${PKI}/etcd/server.crt`));
    const processesAfter = (await processes()).split('\n');
    assert.notEqual(processesAfter[0], processesBefore[0], 'etcd was restarted');
    assert.notEqual(processesAfter[1], processesBefore[1], 'the API server was restarted');
    assert.equal(await node.read(RECORD), undefined);
    assert.equal(await kubectl('-n kube-system get lease machineadm-upgrade --ignore-not-found -o name'), '');
    const again = await upgrade(node);
    assert.deepEqual([again.status.outcome, again.changes], ['Succeeded', []], told(again));
    assert.deepEqual((await planUpgrade(node)).changes, []);
    assert.deepEqual(await node.plan(), []);
    await assertNoLeaks(node, seeds, { last, again });
    for (const run of [...killed, last])
      assert.doesNotMatch(`${run.stdout}${run.stderr}`, /PRIVATE KEY|client-key-data/);
    const journal = (await node.read('/var/lib/machineadm/journal')) ?? '';
    assert.match(journal, /upgrade-certificates/);
    assert.doesNotMatch(journal, /PRIVATE KEY|client-key-data/);
  });

  test('a kubeadm that fails leaves the previous certificates, and one verdict', async () => {
    await age();
    const before = await fingerprintOf(`${PKI}/apiserver.crt`);
    // The healthcheck client is renewed first or after: it is put back, too.
    const client = await fingerprintOf(`${PKI}/etcd/healthcheck-client.crt`);
    const kubeadm = (await node.machine.shell('command -v kubeadm')).trim();
    await node.machine.shell(
      `mv ${kubeadm} ${kubeadm}.real && printf '%s\\n' '#!/bin/sh' 'case "$*" in *"renew etcd-server"*) echo "error: no space left" >&2; exit 1;; esac' 'exec ${kubeadm}.real "$@"' > ${kubeadm} && chmod 755 ${kubeadm}`,
    );
    const run = await upgrade(node);
    await node.machine.shell(`mv ${kubeadm}.real ${kubeadm}`);
    assert.equal(run.exitCode, 11, told(run));
    assert.equal(run.status.failure?.reason, 'CertificatesNotRenewed');
    assert.match(
      run.status.failure?.summary ?? '',
      /kubeadm certs renew etcd-server failed .*\. The previous certificates are restored, and the control plane works with them\.$/,
    );
    assert.equal(await fingerprintOf(`${PKI}/apiserver.crt`), before);
    assert.equal(await fingerprintOf(`${PKI}/etcd/healthcheck-client.crt`), client);
    assert.equal(await node.read(RECORD), undefined);
    assert.equal(await kubectl('-n kube-system get lease machineadm-upgrade --ignore-not-found -o name'), '');
    const next = await upgrade(node);
    assert.deepEqual([next.status.outcome, next.changes.includes(CHANGE)], ['Succeeded', true], told(next));
  });

  const withKubelet = (kubelet: DocumentTree): DocumentTree =>
    merge(renewing(), { kubernetes: { node: { kubelet }, ready: { timeout: '40s' } } });
  const configz = async (): Promise<Readonly<Record<string, unknown>>> =>
    JSON.parse(await kubectl(`get --raw /api/v1/nodes/${node.site.name}/proxy/configz`)).kubeletconfig;
  const readyOf = () =>
    kubectl(`get node ${node.site.name} -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}'`);

  test('other settings of the kubelet are refused by provision, and shown by the dry run', async () => {
    await node.lay(withKubelet({ config: { maxPods: 77, syncFrequency: '50s' }, args: [{ name: 'v', value: '3' }] }));
    const refused = await node.agent(['provision', '-f', DOCUMENT]);
    assert.equal(refused.exitCode, 4);
    assert.match(refused.stderr, /\[DocumentChanged\]\n.*machineadm upgrade changes them/);
    const { exitCode, changes, problems } = await planUpgrade(node);
    assert.deepEqual([exitCode, problems], [0, []]);
    assert.deepEqual(
      changes.map(({ id }) => id),
      ['upgrade-kubelet-settings/run'],
    );
    assert.match(
      changes[0]?.summary ?? '',
      /^change the kubelet: maxPods: \(default\) -> 77; syncFrequency: 0s -> 50s; --v: \(default\) -> 3, and restart it$/,
    );
  });

  test('upgrade changes them, although it is killed, and the kubelet runs with them', {
    timeout: 5 * MINUTE,
  }, async () => {
    const killed = await killUpgrade(node, 4);
    assert.equal(killed.exitCode, 137, told(killed));
    const run = await upgrade(node);
    assert.equal(run.status.outcome, 'Succeeded', told(run));
    const config = await configz();
    assert.deepEqual([config.maxPods, config.syncFrequency], [77, '50s']);
    assert.match(await node.machine.shell('tr "\\0" " " < /proc/$(pgrep -o -x kubelet)/cmdline'), /--v=3/);
    assert.equal(await readyOf(), 'True');
    const again = await upgrade(node);
    assert.deepEqual([again.status.outcome, again.changes], ['Succeeded', []], told(again));
    await assertSucceeded(node, await node.provision());
    assert.deepEqual(await node.plan(), [], 'the document is that of the node now');
  });

  test('a kubelet that does not start with them gets the previous ones back', { timeout: 8 * MINUTE }, async () => {
    const kubelet = {
      config: {
        ...{ maxPods: 77, syncFrequency: '50s', systemReserved: { cpu: '100m' } },
        ...{ systemReservedCgroup: '/no-such', enforceNodeAllocatable: ['pods', 'system-reserved'] },
      },
      args: [{ name: 'v', value: '3' }],
    };
    await node.lay(withKubelet(kubelet));
    const before = await node.read('/var/lib/kubelet/config.yaml');
    const run = await upgrade(node);
    assert.equal(run.status.outcome, 'Failed', told(run));
    assert.match(
      run.status.failure?.summary ?? '',
      /The previous settings of the kubelet are restored, and the node works with them\.$/,
    );
    assert.equal(await node.read('/var/lib/kubelet/config.yaml'), before);
    assert.equal((await configz()).maxPods, 77);
    const refused = await node.agent(['provision', '-f', DOCUMENT]);
    assert.match(refused.stderr, /\[DocumentChanged\]/, 'the upgrade counts as not begun');
  });

  test('what cannot change on a running node is refused with its place', async () => {
    await node.lay(
      withKubelet({
        config: { maxPods: 77, syncFrequency: '50s', cgroupRoot: '/pods' },
        args: [{ name: 'v', value: '3' }],
      }),
    );
    const { exitCode, problems } = await planUpgrade(node);
    assert.equal(exitCode, 4);
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['DocumentChanged'],
    );
    assert.match(problems[0]?.message ?? '', /^cgroupRoot cannot change on a running node/);
  });
});

describe('static pods of a control plane whose settings change', {
  skip: needs(...LAB, 'MACHINEADM_E2E=all'),
  timeout: 30 * MINUTE,
}, () => {
  const seeds = newSeeds();
  let node: Node;

  const fleet = Fleet.ofSuite(async () => {
    node = await fleet.start({ name: 'e2e-c2', ip: '10.99.0.92' });
    await provisionOnce(node, asking({ scheduler: { args: [{ name: 'v', value: '2' }] } }));
  });

  const asking = (controlPlane: DocumentTree): DocumentTree =>
    merge(networked(initDocument(node.site, seeds), 0), {
      kubernetes: { controlPlane, timeouts: { controlPlane: '90s' } },
    });
  const kubectl = (args: string): Promise<string> => node.kubectl(args);
  const commandOf = async (pod: string) => {
    const pid = `$(pgrep -o -x ${pod.slice(0, 15)})`;
    return (await node.machine.shell(`tr "\\0" " " < /proc/${pid}/cmdline`)).trim();
  };
  const cluster = () => kubectl("-n kube-system get cm kubeadm-config -o jsonpath='{.data.ClusterConfiguration}'");
  const ASKED = {
    controllerManager: { args: [{ name: 'node-monitor-period', value: '4s' }] },
    scheduler: { args: [{ name: 'kube-api-qps', value: '60' }] },
    etcd: { local: { args: [{ name: 'snapshot-count', value: '5000' }] } },
  };
  const CHANGES = ['kube-controller-manager', 'kube-scheduler', 'etcd', 'record'].map(
    (name) => `upgrade-control-plane/${name}`,
  );

  test('provision refuses the document, and the dry run shows each argument', async () => {
    await node.lay(asking(ASKED));
    const refused = await node.agent(['provision', '-f', DOCUMENT]);
    assert.equal(refused.exitCode, 4);
    assert.match(
      refused.stderr,
      /\[DocumentChanged\]\n.*settings of the control plane .*machineadm upgrade changes them/,
    );
    const before = await commandOf('etcd');
    const { exitCode, changes, problems } = await planUpgrade(node);
    assert.deepEqual([exitCode, problems], [0, []]);
    assert.deepEqual(
      changes.map(({ id }) => id),
      [...CHANGES, 'upgrade-proof/release'],
    );
    assert.deepEqual(
      changes.slice(0, 3).map(({ summary }) => summary),
      [
        'change kube-controller-manager: --node-monitor-period: (default) -> 4s, and restart it',
        'change kube-scheduler: --kube-api-qps: (default) -> 60; --v: 2 -> (default), and restart it',
        'change etcd: --snapshot-count: (default) -> 5000, and restart it'.replace(
          '(default)',
          /--snapshot-count=(\d+)/.exec(before)?.[1] ?? '(default)',
        ),
      ],
    );
    assert.equal(await commandOf('etcd'), before);
  });

  test('upgrade changes them, although it is killed, and a second run does nothing', {
    timeout: 15 * MINUTE,
  }, async () => {
    const apiServer = await commandOf('kube-apiserver');
    const uid = await kubectl(`get node ${node.site.name} -o jsonpath='{.metadata.uid}'`);
    for (const nth of [3, 6, 9]) {
      const killed = await killUpgrade(node, nth);
      assert.equal(killed.exitCode, 137, told(killed));
      const refused = await node.agent(['provision', '-f', DOCUMENT]);
      assert.match(refused.stderr, /\[(?:UpgradeUnfinished|DocumentChanged)\]/);
    }
    const run = await upgrade(node);
    assert.equal(run.status.outcome, 'Succeeded', told(run));
    assert.match(await commandOf('kube-controller-manager'), / --node-monitor-period=4s/);
    assert.match(await commandOf('kube-scheduler'), / --kube-api-qps=60/);
    assert.doesNotMatch(await commandOf('kube-scheduler'), / --v=/);
    assert.match(await commandOf('etcd'), / --snapshot-count=5000/);
    assert.equal(await commandOf('kube-apiserver'), apiServer);
    assert.equal(await kubectl(`get node ${node.site.name} -o jsonpath='{.metadata.uid}'`), uid);
    const configuration = await cluster();
    for (const part of [/node-monitor-period/, /kube-api-qps/, /snapshot-count/]) assert.match(configuration, part);
    assert.equal(await kubectl('-n kube-system get lease machineadm-upgrade --ignore-not-found -o name'), '');
    assert.equal(await node.read('/var/lib/machineadm/upgrade/control-plane.json'), undefined);
    const again = await upgrade(node);
    assert.deepEqual([again.status.outcome, again.changes], ['Succeeded', []], told(again));
    await assertSucceeded(node, await node.provision());
    assert.deepEqual(await node.plan(), [], 'the document is that of the node now');
    await assertNoLeaks(node, seeds, { run, again });
  });

  test('kubeadm would write the same manifests', async () => {
    const version = await kubectl('version -o json | sed -n \'s/.*"gitVersion": "\\(v[0-9.]*\\)".*/\\1/p\' | tail -1');
    const diff = await node.machine.shell(`kubeadm upgrade diff ${version} 2>/dev/null || true`);
    assert.doesNotMatch(diff, /^[-+] .*--/m);
  });

  test('a component that does not start with them gets the previous manifest back', {
    timeout: 8 * MINUTE,
  }, async () => {
    const manifest = '/etc/kubernetes/manifests/kube-scheduler.yaml';
    const [before, configuration] = [await node.read(manifest), await cluster()];
    await node.lay(asking({ ...ASKED, scheduler: { args: [{ name: 'bind-address', value: '192.0.2.9' }] } }));
    const run = await upgrade(node);
    assert.equal(run.status.failure?.reason, 'ControlPlaneNotReconfigured', told(run));
    assert.match(
      run.status.failure?.summary ?? '',
      /kube-scheduler does not work .* The previous arguments of the control plane are restored, and it works with them\.$/,
    );
    assert.equal(await node.read(manifest), before);
    assert.equal(await cluster(), configuration);
    assert.equal(await kubectl('-n kube-system get lease machineadm-upgrade --ignore-not-found -o name'), '');
    const refused = await node.agent(['provision', '-f', DOCUMENT]);
    assert.match(refused.stderr, /\[DocumentChanged\]/, 'the upgrade counts as not begun');
  });

  test('reset returns the machine', { timeout: 8 * MINUTE }, async () => {
    const { exitCode, stdout, stderr } = await node.agent(['reset', '--yes']);
    assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
    assert.equal(await node.read('/etc/kubernetes/manifests/kube-scheduler.yaml'), undefined);
    assert.equal(await node.read('/etc/kubernetes/manifests/etcd.yaml'), undefined);
  });
});
