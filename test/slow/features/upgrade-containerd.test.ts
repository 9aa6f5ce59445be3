import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { LAB_DIRECTORY } from '../../../scripts/lab/artefacts.ts';
import { containerdStep } from '../../../src/features/containerd/index.ts';
import { endOfFailedUpgrade } from '../../../src/features/upgrade/back.ts';
import { upgradeContainerd } from '../../../src/features/upgrade/containerd.ts';
import { upgradeContainerdState } from '../../../src/features/upgrade/containerd-state.ts';
import { CriError, call, type Method, withSession } from '../../../src/host/cri/call.ts';
import { messageField, stringField, varintField } from '../../../src/host/cri/protobuf.ts';
import { gatherFacts, openHost } from '../../../src/host/index.ts';
import type { Host } from '../../../src/host/seam/host.ts';
import { forgetContainerd } from '../../../src/kubernetes/upgrade/containerd-kept.ts';
import { EMPTY_RECORD, type StepRecord } from '../../../src/step/index.ts';
import type { Upgrade } from '../../../src/step/upgrade-order.ts';
import { startHealthz } from '../../support/api-server.ts';
import { ContainerdDaemon } from '../../support/containerd-daemon.ts';
import { containerdModel } from '../../support/containerd-model.ts';
import { debianContainerd } from '../../support/debian-containerd.ts';
import { facts as exampleFacts } from '../../support/facts.ts';
import { hostModel } from '../../support/host-model.ts';
import { kubernetesModel } from '../../support/kubernetes-model.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { runStep } from '../../support/run-step.ts';
import { upgradeCluster } from '../../support/upgrade-cluster.ts';

const SOCKET = '/run/containerd/containerd.sock';
const CONFIG = '/etc/containerd/config.toml';
const ORIGINAL = 'version = 2\nroot = "/run/containerd-data"\n';
const PROGRAMS = ['containerd', 'containerd-shim-runc-v2', 'ctr'];
const BIN = '/usr/local/bin';
const PAUSE = 'k8s.gcr.io/pause:3.2';
const CONTROLLERS = ['cpu', 'cpuacct', 'memory', 'pids', 'devices', 'freezer', 'blkio', 'cpuset'];
const VERSIONS = { from: '1.7.24', to: '2.1.9' };
const UPGRADE: Upgrade = {
  ...{ from: 'v1.35.2', to: 'v1.35.2', subjects: ['containerd'], containerd: VERSIONS },
  drain: { by: 'machineadm' },
};
const RECORD: StepRecord = { ...EMPTY_RECORD, bootstrap: 'done', upgrade: UPGRADE };
const WATCH = { signal: new AbortController().signal, waitingFor: () => undefined, warn: () => undefined };

const [OLD, NEW] = [debianContainerd('trixie'), debianContainerd('sid')];
/** One that runs with the libraries of this machine. */
const RUNC = globSync(join(LAB_DIRECTORY, 'image-*/root/usr/sbin/runc')).find(
  (path) => spawnSync(path, ['--version']).status === 0,
);
const [ARCHIVE] = globSync(join(LAB_DIRECTORY, 'images-*/pause.tar'));
const lacks = needs(
  'root',
  'the Kubernetes of the lab (npm run lab -- build)',
  ...[OLD, NEW].filter((one) => 'unavailable' in one),
  // Its file system is mounted later, in the throw-away machine.
  ...(/^memory\t[1-9]/m.test(readFileSync('/proc/cgroups', 'utf8')) ? [] : [{ unavailable: 'cgroup v1' }]),
);

if (lacks !== false) test('containerd of a node', { skip: lacks }, () => {});

