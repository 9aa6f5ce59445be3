import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { run } from '../../scripts/lab/process.ts';
import { Downloads, ReleaseRefused, ReleaseUnavailable } from '../../scripts/lab/releases/download.ts';
import { fetchRelease, findRelease, officialRelease } from '../../scripts/lab/releases/official.ts';
import { sha256, smallestImage } from '../support/image-archive.ts';
import { type MirrorFault, type Publication, type ReleaseMirror, startMirror } from '../support/release-mirror.ts';

const release = officialRelease('v1.37.0');
const program = (name: string): Buffer => Buffer.from(`#!/bin/sh\necho ${name}\n`);
const image = (name: string) => {
  const { config, layer } = smallestImage(name);
  return { config: Buffer.from(config), layers: [Buffer.from(layer)] };
};
const publication: Publication = {
  programs: Object.fromEntries(['kubeadm', 'kubelet', 'kubectl'].map((name) => [name, program(name)])),
  containerd: { containerd: program('containerd'), 'containerd-shim-runc-v2': program('shim') },
  runc: program('runc'),
  plugins: { bridge: program('bridge'), 'host-local': program('host-local') },
  crictl: program('crictl'),
  images: Object.fromEntries(Object.keys(release.images).map((name) => [name, image(name)])),
};

const KUBELET = 'dl.k8s.io/release/v1.37.0/bin/linux/amd64/kubelet';
const CRICTL = 'github.com/kubernetes-sigs/cri-tools/releases/download/v1.37.0/crictl-v1.37.0-linux-amd64.tar.gz';
const PAUSE = 'registry.k8s.io/v2/pause/manifests/3.10.2';

