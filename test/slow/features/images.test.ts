import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { ImageArchive, ImagesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { DOWNLOADS_DIRECTORY } from '../../../src/features/images/import.ts';
import { images } from '../../../src/features/images/index.ts';
import { gatherFacts, openHost } from '../../../src/host/index.ts';
import type { Facts } from '../../../src/host/seam/facts.ts';
import { EMPTY_RECORD } from '../../../src/step/index.ts';
import { MAIN } from '../../support/agent.ts';
import { containerdModel } from '../../support/containerd-model.ts';
import { debianContainerd, SUITES } from '../../support/debian-containerd.ts';
import { hostModel } from '../../support/host-model.ts';
import { dockerArchive, ociArchive, sha256 } from '../../support/image-archive.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { planned, runStep } from '../../support/run-step.ts';

const SOCKET = '/run/containerd/containerd.sock';
const MIB = 1024 * 1024;

const available = SUITES.map((suite) => ({ suite, found: debianContainerd(suite) }));
for (const { suite, found } of available) {
  if ('unavailable' in found) test(`images in containerd of ${suite}`, { skip: needs(found) }, () => {});
}

const failsWith = (reason: Reason, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof MachineadmError, String(error));
  assert.equal(error.reason, reason, error.message);
  assert.equal(error.exit, 'HostStepFailed');
  assert.match([error.message, ...error.evidence.map((one) => one.text)].join('\n'), text);
  assert.notEqual(error.remedy, '');
  return true;
};

/** A file of images at a path of this suite. */
function laid(path: string, bytes: Uint8Array): ImageArchive {
  mkdirSync('/opt/images', { recursive: true });
  writeFileSync(path, bytes);
  return { kind: 'file', path, sha256: sha256(bytes) };
}

