import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { hostDocument, initDocument, merge, newSeeds } from '../support/documents.ts';
import { assertFailed, assertSucceeded, Fleet, labUnavailable, type Node, SENTINEL, told } from '../support/lab.ts';
import { assertNoLeaks, failTwice } from '../support/twice.ts';

const MINUTE = 60_000;

describe('what fails says why', { skip: labUnavailable() ?? false, timeout: 12 * MINUTE, concurrency: 2 }, () => {
  const seeds = newSeeds();
  let fleet: Fleet;

  before(
    async () => {
      fleet = await Fleet.open();
    },
    { timeout: 30 * MINUTE },
  );
  after(async () => fleet?.close());

  // kubeadm 1.20 waits two minutes for such a kubelet, at every run: the other cases go on meanwhile.
  test('the kubelet cannot start: KubeletUnknownFlag with its own words, twice', { timeout: 6 * MINUTE }, async () => {
    const other = await fleet.start({ name: 'e2e-f2', ip: '10.99.0.32' });
    const document = merge(initDocument(other.site, seeds), {
      kubernetes: {
        node: { kubelet: { args: [{ name: 'no-such-flag', value: '1' }] } },
        timeouts: { controlPlane: '40s' },
      },
    });
    await failTwice(other, document, seeds, async (run) => {
      await assertFailed(other, run, 11, 'KubeletUnknownFlag');
      assert.match(JSON.stringify(run.status.failure?.evidence), /unknown flag: --no-such-flag/);
    });
    await fleet.remove(other);
  });

  describe('on one machine, mended from case to case', { concurrency: 1 }, () => {
    let node: Node;

    before(async () => {
      node = await fleet.start({ name: 'e2e-f1', ip: '10.99.0.31' });
    });

    test('/etc is read-only: ReadOnlyFilesystem, the host as it was', async (t) => {
      t.after(() => node.machine.shell('umount /etc'));
      await node.machine.shell('mount --bind /etc /etc && mount -o remount,bind,ro /etc');
      await node.lay(hostDocument(node.site, seeds));
      const run = await node.provision();
      await assertFailed(node, run, 10, 'ReadOnlyFilesystem');
      await assertNoLeaks(node, seeds, { run });
    });

    test('the disk is full: DiskFull, and no half-written file', async (t) => {
      t.after(() => node.machine.shell('umount /etc/e2e'));
      await node.machine.shell(
        'mkdir -p /etc/e2e && mount -t tmpfs -o size=64k tmpfs /etc/e2e && head -c 64k /dev/zero > /etc/e2e/ballast',
      );
      await node.lay(hostDocument(node.site, seeds));
      const run = await node.provision();
      await assertFailed(node, run, 10, 'DiskFull');
      assert.equal((await node.machine.shell('ls -A /etc/e2e')).trim(), 'ballast', 'no temporary file is left');
    });

    test('containerd cannot start: the host step fails, twice', async (t) => {
      t.after(() =>
        node.machine.shell('rm /etc/systemd/system/containerd.service.d/e2e.conf && systemctl daemon-reload'),
      );
      await node.machine.write(
        '/etc/systemd/system/containerd.service.d/e2e.conf',
        '[Service]\nExecStart=\nExecStart=/bin/false\nRestart=no\n',
      );
      await node.machine.shell('systemctl stop containerd && systemctl daemon-reload');
      await failTwice(node, initDocument(node.site, seeds), seeds, (run) =>
        assertFailed(node, run, 10, 'ContainerdUnhealthy'),
      );
    });

    test('a required image is missing in the air gap: ImageMissing, before kubeadm is run', async () => {
      const document = merge(initDocument(node.site, seeds), {
        images: {
          archives: [{ path: '/opt/images/pause.tar' }],
          required: ['k8s.gcr.io/pause:3.2', 'k8s.gcr.io/etcd:3.4.13-0'],
        },
      });
      await failTwice(node, document, seeds, async (run) => {
        await assertFailed(node, run, 10, 'ImageMissing');
        assert.match(JSON.stringify(run.status.failure), /etcd:3\.4\.13-0/);
        assert.doesNotMatch(JSON.stringify(run.status.failure?.summary), /pause/);
      });
      assert.equal(await node.read('/etc/kubernetes/manifests/etcd.yaml'), undefined);
    });

    test('an image that kubeadm needs is missing: its failure names the image', async () => {
      const document = merge(initDocument(node.site, seeds), {
        images: { archives: [{ path: '/opt/images/pause.tar' }], required: ['k8s.gcr.io/pause:3.2'] },
      });
      await node.lay(document);
      const run = await node.provision();
      assert.equal(run.exitCode, 11, told(run));
      assert.match(run.status.failure?.reason ?? '', /^Image/, told(run));
      assert.match(JSON.stringify(run.status.failure), /k8s\.gcr\.io\/kube-apiserver:v1\.20\.2/);
    });

    test('the API port is taken: PortInUse, twice; the port is freed: the same document bootstraps', {
      timeout: 5 * MINUTE,
    }, async () => {
      await node.machine.shell('systemd-run --unit=e2e-squatter socat TCP-LISTEN:6443,fork,reuseaddr /dev/null');
      const document = initDocument(node.site, seeds);
      await failTwice(node, document, seeds, async (run) => {
        await assertFailed(node, run, 11, 'PortInUse');
        assert.match(JSON.stringify(run.status.failure?.evidence), /6443/);
      });
      await node.machine.shell('systemctl stop e2e-squatter');
      const run = await node.provision();
      await assertSucceeded(node, run);
      assert.equal(await node.read(SENTINEL), 'success\n');
    });
  });
});
