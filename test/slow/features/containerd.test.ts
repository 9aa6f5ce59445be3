import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { ContainerdModel, ImagesModel, TomlTable } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { containerdStep } from '../../../src/features/containerd/index.ts';
import { images } from '../../../src/features/images/index.ts';
import { gatherFacts, openHost } from '../../../src/host/index.ts';
import type { Facts } from '../../../src/host/seam/facts.ts';
import { EMPTY_RECORD } from '../../../src/step/index.ts';
import { ContainerdDaemon } from '../../support/containerd-daemon.ts';
import { containerdModel } from '../../support/containerd-model.ts';
import { debianContainerd, SUITES, type Suite } from '../../support/debian-containerd.ts';
import { loaded } from '../../support/document.ts';
import { hostModel } from '../../support/host-model.ts';
import { dockerArchive, ociArchive, sha256 } from '../../support/image-archive.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { planned, runStep } from '../../support/run-step.ts';

const PATH = '/etc/containerd/config.toml';

/** As Debian's own file, but with the data on a file system that overlayfs can lie on. */
const originalOf = (suite: Suite) => `version = 2
root = "/run/containerd-${suite}"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
`;

/** The CRI settings of a containerd: in which plug-in registry and runtime are. */
function plugins(suite: Suite, half: 'images' | 'runtime', content: TomlTable): TomlTable {
  const id = suite === 'sid' ? `io.containerd.cri.v1.${half}` : 'io.containerd.grpc.v1.cri';
  return { plugins: { [id]: content } };
}

const failsWith = (reason: Reason, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof MachineadmError, String(error));
  assert.equal(error.reason, reason, error.message);
  assert.match([error.message, error.remedy, ...error.evidence.map((one) => one.text)].join('\n'), text);
  return true;
};

const available = SUITES.map((suite) => ({ suite, found: debianContainerd(suite) }));
for (const { suite, found } of available) {
  if ('unavailable' in found) test(`containerd of ${suite}`, { skip: needs(found) }, () => {});
}

