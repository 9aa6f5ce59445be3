import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { initDocument, merge, newSeeds } from '../support/documents.ts';
import { ALL_CASES, assertSucceeded, Fleet, JOURNAL, labUnavailable, SENTINEL, told } from '../support/lab.ts';

const MINUTE = 60_000;
const skip = labUnavailable() ?? (ALL_CASES ? false : 'not of the core set: set MACHINEADM_E2E=all');

describe('machineadm reset', { skip, timeout: 25 * MINUTE }, () => {
  const seeds = newSeeds();
  let fleet: Fleet;

  before(
    async () => {
      fleet = await Fleet.open();
    },
    { timeout: 30 * MINUTE },
  );
  after(async () => fleet?.close());

  test('takes a control plane away, nothing of others, and it can be made again', {
    timeout: 15 * MINUTE,
  }, async () => {
    const node = await fleet.start({ name: 'e2e-r1', ip: '10.99.0.73' });
    await node.machine.write('/etc/others', 'of others\n');
    await node.machine.write('/etc/e2e-appended', 'was here\n');
    const containerd = await node.read('/etc/containerd/config.toml');
    const files = [{ path: '/etc/e2e-appended', content: 'ours\n', append: true }];
    const document = initDocument(node.site, seeds);
    const host = document.host as { readonly files: readonly unknown[] };
    await node.lay(merge(document, { host: { files: [...host.files, ...files] } }));
    await assertSucceeded(node, await node.provision());

    const refused = await node.agent(['reset']);
    assert.equal(refused.exitCode, 2, 'nobody is there to be asked');
    const dry = await node.agent(['reset', '--dry-run']);
    assert.equal(dry.exitCode, 0, told(dry));
    assert.match(dry.stdout, /^kubeadm reset$/m);
    assert.match(dry.stdout, /^remove \/etc\/e2e\/plain\.conf$/m);
    assert.match(dry.stdout, /^restore \/etc\/e2e-appended as it was$/m);
    assert.equal(await node.read(SENTINEL), 'success\n', 'nothing was changed');

    // A file system of somebody else below what kubeadm would delete: it deletes through mounts it cannot undo.
    await node.machine.shell('mkdir -p /var/lib/kubelet/backup && mount -t tmpfs tmpfs /var/lib/kubelet/backup');
    await node.machine.write('/var/lib/kubelet/backup/precious', 'x');
    const foreign = await node.agent(['reset', '--yes']);
    assert.equal(foreign.exitCode, 4, told(foreign));
    assert.match(foreign.stderr, /MountInTheWay/);
    assert.equal(await node.read('/var/lib/kubelet/backup/precious'), 'x');
    assert.equal(await node.read(SENTINEL), 'success\n', 'nothing was changed');
    await node.machine.shell('umount /var/lib/kubelet/backup');

    const done = await node.agent(['reset', '--yes']);
    assert.equal(done.exitCode, 0, told(done));
    for (const gone of [
      SENTINEL,
      '/etc/kubernetes/admin.conf',
      '/etc/kubernetes/pki/ca.key',
      '/etc/e2e/plain.conf',
      '/etc/e2e/secret.conf',
      JOURNAL,
    ]) {
      assert.equal(await node.read(gone), undefined, `${gone} is gone`);
    }
    assert.equal(await node.read('/etc/others'), 'of others\n');
    assert.equal(await node.read('/etc/e2e-appended'), 'was here\n');
    assert.equal(await node.read('/etc/containerd/config.toml'), containerd, 'as it was before');
    assert.equal((await node.machine.shell('ls /var/lib/kubelet/pods 2>/dev/null | wc -l')).trim(), '0');
    assert.notEqual(await node.read(`${JOURNAL}.reset`), undefined, 'the journal is kept beside');

    const again = await node.agent(['reset', '--yes']);
    assert.equal(again.exitCode, 4, 'there is nothing to reset any more');
    await assertSucceeded(node, await node.provision());
  });
});
