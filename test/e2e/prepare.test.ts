import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { type DocumentTree, initDocument, merge, newSeeds, workerDocument } from '../support/documents.ts';
import { assertSucceeded, Fleet, LAB, type Node, SENTINEL, told } from '../support/lab.ts';
import { imageOf, archiveOf as labArchiveOf } from '../support/lab-release.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
const PACKAGING = resolve(import.meta.dirname, '../../packaging');
const BASE = '/tmp/base.yaml';
const STATE = '/var/lib/machineadm';
const skip = needs(...LAB, 'MACHINEADM_E2E=all');

const WORKER_IMAGES = ['pause', 'kube-proxy'];
const CONTROL_PLANE_IMAGES = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd', 'coredns'];

/** Where the bake has its archives: compressed, and gone when it is over, as an image has no room for them twice. */
const archiveOf = (name: string) => `/opt/bake/${name}.tar.gz`;
const archives = [...WORKER_IMAGES, ...CONTROL_PLANE_IMAGES].map((name) => ({ path: archiveOf(name) }));

/** What packaging/ has as an example, as this lab's Kubernetes wants it. */
function baseDocument(): DocumentTree {
  const example: DocumentTree = parse(readFileSync(join(PACKAGING, 'image-builder/base.yaml'), 'utf8'));
  return merge(example, {
    host: { files: [{ path: '/etc/e2e/base.conf', content: 'baked = true\n' }] },
    containerRuntime: {
      containerd: { cgroupDriver: 'cgroupfs', sandboxImage: imageOf('pause'), restrictOomScoreAdj: true },
    },
    images: { archives, required: [imageOf('pause')] },
  });
}

describe('an image', { skip, timeout: 30 * MINUTE }, () => {
  const seeds = newSeeds();
  const site = (name: string, last: number) => ({ name, ip: `10.99.0.${last}` });
  let builder: Node;

  const fleet = Fleet.ofSuite(async () => {
    builder = await fleet.start(site('e2e-bk1', 81));
  });

  test('is not baked from a document with a secret, and nothing is changed', { timeout: 2 * MINUTE }, async () => {
    const files = [{ path: '/etc/e2e/token', content: `token = ${seeds.token}\n` }];
    await builder.lay(merge(baseDocument(), { host: { files } }));
    const run = await builder.agent(['prepare', '-d', '/root/document.yaml', '-o', 'json']);
    assert.equal(run.exitCode, 4, told(run));
    assert.equal(JSON.parse(run.stdout).failure.reason, 'SecretInImage');
    assert.ok(!`${run.stdout}${run.stderr}`.includes(seeds.token.slice(7)));
    assert.equal(await builder.read(`${STATE}/prepared.json`), undefined);
    assert.equal(await builder.read('/etc/e2e/token'), undefined);
  });

  test('is baked by the shell script of packaging/, which verifies it', { timeout: 8 * MINUTE }, async () => {
    const compress = [...WORKER_IMAGES, ...CONTROL_PLANE_IMAGES].map(
      (name) => `gzip -1 < ${labArchiveOf(name)} > ${archiveOf(name)}`,
    );
    await builder.machine.shell(['mkdir -p /opt/bake', ...compress].join(' && '));
    await builder.machine.shell('touch /etc/ssh/ssh_host_rsa_key 2>/dev/null || true');
    await builder.machine.write(BASE, JSON.stringify(baseDocument()), '600');
    const early = await builder.agent(['prepare', '--verify', '-d', BASE, '-o', 'json']);
    assert.equal(early.exitCode, 20, told(early));
    const verdict: { reason: string; findings: { what: string }[] } = JSON.parse(early.stdout);
    assert.equal(verdict.reason, 'ImageNotReady');
    assert.ok(verdict.findings.some(({ what }) => what === '/etc/machine-id'));

    await builder.machine.copyIn(join(PACKAGING, 'image-builder/packer/prepare.sh'), '/root/prepare.sh');
    const bake = await builder.machine.exec(['env', `MACHINEADM_DOCUMENT=${BASE}`, 'sh', '/root/prepare.sh'], {
      timeoutMs: 6 * MINUTE,
    });
    assert.equal(bake.status, 0, told(bake));
    assert.match(bake.stdout, /the image is ready/);

    const manifest: { steps: { step: string; changes: string[] }[] } = JSON.parse(
      (await builder.read(`${STATE}/prepared.json`)) ?? '',
    );
    const images = manifest.steps.find(({ step }) => step === 'images');
    assert.deepEqual(images?.changes.filter((id) => id.endsWith('.gz')).length, archives.length);
    assert.deepEqual((await builder.machine.shell(`ls ${STATE}`)).split('\n').filter(Boolean), ['prepared.json']);
    await builder.machine.shell('rm -r /opt/bake /root/prepare.sh');
  });

  test('boots two machines with different documents, and no image is imported again', {
    timeout: 15 * MINUTE,
  }, async () => {
    const [controlPlane, worker] = await fleet.bootImage(builder, [site('e2e-bk2', 82), site('e2e-bk3', 83)]);
    assert.ok(controlPlane !== undefined && worker !== undefined);
    const baked = (document: DocumentTree) => merge(document, { images: { archives, required: [imageOf('pause')] } });

    for (const [node, document] of [
      [controlPlane, initDocument(controlPlane.site, seeds)],
      [worker, workerDocument(worker.site, seeds, controlPlane.machine.ip)],
    ] as const) {
      assert.equal(await node.read(SENTINEL), undefined);
      await node.lay(baked(document));
      const planned = await node.plan();
      assert.deepEqual(
        planned.filter(({ step }) => step === 'images' || step === 'kubeadm-reset').map(({ id }) => id),
        [],
        'no image is to be imported, and no leftover of another node to be cleared away',
      );
      const run = await node.provision();
      await assertSucceeded(node, run);
      assert.equal(run.status.attempt, 1);
      assert.deepEqual(
        run.changes.filter((id) => /^(images|kubeadm-reset|swap|kernel-modules)\b/.test(id)),
        [],
        'what was baked holds',
      );
      assert.equal(await node.read(SENTINEL), 'success\n');
      const again = await node.provision();
      await assertSucceeded(node, again);
      assert.deepEqual(again.changes, []);
    }
    const nodes = await controlPlane.kubectl('get nodes -o jsonpath="{.items[*].metadata.name}"');
    assert.equal(nodes, 'e2e-bk2 e2e-bk3');
    const ids = [];
    for (const node of [controlPlane, worker]) ids.push(await node.read('/etc/machine-id'));
    assert.notEqual(ids[0], ids[1]);
  });
});
