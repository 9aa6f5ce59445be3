import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { imageArchive, librariesOf } from '../../../scripts/image.ts';
import { needs } from '../../support/needs.ts';

const FILES = {
  'usr/local/bin/machineadm': { content: Buffer.from('a program'), mode: 0o755 },
  'usr/share/doc/x/copyright': { content: Buffer.from('terms'), mode: 0o644 },
};

const ORIGIN = { version: '0.1.0', commit: 'c0ffee', createdAt: new Date('2026-01-02T03:04:05Z') };

/** The entries of a ustar archive by name, with the type and the mode of each. */
function untar(archive: Buffer): Map<string, { content: Buffer; type: string; mode: number }> {
  const entries = new Map<string, { content: Buffer; type: string; mode: number }>();
  for (let at = 0; archive[at] !== 0 && at < archive.length; ) {
    const text = (from: number, length: number): string =>
      archive.toString('latin1', at + from, at + from + length).replace(/\0.*$/s, '');
    const size = Number.parseInt(text(124, 12), 8);
    const header = Buffer.from(archive.subarray(at, at + 512)).fill(' ', 148, 156);
    assert.equal(
      Number.parseInt(text(148, 8), 8),
      header.reduce((sum, byte) => sum + byte, 0),
    );
    const content = archive.subarray(at + 512, at + 512 + size);
    entries.set(text(0, 100), { content, type: text(156, 1), mode: Number.parseInt(text(100, 8), 8) });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return entries;
}

describe('the archive of a container image', () => {
  const archive = imageArchive('machineadm:0.1.0', [{ architecture: 'amd64', files: FILES }], ORIGIN);
  const entries = untar(archive);
  const read = (path: string): Buffer => entries.get(path)?.content ?? assert.fail(`no ${path}`);
  const json = (path: string) => JSON.parse(read(path).toString());
  const blob = ({ digest }: { digest: string }): string => `blobs/sha256/${digest.replace('sha256:', '')}`;

  test('is an OCI layout whose parts are what their digests say', () => {
    assert.deepEqual(json('oci-layout'), { imageLayoutVersion: '1.0.0' });
    for (const [path, { content }] of entries) {
      const [, hex] = /^blobs\/sha256\/(.*)$/.exec(path) ?? [];
      if (hex !== undefined) assert.equal(createHash('sha256').update(content).digest('hex'), hex);
    }
    const [described] = json('index.json').manifests;
    const manifest = json(blob(described));
    assert.equal(described.size, read(blob(described)).length);
    const config = json(blob(manifest.config));
    assert.deepEqual([config.os, config.architecture], ['linux', 'amd64']);
    assert.deepEqual(config.config.Entrypoint, ['/usr/local/bin/machineadm']);
    const layer = gunzipSync(read(blob(manifest.layers[0])));
    assert.deepEqual(config.rootfs.diff_ids, [`sha256:${createHash('sha256').update(layer).digest('hex')}`]);
  });

  test('holds the files with their modes, and the directories that they lie in', () => {
    const manifest = json(blob(json('index.json').manifests[0]));
    const layer = untar(gunzipSync(read(blob(manifest.layers[0]))));
    assert.deepEqual(
      [...layer].map(([path, { type, mode }]) => `${path} ${type} ${mode.toString(8)}`),
      [
        'usr 5 755',
        'usr/local 5 755',
        'usr/local/bin 5 755',
        'usr/share 5 755',
        'usr/share/doc 5 755',
        'usr/share/doc/x 5 755',
        'usr/local/bin/machineadm 0 755',
        'usr/share/doc/x/copyright 0 644',
      ],
    );
  });

  test('has the name that a pod gives it, to containerd and to docker', () => {
    const nameOf = (name: string): string => {
      const made = untar(imageArchive(name, [{ architecture: 'amd64', files: FILES }], ORIGIN));
      return JSON.parse(`${made.get('index.json')?.content}`).manifests[0].annotations['io.containerd.image.name'];
    };
    assert.equal(nameOf('machineadm:0.1.0'), 'docker.io/library/machineadm:0.1.0');
    assert.equal(nameOf('team/machineadm:1'), 'docker.io/team/machineadm:1');
    assert.equal(nameOf('registry.example.com:5000/machineadm:1'), 'registry.example.com:5000/machineadm:1');
    assert.deepEqual(json('manifest.json')[0].RepoTags, ['machineadm:0.1.0']);
  });

  test('says what it is: its version, its commit, its licence', () => {
    const manifest = json(blob(json('index.json').manifests[0]));
    const config = json(blob(manifest.config));
    assert.equal(config.created, '2026-01-02T03:04:05Z');
    for (const labels of [config.config.Labels, manifest.annotations]) {
      assert.deepEqual(
        ['version', 'revision', 'licenses', 'created'].map((name) => labels[`org.opencontainers.image.${name}`]),
        ['0.1.0', 'c0ffee', 'Apache-2.0', '2026-01-02T03:04:05Z'],
      );
    }
  });

  test('for two architectures has one name and one index, in which each machine finds its own', () => {
    const images = ['amd64', 'arm64'].map((architecture) => ({
      architecture,
      files: { 'usr/local/bin/machineadm': { content: Buffer.from(architecture), mode: 0o755 } },
    }));
    const made = untar(imageArchive('machineadm:0.1.0', images, ORIGIN));
    const of = (path: string): Buffer => made.get(path)?.content ?? assert.fail(`no ${path}`);
    const parsed = (path: string) => JSON.parse(of(path).toString());
    const { manifests } = parsed('index.json');
    assert.equal(manifests.length, 1);
    assert.equal(manifests[0].annotations['io.containerd.image.name'], 'docker.io/library/machineadm:0.1.0');
    const index = parsed(blob(manifests[0]));
    assert.equal(index.mediaType, 'application/vnd.oci.image.index.v1+json');
    for (const [at, { platform, digest, size }] of index.manifests.entries()) {
      const architecture = images[at]?.architecture ?? '';
      assert.deepEqual(platform, { architecture, os: 'linux' });
      assert.equal(of(blob({ digest })).length, size);
      const manifest = parsed(blob({ digest }));
      assert.equal(parsed(blob(manifest.config)).architecture, architecture);
      const layer = untar(gunzipSync(of(blob(manifest.layers[0]))));
      assert.equal(`${layer.get('usr/local/bin/machineadm')?.content}`, architecture);
    }
  });

  test('is the same again', () => {
    assert.deepEqual(imageArchive('machineadm:0.1.0', [{ architecture: 'amd64', files: FILES }], ORIGIN), archive);
  });
});

test('the libraries of a program are those that it loads', { skip: needs('Linux') }, () => {
  const libraries = librariesOf(process.execPath);
  assert.ok(libraries.some((path) => /\/libc\.so\.6$/.test(path)));
  assert.ok(
    libraries.some((path) => /\/ld-linux/.test(path)),
    'the loader as well',
  );
});
