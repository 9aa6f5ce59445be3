import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildAddons, buildLab } from '../../scripts/lab/artefacts.ts';
import { debianContainerd } from '../support/debian-containerd.ts';
import type { DocumentTree } from '../support/documents.ts';
import { assertSucceeded, Fleet, LAB, progress } from '../support/lab.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
const IMAGE = 'k8s.gcr.io/quickstart/busybox:1';

/** Debian's containerd of each kind: the version that it answers, and that of the configuration that it is given. */
const RELEASES = [
  { suite: 'trixie', version: /^v?1\.7\./, configuration: 2 },
  { suite: 'sid', version: /^v?2\./, configuration: 3 },
] as const;

// A machine with containerd 1.6 becomes a node in the other files. The kubelet 1.20 of the lab runs with 1.7 as well
// (quickstart.test.ts), and not with 2.x, which dropped its version of CRI: so here the container is run by ctr.
describe('a machine with a newer containerd', { skip: needs(...LAB), timeout: 15 * MINUTE }, () => {
  let addons: string;

  const fleet = Fleet.ofSuite(
    async () => {
      addons = await buildAddons(await buildLab(progress), progress);
    },
    { kind: 'host' },
  );

  for (const [index, { suite, version, configuration }] of RELEASES.entries()) {
    test(`that of Debian's ${suite} is configured, gets images and runs a container; again: nothing to do`, async (t) => {
      const found = debianContainerd(suite);
      if ('unavailable' in found) return t.skip(found.unavailable);
      const name = `e2e-ctd${index}`;
      const node = await fleet.start({ name, ip: `10.99.0.${75 + index}`, lower: [found.root, addons] });
      const shell = async (script: string): Promise<string> => (await node.machine.shell(script)).trim();
      const document: DocumentTree = {
        apiVersion: 'machineadm.dev/v1alpha1',
        kind: 'MachineBootstrap',
        metadata: { name },
        host: { kernelModules: ['overlay'] },
        containerRuntime: {
          containerd: { cgroupDriver: 'cgroupfs', sandboxImage: 'k8s.gcr.io/pause:3.2', restrictOomScoreAdj: true },
        },
        images: {
          archives: [{ path: '/opt/images/pause.tar' }, { path: '/opt/addons/busybox.tar' }],
          required: [IMAGE],
        },
      };
      await node.lay(document);
      const first = await node.provision();
      await assertSucceeded(node, first);
      assert.match(
        await shell(`ctr version | awk '/Server/ {server=1} server && /Version:/ {print $2; exit}'`),
        version,
      );
      assert.equal(await shell('systemctl is-active containerd'), 'active');
      assert.match(
        (await node.read('/etc/containerd/config.toml')) ?? '',
        new RegExp(`^version = ${configuration}$`, 'm'),
      );
      assert.match(await shell('containerd config dump'), /sandbox(_image)? = ["']k8s\.gcr\.io\/pause:3\.2["']/);
      // The machine's kernel has cgroup v1, in which this one gets a place below the machine's.
      const run = `ctr -n k8s.io run --rm --snapshotter overlayfs ${IMAGE} probe echo "run by $(ctr --version)"`;
      assert.match(await shell(run), /run by ctr/);
      const again = await node.provision();
      await assertSucceeded(node, again);
      assert.deepEqual(again.changes, []);
      const plan = await node.plan();
      assert.deepEqual(plan, []);
    });
  }
});