describe('a release of Kubernetes from a mirror of its publishers', () => {
  let work: string;
  let mirror: ReleaseMirror;
  let counter = 0;
  const path = process.env.PATH;

  before(() => {
    work = mkdtempSync(join(tmpdir(), 'machineadm-releases-'));
  });
  after(() => rmSync(work, { recursive: true }));
  afterEach(async () => {
    process.env.PATH = path;
    await mirror[Symbol.asyncDispose]();
  });

  /** Fetches everything into a new directory, with a new cache unless one is given. */
  const fetched = async (
    cache = join(work, `cache-${counter++}`),
    options: { readonly silenceMs?: number } = {},
  ): Promise<{ readonly directory: string; readonly lines: string[]; readonly cache: string }> => {
    const downloads = new Downloads({ cache, mirror: mirror.url, pauseMs: 1, ...options });
    const directory = join(work, `made-${counter++}`);
    const lines: string[] = [];
    const found = await findRelease(downloads, 'v1.37.x');
    await fetchRelease(downloads, found, directory, (line) => lines.push(line));
    return { directory, lines, cache };
  };
  const fails = async (kind: typeof ReleaseRefused | typeof ReleaseUnavailable, words: RegExp, silenceMs?: number) => {
    const cache = join(work, `cache-${counter++}`);
    await assert.rejects(fetched(cache, silenceMs === undefined ? {} : { silenceMs }), (error: unknown) => {
      assert.ok(error instanceof kind, String(error));
      assert.match(error.message, words);
      return true;
    });
    assert.deepEqual(
      readdirSync(cache).filter((name) => !/^sha256-[0-9a-f]{64}$/.test(name)),
      [],
      'nothing half is left',
    );
    for (const name of readdirSync(cache)) assert.equal(`sha256-${sha256(readFileSync(join(cache, name)))}`, name);
  };

  test('is complete: programs, containerd, runc, CNI plugins, crictl and an archive of each image', async () => {
    mirror = await startMirror(release, publication);
    const { directory } = await fetched();
    const programs = ['kubeadm', 'kubelet', 'kubectl', 'containerd', 'containerd-shim-runc-v2', 'crictl'];
    // runc is where the image of the machine has its own: the other one would be the first in PATH.
    for (const file of [...programs.map((name) => `usr/bin/${name}`), 'usr/sbin/runc']) {
      const there = join(directory, 'layer', file);
      assert.match(readFileSync(there, 'utf8'), /^#!/);
      assert.equal(statSync(there).mode & 0o777, 0o755, file);
    }
    assert.deepEqual(readdirSync(join(directory, 'bin')).sort(), ['kubeadm', 'kubectl', 'kubelet']);
    assert.deepEqual(readdirSync(join(directory, 'layer/usr/lib/cni')).sort(), ['bridge', 'host-local']);
    const archives = readdirSync(join(directory, 'images')).sort();
    const components = ['coredns', 'etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'pause'];
    assert.deepEqual(
      archives,
      components.map((name) => `${name}.tar`),
    );
    const archive = join(directory, 'images/coredns.tar');
    const index = JSON.parse((await run('tar', ['-xOf', archive, 'index.json'])).stdout);
    const [manifest] = index.manifests;
    assert.equal(manifest.annotations['io.containerd.image.name'], 'registry.k8s.io/coredns/coredns:v1.14.6');
    const listed = (await run('tar', ['-tf', archive])).stdout.split('\n').filter((name) => name.startsWith('blobs/'));
    assert.equal(listed.length, 3, 'manifest, configuration and layer');
    assert.ok(listed.includes(`blobs/${manifest.digest.replace(':', '/')}`));
  });

  test('is not downloaded twice: what the cache has by its digest is used', async () => {
    mirror = await startMirror(release, publication);
    const { cache } = await fetched();
    mirror.requests.length = 0;
    await fetched(cache);
    const again = mirror.requests.filter((request) => !/sha256(sum)?$|stable-|\/manifests\//.test(request));
    assert.deepEqual(again, [], 'only checksums and manifests are asked for');
  });

  test('a file in the cache that was changed is downloaded again', async () => {
    mirror = await startMirror(release, publication);
    const { cache } = await fetched();
    const kubelet = join(cache, `sha256-${sha256(program('kubelet'))}`);
    writeFileSync(kubelet, 'something else');
    const { directory } = await fetched(cache);
    assert.deepEqual(readFileSync(join(directory, 'bin/kubelet')), program('kubelet'));
  });

  const changed: readonly (readonly [string, string, RegExp])[] = [
    ['a program', KUBELET, /kubelet has the SHA-256 [0-9a-f]{64}, but [0-9a-f]{64} is published; it is not used/],
    ['an archive', CRICTL, /crictl-v1.37.0-linux-amd64.tar.gz has the SHA-256/],
  ];
  for (const [what, file, words] of changed) {
    test(`${what} with another digest is refused, and asked for once`, async () => {
      mirror = await startMirror(release, publication);
      mirror.files.set(file, Buffer.from('something else'));
      await fails(ReleaseRefused, words);
      assert.equal(mirror.requests.filter((request) => request === file).length, 1);
    });
  }

  test('a layer of an image with another digest is refused', async () => {
    mirror = await startMirror(release, publication);
    const layer = [...mirror.files.keys()].find((name) => name.startsWith('registry.k8s.io/v2/etcd/blobs/'));
    mirror.files.set(layer ?? '', Buffer.from('something else'));
    await fails(ReleaseRefused, /v2\/etcd\/blobs\/sha256:[0-9a-f]{64} has the SHA-256/);
  });

  test('a checksum file that holds something else is refused', async () => {
    mirror = await startMirror(release, publication);
    mirror.files.set(`${KUBELET}.sha256`, Buffer.from('<html>sign in first</html>'));
    await fails(ReleaseRefused, /is no SHA-256/);
  });

  test('a missing file ends the download at once; crictl may be that of the previous minor version', async () => {
    mirror = await startMirror(release, publication);
    mirror.files.delete(KUBELET);
    await fails(ReleaseUnavailable, /kubelet: the server answered 404/);
    assert.equal(mirror.requests.filter((request) => request === KUBELET).length, 1);
    await mirror[Symbol.asyncDispose]();

    mirror = await startMirror(release, publication);
    for (const name of [CRICTL, `${CRICTL}.sha256`]) {
      mirror.files.set(name.replaceAll('v1.37.0', 'v1.36.0'), mirror.files.get(name) ?? Buffer.alloc(0));
      mirror.files.delete(name);
    }
    const { directory } = await fetched();
    assert.deepEqual(readFileSync(join(directory, 'layer/usr/bin/crictl')), program('crictl'));
  });

  const passing: Readonly<Record<string, MirrorFault>> = {
    'a connection that is cut': { kind: 'cut', times: 2 },
    'a busy server': { kind: 'status', status: 503, times: 2 },
  };
  for (const [what, fault] of Object.entries(passing)) {
    test(`${what} is retried, for a program and for a manifest`, async () => {
      mirror = await startMirror(release, publication);
      for (const file of [KUBELET, PAUSE]) mirror.faults.set(file, fault);
      const { directory } = await fetched();
      assert.deepEqual(readFileSync(join(directory, 'bin/kubelet')), program('kubelet'));
      assert.equal(mirror.requests.filter((request) => request === KUBELET).length, 3);
    });

    test(`${what} at each attempt ends the download`, async () => {
      mirror = await startMirror(release, publication);
      mirror.faults.set(KUBELET, { ...fault, times: 100 });
      await fails(ReleaseUnavailable, /kubelet: /);
      assert.equal(mirror.requests.filter((request) => request === KUBELET).length, 3);
    });
  }

  test('a server that does not answer ends the download', async () => {
    mirror = await startMirror(release, publication);
    mirror.faults.set(KUBELET, { kind: 'silent', times: 100 });
    await fails(ReleaseUnavailable, /kubelet: .*[Tt]imeout/, 50);
  });

  test('a signature that cosign refuses ends it; without cosign one line says that none is checked', async () => {
    mirror = await startMirror(release, publication);
    const bin = mkdtempSync(join(work, 'bin-'));
    for (const name of ['kubeadm', 'kubelet', 'kubectl']) {
      const url = `dl.k8s.io/release/v1.37.0/bin/linux/amd64/${name}`;
      mirror.files.set(`${url}.sig`, Buffer.from(`signature of ${name}`));
      mirror.files.set(`${url}.cert`, Buffer.from('certificate'));
    }
    // Stands in for cosign: it takes the signature of kubeadm only, and only with the signer of Kubernetes.
    writeFileSync(
      join(bin, 'cosign'),
      `#!/bin/sh
[ "$1" = version ] && exit
case "$*" in *"--certificate-identity krel-staging@k8s-releng-prod.iam.gserviceaccount.com --certificate-oidc-issuer https://accounts.google.com"*) ;; *) exit 9 ;; esac
[ "$(cat "$4")" = "signature of kubeadm" ] || { echo "no matching signatures" >&2; exit 1; }
`,
    );
    chmodSync(join(bin, 'cosign'), 0o755);
    process.env.PATH = `${bin}:${path}`;
    await fails(ReleaseRefused, /kubelet: cosign refuses its signature: no matching signatures/);
    process.env.PATH = '/usr/bin:/bin';
    const { lines } = await fetched();
    assert.equal(lines[0], 'checksums are checked; signatures are not: cosign is not installed');
  });

  test('the newest patch release of a minor is asked for, an exact one is not', async () => {
    mirror = await startMirror(release, publication);
    const downloads = new Downloads({ cache: join(work, 'names'), mirror: mirror.url, pauseMs: 1 });
    for (const wanted of ['v1.37.x', 'v1.37', '1.37.x']) {
      assert.equal((await findRelease(downloads, wanted)).version, 'v1.37.0');
    }
    const before = mirror.requests.length;
    assert.equal((await findRelease(downloads, 'v1.36.2')).version, 'v1.36.2');
    assert.equal(mirror.requests.length, before);
    await assert.rejects(findRelease(downloads, 'latest'), /expected a release of Kubernetes, such as v1.37.x/);
    await assert.rejects(findRelease(downloads, 'v1.19.1'), ReleaseUnavailable);
    mirror.files.set('dl.k8s.io/release/stable-1.37.txt', Buffer.from('../../etc/passwd'));
    await assert.rejects(findRelease(downloads, 'v1.37.x'), ReleaseUnavailable);
  });
});
