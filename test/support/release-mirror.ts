import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { OfficialRelease } from '../../scripts/lab/releases/official.ts';
import { sha256 } from './image-archive.ts';

/** What a server does wrong with a file, the next `times` times. */
export interface MirrorFault {
  readonly kind: 'status' | 'cut' | 'silent';
  readonly status?: number;
  readonly times: number;
}

export interface ReleaseMirror extends AsyncDisposable {
  readonly url: string;
  /** Paths asked for, in order. */
  readonly requests: string[];
  /** What it serves, by `HOST/PATH`. */
  readonly files: Map<string, Buffer>;
  readonly faults: Map<string, MirrorFault>;
}

/** An image as a registry has it: a configuration and its layers, not compressed. */
export interface ImageParts {
  readonly config: Buffer;
  readonly layers: readonly Buffer[];
}

/** What is published beside Kubernetes, as files of the host. */
export interface Publication {
  /** kubeadm, kubelet, kubectl. */
  readonly programs: Readonly<Record<string, Buffer>>;
  readonly containerd: Readonly<Record<string, Buffer>>;
  readonly runc: Buffer;
  readonly plugins: Readonly<Record<string, Buffer>>;
  readonly crictl: Buffer;
  /** By the names of `OfficialRelease.images`. */
  readonly images: Readonly<Record<string, ImageParts>>;
}

const OCI = 'application/vnd.oci.image';

/** A mirror of the servers that publish Kubernetes and what belongs to it, under their official layout, on 127.0.0.1; without a publication it has nothing. */
export async function startMirror(release: OfficialRelease, publication?: Publication): Promise<ReleaseMirror> {
  const files = new Map<string, Buffer>();
  const types = new Map<string, string>();
  const faults = new Map<string, MirrorFault>();
  const requests: string[] = [];
  if (publication !== undefined) publish(files, types, release, publication);

  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '').slice(1));
    requests.push(path);
    const content = files.get(path);
    const fault = faults.get(path);
    if (fault !== undefined && fault.times > 0) {
      faults.set(path, { ...fault, times: fault.times - 1 });
      if (fault.kind === 'silent') return;
      if (fault.kind === 'status') return void response.writeHead(fault.status ?? 503).end();
      response.writeHead(200, { 'content-length': content?.length ?? 10 });
      response.write(content?.subarray(0, Math.floor(content.length / 2)) ?? '');
      return void setImmediate(() => request.socket.destroy());
    }
    if (content === undefined) return void response.writeHead(404).end();
    const type = types.get(path);
    response.writeHead(200, {
      'content-length': content.length,
      ...(type === undefined ? {} : { 'content-type': type }),
    });
    response.end(content);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port }: AddressInfo = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    files,
    faults,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function publish(
  files: Map<string, Buffer>,
  types: Map<string, string>,
  { version, minor, images }: OfficialRelease,
  publication: Publication,
): void {
  const put = (path: string, content: Buffer, checksum: string, text = sha256(content)): void => {
    files.set(path, content);
    files.set(checksum, Buffer.from(`${text}\n`));
  };
  files.set(`dl.k8s.io/release/stable-1.${minor}.txt`, Buffer.from(version));
  for (const [name, content] of Object.entries(publication.programs)) {
    const path = `dl.k8s.io/release/${version}/bin/linux/amd64/${name}`;
    put(path, content, `${path}.sha256`);
  }
  // Versions as scripts/lab/releases/official.ts has them; a file that is not asked for fails the test that builds.
  const containerd = minor <= 22 ? '1.7.34' : '2.2.7';
  const name = `containerd-${containerd}-linux-amd64.tar.gz`;
  const containerdArchive = tarGz(prefixed('bin/', publication.containerd));
  const containerdPath = `github.com/containerd/containerd/releases/download/v${containerd}/${name}`;
  put(containerdPath, containerdArchive, `${containerdPath}.sha256sum`, `${sha256(containerdArchive)}  ${name}`);
  const runc = 'github.com/opencontainers/runc/releases/download/v1.3.3';
  const others = `${'0'.repeat(64)}  runc.arm64\n`;
  put(
    `${runc}/runc.amd64`,
    publication.runc,
    `${runc}/runc.sha256sum`,
    `${others}${sha256(publication.runc)}  runc.amd64`,
  );
  const plugins = 'github.com/containernetworking/plugins/releases/download/v1.8.0/cni-plugins-linux-amd64-v1.8.0.tgz';
  const pluginsArchive = tarGz(publication.plugins);
  put(plugins, pluginsArchive, `${plugins}.sha256`, `${sha256(pluginsArchive)}  cni-plugins-linux-amd64-v1.8.0.tgz`);
  const crictl = `github.com/kubernetes-sigs/cri-tools/releases/download/v1.${minor}.0/crictl-v1.${minor}.0-linux-amd64.tar.gz`;
  put(crictl, tarGz({ crictl: publication.crictl }), `${crictl}.sha256`);

  for (const [key, parts] of Object.entries(publication.images)) {
    const [repository = '', tag = ''] = (images[key] ?? '').split(':');
    const api = `registry.k8s.io/v2/${repository}`;
    const descriptor = (content: Buffer, mediaType: string, kind: 'blobs' | 'manifests') => {
      const digest = `sha256:${sha256(content)}`;
      files.set(`${api}/${kind}/${digest}`, content);
      types.set(`${api}/${kind}/${digest}`, mediaType);
      return { mediaType, digest, size: content.length };
    };
    const config = descriptor(parts.config, `${OCI}.config.v1+json`, 'blobs');
    const layers = parts.layers.map((layer) => descriptor(layer, `${OCI}.layer.v1.tar`, 'blobs'));
    const manifest = json({ schemaVersion: 2, mediaType: `${OCI}.manifest.v1+json`, config, layers });
    const amd64 = descriptor(manifest, `${OCI}.manifest.v1+json`, 'manifests');
    const platform = (architecture: string) => ({ os: 'linux', architecture });
    const manifests = [
      { ...amd64, digest: `sha256:${'1'.repeat(64)}`, platform: platform('arm64') },
      { ...amd64, platform: platform('amd64') },
    ];
    files.set(`${api}/manifests/${tag}`, json({ schemaVersion: 2, mediaType: `${OCI}.index.v1+json`, manifests }));
    types.set(`${api}/manifests/${tag}`, `${OCI}.index.v1+json`);
  }
}

