import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildAddons, buildLab, LAB_DIRECTORY } from '../../scripts/lab/artefacts.ts';
import { listMachines } from '../../scripts/lab/fleet.ts';
import { type Finished, run } from '../../scripts/lab/process.ts';
import { officialRelease } from '../../scripts/lab/releases/official.ts';
import { debianContainerd } from '../support/debian-containerd.ts';
import { LAB, progress, takeLab } from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { partsOfDockerArchive, startMirror } from '../support/release-mirror.ts';

const MINUTE = 60_000;
const ROOT = resolve(import.meta.dirname, '../..');

describe('the quick start', { skip: needs(...LAB), timeout: 60 * MINUTE }, () => {
  let release: () => Promise<void>;

  before(
    async () => {
      release = await takeLab('nodes');
    },
    { timeout: 30 * MINUTE },
  );
  after(async () => release());

  const quickstart = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Finished> => {
    const { PATH = '', HOME = '' } = process.env;
    const lab = process.env.MACHINEADM_LAB === undefined ? {} : { MACHINEADM_LAB: process.env.MACHINEADM_LAB };
    return await run(process.execPath, ['scripts/quickstart.ts', ...args], {
      cwd: ROOT,
      env: { PATH, HOME, ...lab, ...env },
      timeoutMs: 40 * MINUTE,
      onOutput: (_, text) => process.stderr.write(text),
    });
  };

  test('ends with a control plane and a worker that are Ready, and a pod that answers', async () => {
    // A server that has nothing: what Debian has is built in its place, whatever this machine can reach.
    await using mirror = await startMirror(officialRelease('v1.37.0'));
    const { status, stdout } = await quickstart(['--workers', '1'], { MACHINEADM_LAB_MIRROR: mirror.url });
    assert.equal(status, 0, stdout.slice(-3000));
    assert.match(
      stdout,
      /the official release cannot be downloaded: .* answered 404; using 1\.20\.2 built from Debian's sources$/m,
    );
    assert.match(stdout, /^quickstart +Ready +control-plane,master /m);
    assert.match(stdout, /^qs-worker1 +Ready +<none> /m);
    assert.match(stdout, /^Hello from pod web on node qs-worker1$/m);
    assert.match(stdout, /\] done: the nodes are Ready, and a pod answered$/m);
    const left = listMachines().filter(({ name }) => name === 'quickstart' || name === 'qs-worker1');
    assert.deepEqual(left, [], 'its machines are gone');
  });

  test('survives the loss of one of three control planes', {
    skip: needs('MACHINEADM_E2E=all'),
  }, async () => {
    const { status, stdout } = await quickstart(['--control-planes', '3', '--kubernetes', 'debian']);
    assert.equal(status, 0, stdout.slice(-3000));
    assert.match(stdout, /^\[.*\] the API accepted a write [0-9.]+ s after the loss$/m);
    assert.match(stdout, /^Hello from pod web on node qs-control[23]$/m);
    const last = stdout.slice(stdout.lastIndexOf('kubectl --request-timeout=5s get nodes'));
    assert.equal([...last.matchAll(/^[a-z0-9-]+ +Ready +control-plane,master /gm)].length, 3, last);
    assert.match(last, /\] done: the nodes are Ready, and a pod answered, after the loss of a control plane/m);
    assert.deepEqual(
      listMachines().filter(({ name }) => /^(quickstart|qs-)/.test(name)),
      [],
      'its machines are gone',
    );
  });

  // The release servers are out of reach here: what this lab built stands behind their layout.
  test('takes a release from a mirror of its publishers, with containerd 1.7', {
    skip: needs('MACHINEADM_E2E=all'),
  }, async (t) => {
    const containerd = debianContainerd('trixie');
    if ('unavailable' in containerd) return t.skip(containerd.unavailable);
    const lab = await buildLab(progress);
    const addons = await buildAddons(lab, progress);
    const files = (directory: string, names = readdirSync(directory)) =>
      Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name))]));
    const archive = (name: string): string => {
      const directory = name === 'kube-proxy' ? join(addons, 'opt/addons') : lab.images;
      return join(directory, `${name}.tar`);
    };
    const v120 = officialRelease('v1.20.2');
    await using mirror = await startMirror(v120, {
      programs: files(join(lab.kubernetes, 'bin'), ['kubeadm', 'kubelet', 'kubectl']),
      containerd: files(join(containerd.root, 'usr/bin'), ['containerd', 'containerd-shim-runc-v2', 'ctr']),
      runc: readFileSync(join(lab.root, 'usr/sbin/runc')),
      plugins: files(join(addons, 'usr/lib/cni')),
      crictl: readFileSync(join(ROOT, 'scripts/lab/crictl')),
      images: Object.fromEntries(Object.keys(v120.images).map((name) => [name, partsOfDockerArchive(archive(name))])),
    });
    const cached = (): string[] => globSync(['official-*', 'addons-*', 'downloads/*'], { cwd: LAB_DIRECTORY });
    const before = cached();
    try {
      const { status, stdout } = await quickstart(['--kubernetes', 'v1.20.x'], { MACHINEADM_LAB_MIRROR: mirror.url });
      assert.equal(status, 0, stdout.slice(-3000));
      assert.match(stdout, /\] Kubernetes v1\.20\.2$/m);
      assert.match(stdout, /^quickstart +Ready .* containerd:\/\/1\.7\.\d+/m);
      assert.match(stdout, /^Hello from pod web on node quickstart$/m);
    } finally {
      for (const path of cached().filter((name) => !before.includes(name))) {
        rmSync(join(LAB_DIRECTORY, path), { recursive: true, force: true });
      }
    }
  });
});