inThrowAwayMachine(import.meta.filename, () => {
  for (const { suite, found } of available) {
    if ('unavailable' in found) continue;
    const daemon = new ContainerdDaemon();
    const host = daemon.on(openHost({ runId: 'test' }));
    const step = containerdStep({ healthyWithin: 15_000, healthyAgainWithin: 15_000 });
    let facts: Facts;

    const model = (containerd: Partial<ContainerdModel> = {}, part: Partial<ImagesModel> = {}) => ({
      ...hostModel(),
      containerd: containerdModel({
        cgroupDriver: 'cgroupfs',
        sandboxImage: 'r.example/pause:3.10',
        restrictOomScoreAdj: true,
        ...containerd,
      }),
      images: { archives: [], required: [], ...part },
    });
    const settled = () => runStep(step, host, model(), { facts });

    describe(`containerd of ${suite}`, () => {
      before(async () => {
        daemon.install(found.root);
        writeFileSync(PATH, originalOf(suite));
        facts = await gatherFacts(host);
      });
      after(() => daemon.stop());

      test('is found, configured, started, and needs no change afterwards; a second run leaves it running', async () => {
        assert.equal(facts.containerd?.major, suite === 'sid' ? 2 : 1);
        const run = await settled();
        assert.deepEqual(
          run.changes.map(({ id }) => id),
          ['containerd/config', 'containerd/enable'],
        );
        assert.deepEqual(run.left, []);
        const { pid } = daemon.state;
        assert.ok(pid);

        const again = await settled();
        assert.deepEqual([...again.changes, ...again.left], []);
        assert.equal(daemon.state.pid, pid);
        assert.match(readFileSync(PATH, 'utf8'), new RegExp(`^root = "/run/containerd-${suite}"$`, 'm'));
        assert.equal(readFileSync(`${PATH}.machineadm-orig`, 'utf8'), originalOf(suite));
      });

      test('reports its running configuration over CRI', async () => {
        const cri = host.cri('unix:///run/containerd/containerd.sock');
        assert.equal((await cri.version()).runtimeName, 'containerd');
        assert.equal((await cri.status()).find(({ type }) => type === 'RuntimeReady')?.status, true);
        assert.equal(await cri.cgroupDriver(), suite === 'sid' ? 'cgroupfs' : undefined);
        assert.deepEqual(await cri.configuration(), {
          cgroupDriver: 'cgroupfs',
          restrictOomScoreAdj: true,
          sandboxImage: suite === 'sid' ? undefined : 'r.example/pause:3.10',
        });
        assert.deepEqual(await cri.exitedContainers(), []);
      });

      test('a file that was changed while the daemon runs is detected by the configuration that the daemon reports', async () => {
        const { text } = (await inspected(model({ cgroupDriver: 'systemd' }))).wanted;
        writeFileSync(PATH, text);
        const changes = await planned(step, host, model({ cgroupDriver: 'systemd' }), { facts });
        assert.deepEqual(
          changes.map(({ id }) => id),
          ['containerd/restart'],
        );
        const run = await runStep(step, host, model({ cgroupDriver: 'systemd' }), { facts });
        assert.deepEqual(run.left, []);
        assert.deepEqual((await settled()).left, []);
      });

      const inspected = async (wanted: ReturnType<typeof model>) => {
        const desired = step.desired(wanted, facts);
        assert.ok(desired);
        return step.inspect(host, desired, EMPTY_RECORD);
      };

      test('mistakes in settings are found before anything is written', async () => {
        const before = readFileSync(PATH, 'utf8');
        const wrong = (half: 'images' | 'runtime', content: TomlTable) =>
          planned(step, host, model({ settings: plugins(suite, half, content) }), { facts });
        await assert.rejects(
          wrong('images', { max_concurrent_downloads: '3' }),
          failsWith('ContainerdConfigSyntax', /Can't convert|cannot decode/),
        );
        await assert.rejects(
          wrong('images', { registry: { confg_path: '/x' } }),
          failsWith('ContainerdConfigUnknownKey', /registry\.confg_path/),
        );
        await assert.rejects(
          planned(step, host, model({ settings: { bogus_top: 'x' } }), { facts }),
          failsWith('ContainerdConfigUnknownKey', /bogus_top/),
        );
        await assert.rejects(
          wrong('runtime', { containerd: { default_runtime_name: 'absent' } }),
          failsWith('ContainerdRuntimeUndefined', /absent is not among .*runc/),
        );
        assert.equal(readFileSync(PATH, 'utf8'), before);
      });

      test('a conflict that only the daemon detects: the previous configuration is restored, and runs', async () => {
        const before = readFileSync(PATH, 'utf8');
        const quick = containerdStep({ healthyWithin: 3_000, healthyAgainWithin: 15_000 });
        await assert.rejects(
          runStep(quick, host, model({ snapshotter: 'absent' }), { facts }),
          failsWith('ContainerdUnhealthy', /was restored, and containerd runs with it/),
        );
        assert.equal(readFileSync(PATH, 'utf8'), before);
        const after = await settled();
        assert.deepEqual([...after.changes, ...after.left], []);
      });

      test('a drop-in that removes a setting is an error on 1.x and harmless on 2.x', async () => {
        const id = suite === 'sid' ? 'io.containerd.cri.v1.images' : 'io.containerd.grpc.v1.cri';
        mkdirSync('/etc/containerd/conf.d', { recursive: true });
        const version = suite === 'sid' ? 3 : 2;
        writeFileSync(
          '/etc/containerd/conf.d/50-mine.toml',
          `version = ${version}\n[plugins."${id}"]\nmax_concurrent_downloads = 4\n`,
        );
        const settings = { imports: ['/etc/containerd/conf.d/*.toml'] };
        const plan = planned(step, host, model({ settings }), { facts });
        if (suite === 'sid') assert.equal((await plan).length, 1);
        else await assert.rejects(plan, failsWith('ContainerdConfigNotEffective', /50-mine\.toml/));
        rmSync('/etc/containerd/conf.d', { recursive: true });
      });

      test('every field of the document is accepted, in effect, and reported by the running daemon', async () => {
        const document = `
containerRuntime:
  containerd:
    cgroupDriver: cgroupfs
    root: /run/containerd-${suite}
    sandboxImage: r.example/pause:3.10
    snapshotter: native
    discardUnpackedLayers: true
    maxContainerLogLineSize: Unlimited
    restrictOomScoreAdj: true
    cni: {binaryDirectories: [/opt/cni/bin${suite === 'sid' ? ', /usr/lib/cni' : ''}], configurationDirectory: /etc/cni/net.d}
    defaultRuntime: crun
    runtimes:
      crun: {root: /run/crun, podAnnotations: [run.oci.*], containerAnnotations: [mine/*]}
      nvidia: {privilegedWithoutHostDevices: true}
      kata-qemu: {path: /opt/kata/bin/containerd-shim-kata-qemu-v2, options: {ConfigPath: /opt/kata/qemu.toml}}
      gvisor: {}
      special: {baseSpec: /etc/containerd/base.json, options: {NoPivotRoot: true}${suite === 'bookworm' ? '' : ', snapshotter: native'}}
    registries: [{host: docker.io, mirrors: [{url: "http://127.0.0.1:9"${suite === 'sid' ? ', dialTimeout: 2s' : ''}}]}]
    ${suite === 'bookworm' ? '' : 'cdi: {enabled: true, specDirectories: [/etc/cdi, /run/mine/cdi]}'}
    settings: {oom_score: -1, grpc: {max_recv_message_size: 33554432}}
`;
        // With `ctr oci spec` everything is in it that runc wants; here it is only read.
        writeFileSync('/etc/containerd/base.json', JSON.stringify({ ociVersion: '1.0.2' }));
        const { model: wanted } = await loaded(document);
        const run = await runStep(step, host, wanted, { facts });
        assert.deepEqual(run.left, []);
        const again = await runStep(step, host, wanted, { facts });
        assert.deepEqual([...again.changes, ...again.left], []);
        const status = await host.query({ program: 'ctr', args: ['-n', 'k8s.io', 'images', 'ls'] });
        assert.equal(status.status, 0);
        // What CRI would run pods with; of a cgroup driver 1.x tells in its configuration only.
        const cri = host.cri('/run/containerd/containerd.sock');
        assert.equal((await cri.configuration()).cgroupDriver, 'cgroupfs');
        assert.equal(await cri.cgroupDriver(), suite === 'sid' ? 'cgroupfs' : undefined);

        // An import needs to know the snapshotter, too.
        const { bytes } = dockerArchive(['r.example/native:1'], `${suite} native`);
        writeFileSync('/tmp/native.tar', bytes);
        const archives = [{ kind: 'file' as const, path: '/tmp/native.tar', sha256: sha256(bytes) }];
        const imported = await runStep(
          images,
          host,
          { ...wanted, images: { archives, required: ['r.example/native:1'] } },
          { facts },
        );
        assert.deepEqual(imported.left, []);
        assert.deepEqual((await settled()).left, []);
      });

      test('a field that this containerd is too old for, and a snapshotter it does not have', async () => {
        const missing = async (containerd: Partial<ContainerdModel>) => {
          const desired = step.desired(model({ runtimes: [], ...containerd }), facts);
          assert.ok(desired);
          return (await step.preflight?.(host, desired))?.map(({ reason }) => reason);
        };
        const cdi = { enabled: true, specDirectories: [] };
        assert.deepEqual(await missing({ cdi }), suite === 'bookworm' ? ['ContainerdTooOld'] : []);
        for (const snapshotter of ['overlayfs', 'native']) assert.deepEqual(await missing({ snapshotter }), []);
        assert.deepEqual(await missing({ snapshotter: 'stargz' }), ['ContainerdSnapshotterMissing']);
        const settings = { proxy_plugins: { stargz: { type: 'snapshot', address: '/run/stargz.sock' } } };
        assert.deepEqual(await missing({ snapshotter: 'stargz', settings }), []);
      });

      test('image archives of every kind are imported, verified, and left alone afterwards', async () => {
        const archives = [
          ['/tmp/docker.tar', dockerArchive(['r.example/docker:1', 'short'], `${suite} docker`).bytes],
          ['/tmp/docker.tar.gz', gzipSync(dockerArchive(['r.example/gzip:1'], `${suite} gzip`).bytes)],
          ['/tmp/oci.tar.zst', zstdCompressSync(ociArchive('r.example/oci:1', { note: `${suite} oci` }).bytes)],
          ['/tmp/index.tar', ociArchive('r.example/index:1', { index: true, note: `${suite} index` }).bytes],
        ] as const;
        for (const [path, bytes] of archives) writeFileSync(path, bytes);
        const wanted = model(
          {},
          {
            archives: archives.map(([path, bytes]) => ({ kind: 'file' as const, path, sha256: sha256(bytes) })),
            required: ['r.example/docker:1', 'short', 'r.example/gzip:1', 'r.example/oci:1', 'r.example/index:1'],
          },
        );
        const run = await runStep(images, host, wanted, { facts });
        assert.deepEqual(
          run.changes.map(({ id }) => id),
          [...archives.map(([path]) => `images${path}`), 'images/required'],
        );
        assert.deepEqual(run.left, []);

        const missing = model({}, { required: ['r.example/docker:1', 'r.example/none:1', 'docker.io/library/none'] });
        await assert.rejects(
          runStep(images, host, missing, { facts }),
          failsWith('ImageMissing', /not present: r\.example\/none:1, docker\.io\/library\/none/),
        );
      });

      test('an archive that is truncated in its layers fails as an archive, by name', async () => {
        const { bytes } = ociArchive('r.example/cut:1', { note: `${suite} cut` });
        writeFileSync('/tmp/cut.tar.gz', gzipSync(bytes).subarray(0, 400));
        await assert.rejects(
          runStep(
            images,
            host,
            model({}, { archives: [{ kind: 'file', path: '/tmp/cut.tar.gz', sha256: undefined }] }),
            { facts },
          ),
          failsWith('ImageArchiveUnreadable', /\/tmp\/cut\.tar\.gz/),
        );
      });
    });
  }
});