// The node is a stand-in, containerd, its shims, runc and the pods are real. test/e2e/upgrade-containerd.test.ts has a real node.
if (lacks === false) {
  inThrowAwayMachine(import.meta.filename, () => {
    const daemon = new ContainerdDaemon();
    const host = daemon.on(openHost({ runId: 'test' }));
    const step = containerdStep({ healthyWithin: 15_000, healthyAgainWithin: 15_000 });
    let cluster: Awaited<ReturnType<typeof upgradeCluster>>;
    let healthz: Awaited<ReturnType<typeof startHealthz>>;

    const kubernetes = kubernetesModel({ role: 'Worker', version: 'v1.35.2' });
    const model: Model = {
      ...hostModel(),
      containerd: containerdModel({
        version: '2.1.9',
        cgroupDriver: 'cgroupfs',
        sandboxImage: PAUSE,
        restrictOomScoreAdj: true,
      }),
      kubernetes: {
        ...kubernetes,
        node: { ...kubernetes.node, name: 'node-1' },
        ready: { ...kubernetes.ready, timeoutMs: 5_000 },
      },
    };
    const sh = (script: string): string => {
      const { status, stdout, stderr } = spawnSync('sh', ['-ec', script], { encoding: 'utf8' });
      assert.equal(status, 0, `${script}: ${stdout}${stderr}`);
      return stdout;
    };
    /** Each by rename, as machineadm writes files. */
    const install = (found: typeof OLD): void => {
      assert.ok('root' in found);
      for (const name of PROGRAMS) {
        copyFileSync(join(found.root, 'usr/bin', name), `${BIN}/${name}.new`);
        renameSync(`${BIN}/${name}.new`, `${BIN}/${name}`);
      }
    };
    const ask = async (name: string, request: Uint8Array): Promise<string> =>
      await withSession(SOCKET, (session) => {
        const method: Method = { service: 'RuntimeService', name };
        return call(session, SOCKET, method, request, 30_000, (answer) => answer.string(1));
      });
    /** A pod in the network of the machine, with a container that pauses, as the kubelet makes them. */
    const startPod = async (name: string): Promise<void> => {
      const metadata = Buffer.concat([stringField(1, name), stringField(2, `uid-${name}`), stringField(3, 'default')]);
      const linux = messageField(2, messageField(1, varintField(1, 2)));
      const config = Buffer.concat([messageField(1, metadata), messageField(8, linux)]);
      const pod = await ask('RunPodSandbox', messageField(1, config));
      const container = Buffer.concat([
        messageField(1, stringField(1, 'main')),
        messageField(2, stringField(1, PAUSE)),
      ]);
      const asked = Buffer.concat([stringField(1, pod), messageField(2, container), messageField(3, config)]);
      await ask('StartContainer', stringField(1, await ask('CreateContainer', asked)));
    };
    const workloads = async () => {
      const { pods, containers } = await host.cri(SOCKET).workloads();
      return [pods, containers].map((list) => list.toSorted((a, b) => a.name.localeCompare(b.name)));
    };
    const running = async () => (await host.cri(SOCKET).workloads()).containers.length;
    /** With the identity that the stand-in of the Node has. */
    const facts = async () => {
      const { containerd, architecture, serviceManager } = await gatherFacts(host);
      return { ...exampleFacts(), containerd, architecture, serviceManager };
    };
    const version = async () => (await host.cri(SOCKET).version()).runtimeVersion;
    const keep = async () =>
      await runStep(upgradeContainerdState, host, model, { facts: await facts(), record: RECORD });
    const configure = async () => await runStep(step, host, model, { facts: await facts(), record: RECORD });
    const prove = async (machine: Host = host) =>
      await runStep(upgradeContainerd, machine, model, { facts: await facts(), record: RECORD });
    const wayBack = async () =>
      await endOfFailedUpgrade(
        host,
        { model, facts: await facts(), upgrade: UPGRADE, isOurs: () => true, record: () => RECORD },
        WATCH,
      );

    before(async () => {
      assert.ok(RUNC !== undefined && ARCHIVE !== undefined);
      sh(`mount -t tmpfs none /sys/fs/cgroup; cd /sys/fs/cgroup; mkdir ${CONTROLLERS.join(' ')}
for one in ${CONTROLLERS.join(' ')}; do mount -t cgroup -o $one none $one; done`);
      daemon.install('/none');
      for (const name of PROGRAMS) rmSync(`${BIN}/${name}`);
      copyFileSync(RUNC, `${BIN}/runc`);
      install(OLD);
      writeFileSync(CONFIG, ORIGINAL);
      cluster = await upgradeCluster();
      healthz = await startHealthz();
      mkdirSync('/etc/kubernetes', { recursive: true });
      mkdirSync('/var/lib/kubelet', { recursive: true });
      for (const [path, content] of Object.entries(cluster.files)) writeFileSync(path, content);
      writeFileSync('/var/lib/kubelet/config.yaml', `healthzPort: ${healthz.port}\n`);
      const old: Model = { ...model, containerd: containerdModel({ ...model.containerd, version: undefined }) };
      await runStep(step, host, old, { facts: await facts() });
      sh(`ctr -n k8s.io images import ${ARCHIVE}`);
      for (const name of ['one', 'two']) await startPod(name);
    });
    after(async () => {
      await host.removePods(`unix://${SOCKET}`, WATCH.signal).catch(() => 0);
      await daemon.stop();
      await cluster?.[Symbol.asyncDispose]();
      await healthz?.[Symbol.asyncDispose]();
    });

    describe('containerd 1.7.24 of a node becomes 2.1.9', () => {
      test('one that does not start makes room for the previous one; the pods run on', async () => {
        const [pods, config] = [await workloads(), readFileSync(CONFIG, 'utf8')];
        assert.equal(await running(), 2);
        await keep();
        install(NEW);
        const real = `${BIN}/containerd-real`;
        renameSync(`${BIN}/containerd`, real);
        writeFileSync(
          `${BIN}/containerd`,
          `#!/bin/sh\ncase "$*" in *--version*|*config*) exec ${real} "$@";; esac\nexit 3\n`,
          { mode: 0o755 },
        );
        await assert.rejects(configure(), { reason: 'ContainerdUnhealthy' });
        assert.deepEqual(await wayBack(), {
          isBack: true,
          settled: ['restart:containerd'],
          sentences: ['containerd 1.7.24 runs with its previous configuration, and no container was lost.'],
        });
        assert.match(await version(), /^1\.7\.24/);
        assert.deepEqual([await workloads(), readFileSync(CONFIG, 'utf8')], [pods, config]);
        await forgetContainerd(host);
        rmSync(real);
      });

      test('one that works, and starts no pod, makes room, too: the previous one reads what it wrote', async () => {
        const pods = await workloads();
        await keep();
        install(NEW);
        await configure();
        assert.match(await version(), /^2\.1\.9/);
        const broken: Host = {
          ...host,
          probePod: () => Promise.reject(new CriError(SOCKET, 'RunPodSandbox', 2, 'no')),
        };
        await assert.rejects(prove(broken), { reason: 'UpgradeNotProven', message: /a new pod: .*RunPodSandbox: no/ });
        const end = await wayBack();
        assert.deepEqual(end, {
          isBack: true,
          settled: ['restart:containerd'],
          sentences: ['containerd 1.7.24 runs with its previous configuration, and no container was lost.'],
        });
        assert.match(await version(), /^1\.7\.24/);
        assert.deepEqual(await workloads(), pods);
        await host.probePod(`unix://${SOCKET}`, '', WATCH.signal);
        await forgetContainerd(host);
      });

      test('the pods run on under the new one, new pods start, and a second run has nothing to do', async () => {
        const pods = await workloads();
        await keep();
        install(NEW);
        const run = await configure();
        assert.deepEqual(run.left, []);
        const proof = await prove();
        assert.deepEqual(proof.left, []);
        assert.match(await version(), /^2\.1\.9/);
        assert.match(readFileSync(CONFIG, 'utf8'), /^version = 3$/m);
        assert.deepEqual(await workloads(), pods, 'the same containers with the same starts');
        await startPod('three');
        assert.equal(await running(), 3);
        assert.deepEqual((await configure()).changes, []);
      });
    });
  });
}