inThrowAwayMachine(import.meta.filename, () => {
  for (const { suite, found } of available) {
    if ('unavailable' in found) continue;
    const root = `/run/containerd-${suite}`;
    const host = openHost({ runId: 'test' });
    let daemon: ChildProcess;
    let facts: Facts;
    const model = (part: Partial<ImagesModel>) => ({ ...hostModel(), images: { archives: [], required: [], ...part } });
    const run = (part: Partial<ImagesModel>) => runStep(images, host, model(part), { facts });
    const names = async () =>
      (await host.cri(SOCKET).images()).flatMap(({ tags, digests }) => [...tags, ...digests]).sort();

    describe(`images in containerd of ${suite}`, () => {
      before(async () => {
        for (const program of ['containerd', 'ctr', 'containerd-shim-runc-v2']) {
          rmSync(join('/usr/local/bin', program), { force: true });
          symlinkSync(join(found.root, 'usr/bin', program), join('/usr/local/bin', program));
        }
        mkdirSync(root);
        assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256m', 'none', root]).status, 0);
        writeFileSync('/run/containerd.toml', `version = 2\nroot = "${root}"\n`);
        const log = openSync('/run/containerd.log', 'a');
        daemon = spawn('/usr/local/bin/containerd', ['-c', '/run/containerd.toml'], {
          stdio: ['ignore', log, log],
          env: { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
        });
        for (const deadline = Date.now() + 120_000; ; await sleep(50)) {
          const answers = await host
            .cri(SOCKET)
            .images()
            .then(
              () => true,
              () => false,
            );
          if (answers) break;
          assert.ok(Date.now() < deadline, readFileSync('/run/containerd.log', 'utf8').slice(-3000));
        }
        facts = await gatherFacts(host);
      });
      after(async () => {
        daemon.kill('SIGKILL');
        await once(daemon, 'exit');
        spawnSync('umount', ['-l', root]);
        rmSync('/run/containerd', { recursive: true, force: true });
        rmSync('/opt/images', { recursive: true, force: true });
      });

      test('several archives are imported at the same time', async () => {
        const archives = [1, 2, 3, 4].map((number) =>
          laid(
            `/opt/images/${number}.tar.gz`,
            gzipSync(dockerArchive([`r.example/many:${number}`], `${number}`).bytes),
          ),
        );
        const required = [1, 2, 3, 4].map((number) => `r.example/many:${number}`);
        const wanted = images.desired(model({ archives, required }), facts);
        assert.ok(wanted);
        const changes = images.plan(wanted, await images.inspect(host, wanted, EMPTY_RECORD));
        const imports = changes.filter(({ payload }) => payload.kind === 'import');
        assert.equal(imports.length, 4);
        const execution = {
          signal: new AbortController().signal,
          waitingFor() {},
          output() {},
          warn: assert.fail,
          release() {},
          remember() {},
        };
        await Promise.all(imports.map((change) => images.apply(host, change, execution)));
        assert.deepEqual((await run({ archives, required })).changes, []);
      });

      test('an image that was imported by tag has its name by digest where that is required', async () => {
        const { bytes, digest } = ociArchive('r.example/tagged:1', { index: true, note: `${suite} digest` });
        const archives = [laid('/opt/images/tagged.tar.zst', zstdCompressSync(bytes))];
        const required = [`r.example/tagged@${digest}`, `r.example/tagged:1@${digest}`, 'r.example/tagged:1'];
        const first = await run({ archives, required });
        assert.deepEqual(first.warnings, []);
        assert.deepEqual(first.left, []);
        assert.ok((await names()).includes(`r.example/tagged@${digest}`), (await names()).join(' '));
        assert.deepEqual((await run({ archives, required })).changes, []);
      });

      test('a digest that nothing has, and another repository of a digest, are missing', async () => {
        const { digest } = ociArchive('r.example/tagged:1', { index: true, note: `${suite} digest` });
        const none = `r.example/tagged@sha256:${'0'.repeat(64)}`;
        const required = [none, `r.example/other@${digest}`];
        await assert.rejects(run({ required }), failsWith('ImageMissing', new RegExp(`${none}, r\\.example/other@`)));
      });

      test('an OCI layout of podman or skopeo has its images under their references', async () => {
        const annotation = 'org.opencontainers.image.ref.name' as const;
        const { bytes } = ociArchive('r.example/podman:1', { annotation, note: `${suite} podman` });
        const archives = [laid('/opt/images/podman.tar', bytes)];
        assert.deepEqual((await run({ archives, required: ['r.example/podman:1'] })).left, []);
        const unnamed = [laid('/opt/images/unnamed.tar', ociArchive('7', { annotation, note: suite }).bytes)];
        assert.deepEqual((await run({ archives: unnamed })).left, []);
        assert.deepEqual((await run({ archives: unnamed })).changes, []);
      });

      test('images are unpacked for the snapshotter that the document gives containerd', async () => {
        const archives = [
          laid('/opt/images/native.tar', dockerArchive(['r.example/native:1'], `${suite} native`, MIB).bytes),
        ];
        const wanted = { ...model({ archives }), containerd: containerdModel({ snapshotter: 'native' }) };
        assert.deepEqual((await runStep(images, host, wanted, { facts })).left, []);
        const list = ['-n', 'k8s.io', 'snapshots', '--snapshotter', 'native', 'ls'];
        const { stdout } = spawnSync('ctr', list, { encoding: 'utf8' });
        assert.match(stdout, /^sha256:[0-9a-f]{64} .*Committed/m);
      });

      test('a tag that moved is moved back', async () => {
        const [old, moved] = ['old', 'new'].map((note) =>
          laid(`/opt/images/${note}.tar`, dockerArchive(['r.example/moves:1'], `${suite} ${note}`).bytes),
        );
        assert.ok(old !== undefined && moved !== undefined);
        assert.deepEqual((await run({ archives: [old] })).left, []);
        assert.deepEqual((await run({ archives: [moved] })).left, []);
        const again = await run({ archives: [old] });
        assert.deepEqual(
          again.changes.map(({ id }) => id),
          ['images/opt/images/old.tar'],
        );
        assert.deepEqual(again.left, []);
      });

      test('an archive from a URL is downloaded, imported and deleted, and not downloaded again', async () => {
        const bytes = gzipSync(ociArchive('r.example/url:1', { note: `${suite} url` }).bytes);
        const asked: string[] = [];
        const server = createServer((request, response) => {
          asked.push(`${request.url} ${request.headers.authorization}`);
          if (request.url?.startsWith('/url.tar.gz') !== true) response.writeHead(404);
          response.end(bytes);
        }).listen(0, '127.0.0.1');
        await once(server, 'listening');
        const address = server.address();
        assert.ok(address !== null && typeof address === 'object');
        const at = (path: string, digest: string): ImageArchive => ({
          kind: 'http',
          url: `http://127.0.0.1:${address.port}${path}`,
          sha256: digest,
          headers: {},
        });
        try {
          const wanted = model({ archives: [at('/url.tar.gz', sha256(bytes))], required: ['r.example/url:1'] });
          const first = await runStep(images, host, wanted, { facts });
          assert.deepEqual(first.left, []);
          assert.deepEqual(asked, ['/url.tar.gz undefined']);
          assert.deepEqual(readdirSync(DOWNLOADS_DIRECTORY), []);
          const record = { ...EMPTY_RECORD, notes: first.notes };
          assert.deepEqual(await planned(images, host, wanted, { facts, record }), []);

          const before = await names();
          const wrong = model({ archives: [at('/url.tar.gz?token=s3cret', 'f'.repeat(64))] });
          await assert.rejects(runStep(images, host, wrong, { facts }), (error: unknown) => {
            assert.doesNotMatch(String(error), /s3cret/);
            return failsWith('DownloadFailed', new RegExp(`SHA-256 ${sha256(bytes)}, not f{64}`))(error);
          });
          const gone = model({ archives: [at('/none.tar', 'f'.repeat(64))] });
          await assert.rejects(runStep(images, host, gone, { facts }), failsWith('DownloadFailed', /HTTP 404/));
          assert.deepEqual(await names(), before);
          assert.deepEqual(readdirSync(DOWNLOADS_DIRECTORY), []);
        } finally {
          server.close();
          server.closeAllConnections();
        }
      });

      describe('a bad archive is reported with its reason, and nothing of it is kept', () => {
        const { bytes } = ociArchive('r.example/bad:1', { note: `${suite} bad` });
        const cases: readonly (readonly [string, Uint8Array, Reason, RegExp])[] = [
          ['cut off in its manifests', bytes.subarray(0, 700), 'ImageArchiveUnreadable', /cut short/],
          ['cut off between two files', bytes.subarray(0, 4 * 512), 'ImageArchiveUnreadable', /it is truncated/],
          ['cut off in gzip', gzipSync(bytes).subarray(0, 300), 'ImageArchiveUnreadable', /unexpected end of file/],
          ['cut off in zstd', zstdCompressSync(bytes).subarray(0, 300), 'ImageArchiveUnreadable', /./],
          ['no archive', readFileSync(import.meta.filename), 'ImageArchiveUnreadable', /not a tar archive/],
          [
            'for another architecture',
            ociArchive('r.example/bad:1', { architecture: 's390x' }).bytes,
            'ImagePlatformMismatch',
            /is for linux\/s390x, and this machine is linux\/(amd64|arm64)/,
          ],
        ];
        for (const [what, content, reason, text] of cases) {
          test(what, async () => {
            const before = await names();
            const archives = [laid('/opt/images/bad.tar', content)];
            await assert.rejects(run({ archives }), failsWith(reason, text));
            assert.deepEqual(await names(), before);
          });
        }

        test('of another digest', async () => {
          const before = await names();
          const archive: ImageArchive = {
            ...laid('/opt/images/bad.tar', bytes),
            sha256: 'f'.repeat(64),
          } as ImageArchive;
          await assert.rejects(
            run({ archives: [archive] }),
            failsWith('ImageArchiveUnreadable', /SHA-256 is .* says f/),
          );
          assert.deepEqual(await names(), before);
        });
      });

      test('a full disk is DiskFull; with room, the same document succeeds', async () => {
        const archives = [laid('/opt/images/large.tar', dockerArchive(['r.example/large:1'], suite, 24 * MIB).bytes)];
        const free = Number(
          spawnSync('df', ['-B1', '--output=avail', root], { encoding: 'utf8' }).stdout.split('\n')[1],
        );
        const filler = join(root, 'filler');
        assert.equal(spawnSync('fallocate', ['-l', String(free - 8 * MIB), filler]).status, 0);
        await assert.rejects(run({ archives }), failsWith('DiskFull', /\/opt\/images\/large\.tar/));
        rmSync(filler);
        assert.deepEqual((await run({ archives })).left, []);
      });

      test('an import that is killed with -9 is completed by the next run, and the one after has nothing to do', async () => {
        const layer = randomBytes(1 * MIB);
        const { bytes } = dockerArchive(['r.example/killed:1'], suite, 48 * MIB, layer);
        laid('/opt/images/killed.tar.gz', gzipSync(bytes, { level: 1 }));
        writeFileSync(
          '/opt/document.yaml',
          `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: node-1}
images:
  archives: [{path: /opt/images/killed.tar.gz}]
  required: ["r.example/killed:1"]
`,
        );
        const provision = ['provision', '-d', '/opt/document.yaml', '-o', 'json'];
        const ingest = join(root, 'io.containerd.content.v1.content/ingest');
        // On a busy machine the import may end before the signal comes: then it is made again.
        for (let attempt = 1; ; attempt += 1) {
          rmSync('/var/lib/machineadm', { recursive: true, force: true });
          const killed = spawn(process.execPath, [MAIN, ...provision], { stdio: 'ignore' });
          const exited = once(killed, 'exit');
          while (killed.exitCode === null && !(existsSync(ingest) && readdirSync(ingest).length > 0)) await sleep(2);
          killed.kill('SIGKILL');
          await exited;
          if (killed.signalCode === 'SIGKILL' && !(await names()).includes('r.example/killed:1')) break;
          assert.ok(attempt < 5, 'it was killed before the end');
          spawnSync('ctr', ['-n', 'k8s.io', 'images', 'rm', '--sync', 'r.example/killed:1']);
        }

        const again = spawnSync(process.execPath, [MAIN, ...provision], { encoding: 'utf8' });
        assert.equal(again.status, 0, again.stdout + again.stderr);
        assert.ok((await names()).includes('r.example/killed:1'));
        const check = spawnSync('ctr', ['-n', 'k8s.io', 'images', 'check', 'name==r.example/killed:1'], {
          encoding: 'utf8',
        });
        assert.match(check.stdout, /r\.example\/killed:1 .* complete \(\d+\/\d+\) .* true/);

        const plan = spawnSync(process.execPath, [MAIN, 'plan', '-d', '/opt/document.yaml', '--exit-code'], {
          encoding: 'utf8',
        });
        assert.equal(plan.status, 0, plan.stdout);
      });
    });
  }
});