/** The parts of an archive of `docker save`. */
export function partsOfDockerArchive(archive: string): ImageParts {
  const member = (name: string): Buffer => {
    const { status, stdout } = spawnSync('tar', ['-xOf', archive, name], { maxBuffer: 1 << 30 });
    if (status !== 0) throw new Error(`${archive} has no ${name}`);
    return stdout;
  };
  const [first]: { Config: string; Layers: string[] }[] = JSON.parse(member('manifest.json').toString('utf8'));
  if (first === undefined) throw new Error(`${archive} holds no image`);
  return { config: member(first.Config), layers: first.Layers.map(member) };
}

function prefixed(prefix: string, entries: Readonly<Record<string, Buffer>>): Record<string, Buffer> {
  return Object.fromEntries(Object.entries(entries).map(([name, content]) => [`${prefix}${name}`, content]));
}

function tarGz(entries: Readonly<Record<string, Buffer>>): Buffer {
  const work = mkdtempSync(join(tmpdir(), 'machineadm-mirror-'));
  try {
    for (const [path, content] of Object.entries(entries)) {
      mkdirSync(dirname(join(work, path)), { recursive: true });
      writeFileSync(join(work, path), content, { mode: 0o755 });
    }
    const { status, stdout } = spawnSync('tar', ['-czf', '-', '-C', work, '.'], { maxBuffer: 1 << 30 });
    if (status !== 0) throw new Error('tar failed');
    return stdout;
  } finally {
    rmSync(work, { recursive: true });
  }
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
