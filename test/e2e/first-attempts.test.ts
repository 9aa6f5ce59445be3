import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attempts, type DocumentTree, initDocument, merge, newSeeds } from '../support/documents.ts';
import { exists, processes, signalWhen } from '../support/interrupt.ts';
import { assertSucceeded, Fleet, LAB, type Node, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
const skip = needs(...LAB, 'MACHINEADM_E2E=all');

describe('data from before the first attempt of a real kubeadm', { skip, timeout: 25 * MINUTE }, () => {
  const seeds = newSeeds();
  const foreign: Readonly<Record<string, string>> = {
    '/etc/kubernetes/pki/ca.crt': seeds.caCertificate,
    '/etc/kubernetes/pki/ca.key': seeds.caKey,
    '/var/lib/kubelet/seccomp/audit.json': '{"defaultAction": "SCMP_ACT_LOG"}\n',
    '/var/lib/etcd/backup.db': 'a snapshot to restore from\n',
    '/etc/kubernetes/pki/vault/token': 'of other software\n',
  };
  const fleet = Fleet.ofSuite();

  /** Content, owner, mode, inode and time of each. */
  const fingerprints = async (node: Node): Promise<string> =>
    await node.machine.shell(
      Object.keys(foreign)
        .map((path) => `sha256sum ${path}; stat -c '%a %u:%g %i %Y %n' ${path}`)
        .join('; '),
    );

  /** A control plane whose CA is the one that is there, without hooks. */
  const documentOf = (node: Node): DocumentTree =>
    merge(merge(initDocument(node.site, seeds), attempts(1)), {
      // A hook could free the port: the run would look again only after it.
      host: { hooks: undefined },
      secrets: { caKey: undefined },
      kubernetes: {
        pki: undefined,
        bootstrapper: { kubeadm: { ignorePreflightErrors: ['SystemVerification', 'DirAvailable--var-lib-etcd'] } },
      },
    });

  test('survives a failed preflight, a kill -9, a success and a reset', { timeout: 20 * MINUTE }, async () => {
    const node = await fleet.start({ name: 'e2e-f1', ip: '10.99.0.74' });
    for (const [path, content] of Object.entries(foreign)) await node.machine.write(path, content, '600');
    const undisturbed = await fingerprints(node);
    await node.lay(documentOf(node));

    // kube-scheduler's port is held by another process, until it is ended.
    const holder = await node.machine.shell(
      `setsid perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(LocalPort => 10259, Listen => 1) or die; sleep 600' >/dev/null 2>&1 & echo $!`,
    );
    const refused = await node.provision();
    assert.deepEqual([refused.exitCode, refused.status.failure?.reason], [4, 'PortInUse'], told(refused));
    assert.equal(await fingerprints(node), undisturbed);
    await node.machine.shell(`kill ${holder.trim()}`);

    await signalWhen(node, 'KILL', 'kubeadm wrote its manifests', exists(node, '/etc/kubernetes/manifests/etcd.yaml'));
    assert.equal(await fingerprints(node), undisturbed);

    const run = await node.provision();
    await assertSucceeded(node, run);
    assert.ok(run.changes.includes('kubeadm-reset/reset'), told(run));
    assert.equal(await fingerprints(node), undisturbed);
    assert.notDeepEqual(await processes(node, '^kube-apiserver '), []);

    const reset = await node.agent(['reset', '--yes']);
    assert.equal(reset.exitCode, 0, told(reset));
    assert.equal(await fingerprints(node), undisturbed);
    assert.deepEqual(await processes(node, '^(kube-apiserver|etcd|kubelet) '), []);
    for (const gone of ['/etc/kubernetes/admin.conf', '/etc/kubernetes/pki/apiserver.key', '/var/lib/etcd/member']) {
      assert.equal(await exists(node, gone)(), false, gone);
    }
    assert.equal((await node.machine.shell('ls /var/lib/kubelet')).trim(), 'seccomp');
  });
});
