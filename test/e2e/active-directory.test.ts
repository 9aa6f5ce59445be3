import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { buildLayer } from '../../scripts/lab/artefacts.ts';
import { type DocumentTree, initDocument, merge, newSeeds, workerDocument } from '../support/documents.ts';
import { assertFailed, assertSucceeded, Fleet, LAB, type Node, progress, provisionOnce, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { BASE, DOMAIN, NODES, sambaRoot } from '../support/samba-domain.ts';
import { LabDomain } from '../support/samba-lab.ts';
import { assertNoLeaks, provisionTwice } from '../support/twice.ts';

const MINUTE = 60_000;
const CONTROLLER = '10.99.0.110';

/** Only where every case is run: unpacking Samba is worth it there. */
const samba = needs(...LAB, 'MACHINEADM_E2E=all') === false ? sambaRoot() : { unavailable: 'MACHINEADM_E2E=all' };

describe('a machine that joins its domain and then its cluster', {
  skip: needs(...LAB, samba),
  timeout: 15 * MINUTE,
}, () => {
  // The password of the account that joins is one of the secrets that are looked for afterwards.
  const seeds = newSeeds({ password: 'Aa1-e2e-Passw0rd-of-the-joiner' });
  let domain: LabDomain;
  let controlPlane: Node;
  let worker: Node;
  let document: DocumentTree;

  after(async () => await domain?.[Symbol.asyncDispose]());
  const fleet = Fleet.ofSuite(async () => {
    controlPlane = await fleet.start({ name: 'e2e-ad-cp', ip: '10.99.0.111' });
    domain = await LabDomain.start('root' in samba ? samba.root : '', CONTROLLER, { joiner: seeds.password });
    worker = await fleet.start({
      name: 'e2e-ad-w1',
      ip: '10.99.0.112',
      lower: [await buildLayer('adcli', progress)],
    });
    // As an image that knows nothing of domains: Debian's packages add themselves to NSS and PAM.
    await worker.machine.shell("sed -i 's/ sss$//' /etc/nsswitch.conf; pam-auth-update --package --remove sss");
    await domain.run(['samba-tool', 'group', 'add', 'node-admins']);
    await domain.run(['samba-tool', 'group', 'addmembers', 'node-admins', 'plain']);
    document = merge(workerDocument(worker.site, seeds, controlPlane.site.ip), {
      host: {
        files: [{ path: '/etc/resolv.conf', content: `nameserver ${CONTROLLER}\noptions timeout:1 attempts:2\n` }],
        activeDirectory: {
          domain: DOMAIN,
          computerOU: NODES,
          credentials: { user: 'joiner', password: { secret: 'password' } },
          registerAddress: true,
          onReset: 'Leave',
          logins: { allowedGroups: ['node-admins'], homeDirectories: 'Create' },
        },
      },
    });
    await provisionOnce(controlPlane, initDocument(controlPlane.site, seeds));
  });

  test('does not become a node while its domain is unreachable: the run ends before kubeadm', async () => {
    const fails = async (reason: 'DomainNameServiceFailed' | 'DomainControllerUnreachable') => {
      const run = await worker.provision();
      await assertFailed(worker, run, 10, 'active-directory', reason);
      assert.equal(run.status.failure?.retryable, true, told(run));
      assert.deepEqual(
        run.changes.filter((id) => /kubeadm|active-directory\/join/.test(id)),
        [],
      );
      assert.equal(await worker.read('/etc/kubernetes/kubelet.conf'), undefined);
      await assertNoLeaks(worker, seeds, { [reason]: run });
    };
    await worker.lay(document);
    await domain.connected(false);
    await fails('DomainNameServiceFailed');
    await domain.connected(true);
    await domain.onlyNames(true);
    await fails('DomainControllerUnreachable');
    await domain.onlyNames(false);
  });

  test('joins both with the same document once the domain is back, and a second run has nothing to do', async () => {
    const { changes } = await provisionTwice(worker, document, seeds);
    for (const name of ['sssd.conf', 'nsswitch.conf', 'pam']) {
      assert.ok(changes.includes(`directory-logins/${name}`), `${changes}`);
    }
    const order = changes.filter((id) => /^(active-directory|kubeadm)\/join$/.test(id));
    assert.deepEqual(order, ['active-directory/join', 'kubeadm/join']);
    const nodes = await controlPlane.kubectl('get nodes -o name');
    assert.match(nodes, /^node\/e2e-ad-w1$/m);
    const computer = await domain.run(['samba-tool', 'computer', 'show', 'E2E-AD-W1']);
    assert.match(computer, new RegExp(`dn: CN=E2E-AD-W1,OU=Nodes,${BASE}`));
  });

  test('is a member with everything that the document requests: keys, an address in DNS, and users who may log in', async () => {
    // PAM's account and session phases: who is in the group gets in, and a home; who is not does not.
    const enter = (user: string) => worker.machine.exec(['su', '-s', '/bin/sh', `${user}@${DOMAIN}`, '-c', 'cd; pwd']);
    assert.equal((await enter('plain')).stdout, `/home/plain@${DOMAIN}\n`);
    const refused = await enter('joiner');
    assert.match(refused.stderr, /Permission denied/);
    assert.notEqual(refused.status, 0);
    assert.match(await worker.machine.shell(`adcli testjoin --domain=${DOMAIN}`), /validated join/);
    assert.equal(
      await worker.machine.shell('stat -c "%a %U" /etc/krb5.keytab /etc/sssd/sssd.conf'),
      '600 root\n600 root\n',
    );
    assert.equal(await worker.machine.shell(`dig +short e2e-ad-w1.${DOMAIN} A`), `${worker.site.ip}\n`);
    assert.match(
      await worker.machine.shell(`getent passwd plain@${DOMAIN}`),
      /^plain@corp\.example\.test:.*:\/home\/plain@/,
    );
  });

  test('stays a member after a reboot', async () => {
    await worker.machine.reboot();
    const run = await worker.provision();
    await assertSucceeded(worker, run);
    assert.deepEqual(
      run.changes.filter((id) => /^(active-directory|directory)/.test(id)),
      [],
    );
  });

  test('leaves both with a reset, which reports what the domain does not allow', async () => {
    const run = await worker.agent(['reset', '--yes']);
    assert.equal(run.exitCode, 0, told(run));
    assert.match(run.stderr + run.stdout, /warning: the account E2E-AD-W1 stays in corp\.example\.test/);
    for (const path of ['/etc/krb5.keytab', '/etc/krb5.conf', '/etc/sssd/sssd.conf']) {
      assert.equal(await worker.read(path), undefined, path);
    }
    assert.doesNotMatch((await worker.read('/etc/nsswitch.conf')) ?? '', /^passwd:.*sss/m);
  });
});
