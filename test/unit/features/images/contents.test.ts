import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { archiveImages } from '@machineadm/archives/images.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { openArchive, tarSource } from '../../../../src/container-runtime/image-archive-file.ts';
import { dockerArchive, ociArchive, sha256, tar } from '../../../support/image-archive.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const PATH = '/opt/images/a.tar';

async function imagesIn(bytes: Uint8Array) {
  const host = memoryHost({ files: { [PATH]: bytes } });
  await using file = await openArchive(host, PATH);
  assert.ok(file);
  return await archiveImages(tarSource(file, undefined), file.path, 'amd64');
}

const refuses = (bytes: Uint8Array, message: RegExp) =>
  assert.rejects(imagesIn(bytes), { name: 'RangeError', message });

describe('contents of an image archive', () => {
  test('docker save: every tag, with the digest of the configuration as id', async () => {
    const { bytes, id } = dockerArchive(['pause:3.10', 'r.example/pause:3.10']);
    assert.deepEqual(await imagesIn(bytes), [
      { name: 'docker.io/library/pause:3.10', id },
      { name: 'r.example/pause:3.10', id },
    ]);
  });

  test('OCI layout: the name containerd gives it, the id behind the manifest', async () => {
    const { bytes, id } = ociArchive('registry.k8s.io/pause:3.10');
    assert.deepEqual(await imagesIn(bytes), [{ name: 'registry.k8s.io/pause:3.10', id }]);
  });

  test('an image of several platforms: the id of this architecture', async () => {
    const { bytes, id } = ociArchive('registry.k8s.io/pause:3.10', { index: true });
    assert.deepEqual(await imagesIn(bytes), [{ name: 'registry.k8s.io/pause:3.10', id }]);
  });

  test('OCI layout of podman and skopeo: a full reference is the name, a tag alone is none', async () => {
    const annotation = 'org.opencontainers.image.ref.name' as const;
    for (const [given, name] of [
      ['registry.k8s.io/pause:3.10', 'registry.k8s.io/pause:3.10'],
      ['3.10', undefined],
    ] as const) {
      const { bytes, id } = ociArchive(given, { annotation });
      assert.deepEqual(await imagesIn(bytes), [{ name, id }]);
    }
  });

  test('an OCI image without a name is known by its id', async () => {
    const { bytes, id } = ociArchive(undefined);
    assert.deepEqual(await imagesIn(bytes), [{ name: undefined, id }]);
  });

  test('gzip and zstd, in several members and frames too, are undone', async () => {
    const { bytes } = dockerArchive(['pause:3.10']);
    const plain = await imagesIn(bytes);
    const [first, second] = [bytes.subarray(0, 1000), bytes.subarray(1000)];
    assert.deepEqual(await imagesIn(gzipSync(bytes)), plain);
    assert.deepEqual(await imagesIn(Buffer.concat([gzipSync(first), gzipSync(second)])), plain);
    assert.deepEqual(await imagesIn(zstdCompressSync(bytes)), plain);
    assert.deepEqual(await imagesIn(Buffer.concat([zstdCompressSync(first), zstdCompressSync(second)])), plain);
  });

  test('archives of tar(1) with long names and pax headers are read', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'machineadm-tar-'));
    try {
      const manifest = JSON.stringify([{ Config: 'x.json', RepoTags: ['pause:3.10'], Layers: [] }]);
      writeFileSync(join(directory, 'manifest.json'), manifest);
      writeFileSync(join(directory, `${'n'.repeat(180)}.json`), '{}');
      await Promise.all(
        ['gnu', 'pax', 'ustar', 'v7'].map(async (format) => {
          const names = format === 'gnu' || format === 'pax' ? ['.'] : ['manifest.json'];
          const made = spawnSync('tar', ['-C', directory, `--format=${format}`, '-cf', '-', ...names]);
          assert.equal(made.status, 0, String(made.stderr));
          assert.deepEqual(
            await imagesIn(made.stdout),
            [{ name: 'docker.io/library/pause:3.10', id: undefined }],
            format,
          );
        }),
      );
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test('what is no archive of images is refused with the cause', async () => {
    const { bytes } = dockerArchive(['pause:3.10']);
    await refuses(readFileSync(import.meta.filename), /not a tar archive/);
    await refuses(new Uint8Array(0), /contains no image with a name/);
    await refuses(tar([{ name: 'readme', content: 'hello' }]), /contains no image with a name/);
    await refuses(dockerArchive(null).bytes, /contains no image with a name/);
    await refuses(tar([{ name: 'manifest.json', content: 'nonsense' }]), /manifest\.json is not JSON/);
    await refuses(bytes.subarray(0, 600), /cut short/);
    await refuses(bytes.subarray(0, 2 * 512 + 100), /cut short/);
    await assert.rejects(imagesIn(gzipSync(bytes).subarray(0, 150)), /unexpected end of file/);
    await assert.rejects(imagesIn(zstdCompressSync(bytes).subarray(0, 60)), /./);
  });

  test('a compression that cannot be undone is named', async () => {
    const xz = Buffer.concat([Buffer.from('fd377a585a00', 'hex'), Buffer.alloc(100)]);
    await refuses(xz, /compressed with xz; gzip, zstd or a plain tar is needed/);
    await refuses(Buffer.from('BZh91AY&SY'), /compressed with bzip2/);
  });

  describe('an archive for other machines', () => {
    const isForeign = (bytes: Uint8Array, evidence: RegExp) =>
      assert.rejects(imagesIn(bytes), (error: unknown) => {
        assert.ok(error instanceof MachineadmError);
        assert.deepEqual([error.reason, error.exit], ['ImagePlatformMismatch', 'HostStepFailed']);
        assert.match(error.message, /is for linux\/s390x, and this machine is linux\/amd64/);
        assert.match(error.evidence.map(({ text }) => text).join(), evidence);
        return true;
      });

    test('is recognised by the configuration of its image', async () => {
      await isForeign(ociArchive('r.example/a:1', { architecture: 's390x' }).bytes, /holds r\.example\/a:1 for linux/);
      const { bytes } = ociArchive(undefined, { architecture: 's390x' });
      await isForeign(bytes, /holds sha256:[0-9a-f]{64}/);
    });

    test('is recognised by an index that has only the content of another', async () => {
      const manifests = [
        { digest: `sha256:${'1'.repeat(64)}`, platform: { os: 'linux', architecture: 's390x' } },
        { digest: `sha256:${'2'.repeat(64)}`, platform: { os: 'linux', architecture: 'amd64' } },
        { digest: `sha256:${'3'.repeat(64)}`, platform: { os: 'unknown', architecture: 'unknown' } },
      ];
      const index = JSON.stringify({ manifests });
      const digest = sha256(index);
      const annotations = { 'io.containerd.image.name': 'r.example/a:1' };
      const archive = tar([
        { name: 'oci-layout', content: '{}' },
        { name: 'index.json', content: JSON.stringify({ manifests: [{ digest: `sha256:${digest}`, annotations }] }) },
        { name: `blobs/sha256/${digest}`, content: index },
        { name: `blobs/sha256/${'1'.repeat(64)}`, content: '{}' },
        { name: `blobs/sha256/${'3'.repeat(64)}`, content: '{}' },
      ]);
      await isForeign(archive, /r\.example\/a:1/);
    });
  });

  test('an OCI layout that lacks what it names is not whole, wherever it was cut', async () => {
    const { bytes } = ociArchive('r.example/a:1');
    // Between two files a tar that ends looks like a whole one (Go's archive/tar takes it for one).
    let cuts = 0;
    for (let end = 512; end < bytes.length - 1024; end += 512) {
      const error = await imagesIn(bytes.subarray(0, end)).then(
        () => assert.fail(`cut at ${end} it is taken for whole`),
        (thrown: unknown) => thrown,
      );
      assert.ok(error instanceof RangeError);
      if (/it names blobs\/sha256\/[0-9a-f]{64} and does not contain it/.test(error.message)) cuts += 1;
    }
    assert.ok(cuts > 0);
  });

  test('the layers of a plain archive are not read', async () => {
    const { bytes } = dockerArchive(['pause:3.10']);
    const layer = Buffer.alloc(8 * 1024 * 1024);
    const large = Buffer.concat([tar([{ name: 'big/layer.tar', content: layer }]).subarray(0, -1024), bytes]);
    const host = memoryHost({ files: { [PATH]: large } });
    let read = 0;
    const counting = {
      ...host,
      async openFile(path: string) {
        const opened = await host.openFile(path);
        if (opened === undefined) return undefined;
        return {
          ...opened,
          async read(position: number, length: number) {
            const range = await opened.read(position, length);
            read += range.length;
            return range;
          },
        };
      },
    };
    await using file = await openArchive(counting, PATH);
    assert.ok(file);
    assert.equal((await archiveImages(tarSource(file, undefined), file.path, 'amd64')).length, 1);
    assert.ok(read < 16 * 1024, `${read} bytes were read`);
  });
});
