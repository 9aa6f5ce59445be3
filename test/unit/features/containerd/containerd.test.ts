import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContainerdModel, KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { parse, stringify } from 'smol-toml';
import { containerdStep } from '../../../../src/features/containerd/index.ts';
import type { CriConfiguration } from '../../../../src/host/cri/queries.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { containerdModel } from '../../../support/containerd-model.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { type MemoryHost, type MemoryService, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const PATH = '/etc/containerd/config.toml';
const DEBIAN = 'version = 2\n\n[plugins."io.containerd.grpc.v1.cri".cni]\nbin_dir = "/usr/lib/cni"\n';
const step = containerdStep({ healthyWithin: 300, healthyAgainWithin: 300 });

function model(containerd: Partial<ContainerdModel> = {}, kubernetes?: KubernetesModel): Model {
  return { ...hostModel(), containerd: containerdModel(containerd), kubernetes };
}

interface Wish {
  readonly service?: MemoryService;
  readonly files?: Record<string, string>;
  /** False: does not become ready with this configuration. */
  readonly livesWith?: (configuration: string | undefined) => boolean;
  readonly running?: Partial<CriConfiguration>;
  readonly pause?: string;
}

/** A machine with a containerd whose dump repeats what it was given, and which lives or not with what it read. */
function machine(wish: Wish = {}): MemoryHost {
  const livesWith = wish.livesWith ?? (() => true);
  const running = { cgroupDriver: undefined, sandboxImage: undefined, restrictOomScoreAdj: undefined, ...wish.running };
  const host: MemoryHost = memoryHost({
    files: wish.files ?? { [PATH]: DEBIAN },
    services: {
      containerd: {
        active: true,
        enabled: true,
        logs: ['level=info msg=serving', 'level=error msg="failed to load plugin" error="no `mirrors` please"'],
        ...wish.service,
      },
    },
    cri: {
      status: async () => [
        { type: 'RuntimeReady', status: livesWith(host.text(PATH)), reason: 'NotYet', message: 'not ready' },
      ],
      configuration: async () => running,
      cgroupDriver: async () => undefined,
    },
    programs: {
      containerd: ({ input }) => ({ stdout: typeof input === 'string' ? stringify(parse(input)) : '' }),
      runc: () => ({}),
      'containerd-shim-runc-v2': () => ({}),
      ...(wish.pause === undefined ? {} : { kubeadm: () => ({ stdout: `r/kube-proxy:v1\n${wish.pause}\n` }) }),
    },
  });
  return host;
}

const found = (version: string) => ({ facts: facts({ containerd: parseVersion(version) }) });
const ON_1_6 = found('1.6.20');
const ids = (changes: readonly { readonly id: string }[]) => changes.map(({ id }) => id);

const failsWith =
  (reason: Reason, ...texts: readonly RegExp[]) =>
  (error: unknown) => {
    assert.ok(error instanceof MachineadmError, String(error));
    assert.equal(error.reason, reason);
    const told = [error.message, error.remedy, ...error.evidence.map(({ text }) => text)].join('\n');
    for (const text of texts) assert.match(told, text);
    return true;
  };

describe('containerd', () => {
  test('a document without containerRuntime leaves it alone', () => {
    assert.equal(step.desired(hostModel(), facts()), undefined);
  });

  test('not installed, too old, or without a service: found before any change', async () => {
    const missing = async (text: string, host: MemoryHost) => {
      const desired = step.desired(model(), facts({ containerd: parseVersion(text) }));
      assert.ok(desired);
      return (await step.preflight?.(host, desired))?.map(({ reason }) => reason);
    };
    assert.deepEqual(await missing('', machine()), ['ContainerRuntimeMissing']);
    assert.deepEqual(await missing('1.5.18', machine()), ['ContainerRuntimeUnsupported']);
    const without = memoryHost({ programs: { runc: () => ({}), 'containerd-shim-runc-v2': () => ({}) } });
    assert.deepEqual(await missing('1.6.20', without), ['ContainerRuntimeMissing']);
    assert.deepEqual(await missing('1.6.0', machine()), []);
  });

  test('writes the configuration, keeps the one before once, restarts once, and is content afterwards', async () => {
    const host = machine();
    const run = await runStep(step, host, model({ sandboxImage: 'r/pause:3.10' }), ON_1_6);
    assert.deepEqual(ids(run.changes), ['containerd/config']);
    assert.deepEqual(run.changes[0]?.owes, ['restart:containerd']);
    assert.deepEqual(host.log, [
      `write ${PATH}.machineadm-orig 0644 0:0`,
      `sync ${PATH}.machineadm-orig`,
      `write ${PATH}.machineadm-previous 0644 0:0`,
      `sync ${PATH}.machineadm-previous`,
      `write ${PATH} 0644 0:0`,
      `sync ${PATH}`,
      'service restart containerd',
      `remove ${PATH}.machineadm-previous`,
      'sync /etc',
    ]);
    assert.equal(host.text(`${PATH}.machineadm-orig`), DEBIAN);
    assert.match(host.text(PATH) ?? '', /sandbox_image = "r\/pause:3\.10"/);
    assert.match(host.text(PATH) ?? '', /bin_dir = "\/usr\/lib\/cni"/);
    assert.deepEqual(run.left, []);
  });

  test('a second change keeps the first backup and what it says of CNI', async () => {
    const host = machine();
    await runStep(step, host, model(), ON_1_6);
    const run = await runStep(step, host, model({ cgroupDriver: 'cgroupfs' }), ON_1_6);
    assert.deepEqual(ids(run.changes), ['containerd/config']);
    assert.equal(host.text(`${PATH}.machineadm-orig`), DEBIAN);
    assert.match(host.text(PATH) ?? '', /SystemdCgroup = false/);
    assert.match(host.text(PATH) ?? '', /\/usr\/lib\/cni/);
  });

  test('planning changes nothing and shows how the file changes', async () => {
    const host = machine();
    const [change] = await planned(step, host, model({ sandboxImage: 'r/pause:3.10' }), ON_1_6);
    assert.match(change?.diff ?? '', /^\+sandbox_image = "r\/pause:3\.10"$/m);
    assert.deepEqual(host.log, []);
  });

  test('a file with credentials is for root alone, and shows how it changes without them', async () => {
    const auth = { auth: { username: 'u', password: 'p' } };
    const settings = { plugins: { 'io.containerd.grpc.v1.cri': { registry: { configs: { r: auth } } } } };
    const host = machine();
    const run = await runStep(step, host, model({ settings }), ON_1_6);
    const diff = run.changes[0]?.diff ?? '';
    assert.match(diff, /^\+username = "\[redacted\]"\n\+password = "\[redacted\]"$/m);
    assert.match(diff, /config_path/);
    assert.equal((await host.stat(PATH))?.mode, 0o600);
  });

  test('no configuration before: there is nothing to keep', async () => {
    const host = machine({ files: {} });
    await runStep(step, host, model(), ON_1_6);
    assert.equal(host.text(`${PATH}.machineadm-orig`), undefined);
    assert.notEqual(host.text(PATH), undefined);
  });

  test('stopped and not enabled: a change each, and no restart of what was not started', async () => {
    const host = machine();
    await runStep(step, host, model(), ON_1_6);
    host.setService('containerd', { active: false, enabled: false });
    host.log.length = 0;
    const run = await runStep(step, host, model(), ON_1_6);
    assert.deepEqual(ids(run.changes), ['containerd/start', 'containerd/enable']);
    assert.deepEqual(host.log, ['service start containerd', 'service enable containerd', 'sync /etc']);
    assert.deepEqual(run.left, []);
  });

  test('a daemon that runs with other values than its file says is restarted', async () => {
    const host = machine({ running: { cgroupDriver: 'cgroupfs' } });
    const run = await runStep(step, host, model({ cgroupDriver: 'cgroupfs' }), ON_1_6);
    assert.deepEqual(run.left, []);
    const stale = machine({
      files: { [PATH]: host.text(PATH) ?? '', [`${PATH}.machineadm-orig`]: DEBIAN },
      running: { cgroupDriver: 'systemd' },
    });
    const changes = await planned(step, stale, model({ cgroupDriver: 'cgroupfs' }), ON_1_6);
    assert.deepEqual(ids(changes), ['containerd/restart']);
    assert.match(changes[0]?.summary ?? '', /cgroupDriver systemd, its configuration says cgroupfs/);
    assert.equal(changes[0]?.ineffective, 'ContainerdConfigNotEffective');
  });

  test('killed between write and restart: the owed restart is all there is to do', async () => {
    const host = machine();
    await runStep(step, host, model(), ON_1_6);
    host.log.length = 0;
    const record = { ...EMPTY_RECORD, owed: new Set(['restart:containerd'] as const) };
    const run = await runStep(step, host, model(), { ...ON_1_6, record });
    assert.deepEqual(run.changes, []);
    assert.deepEqual(host.log, ['service restart containerd', 'sync /etc']);
  });

  test('a daemon that does not live with the new configuration gets its old one back', async () => {
    const host = machine({ livesWith: (configuration) => configuration === DEBIAN });
    await assert.rejects(
      runStep(step, host, model(), ON_1_6),
      failsWith(
        'ContainerdUnhealthy',
        /RuntimeReady is false/,
        /was restored, and containerd runs with it/,
        /failed to load plugin/,
      ),
    );
    assert.equal(host.text(PATH), DEBIAN);
    assert.equal(host.text(`${PATH}.machineadm-previous`), undefined);
    assert.equal(host.log.filter((line) => line === 'service restart containerd').length, 2);
  });

  test('where there was none before, none is there after a failure', async () => {
    const host = machine({ files: {}, livesWith: (configuration) => configuration === undefined });
    await assert.rejects(runStep(step, host, model(), ON_1_6), failsWith('ContainerdUnhealthy', /runs with it/));
    assert.equal(host.text(PATH), undefined);
  });

  test('a restart that fails at once puts the old one back, too, and says when that does not help', async () => {
    const host = machine({ service: { fails: 'containerd.service: exited 1' } });
    await assert.rejects(
      runStep(step, host, model(), ON_1_6),
      failsWith('ContainerdUnhealthy', /exited 1/, /does not work with it either: perhaps the document is not/),
    );
    assert.equal(host.text(PATH), DEBIAN);
  });

  test('an interrupted run does not take its configuration back: the next run continues with it', async () => {
    const stop = new AbortController();
    const host = machine({
      livesWith: (configuration) => {
        if (configuration !== DEBIAN) stop.abort(new Error('the run is interrupted'));
        return false;
      },
    });
    await assert.rejects(runStep(step, host, model(), { ...ON_1_6, signal: stop.signal }));
    assert.notEqual(host.text(PATH), DEBIAN);
    assert.equal(host.text(`${PATH}.machineadm-previous`), DEBIAN);
  });

  test('no change of ours: an unhealthy daemon is restarted once and then reported', async () => {
    const healthy = machine();
    await runStep(step, healthy, model(), ON_1_6);
    const files = { [PATH]: healthy.text(PATH) ?? '', [`${PATH}.machineadm-orig`]: DEBIAN };
    const ill = machine({ files, livesWith: () => false });
    await assert.rejects(
      runStep(step, ill, model(), ON_1_6),
      failsWith(
        'ContainerdUnhealthy',
        /not ready within 0 s: RuntimeReady is false: NotYet not ready/,
        /failed to load plugin/,
      ),
    );
    assert.deepEqual(ill.log, ['service restart containerd']);
  });

  test('without a sandbox image in the document it is the one that kubeadm wants', async () => {
    const kubernetes = kubernetesModel({ version: 'v1.20.2', cluster: { imageRepository: 'r' } });
    const host = machine({ pause: 'r/pause:3.2' });
    await runStep(step, host, model({}, kubernetes), ON_1_6);
    assert.match(host.text(PATH) ?? '', /sandbox_image = "r\/pause:3\.2"/);
    assert.ok(host.queries.includes('kubeadm config images list --kubernetes-version=v1.20.2 --image-repository=r'));
  });

  test('drop-ins are warned about on 1.x, where they replace whole sections', async () => {
    const dropIn = '/etc/containerd/conf.d/99-nvidia.toml';
    const host = machine({ files: { [PATH]: `imports = ["${dropIn}"]\n` } });
    const run = await runStep(step, host, model(), ON_1_6);
    assert.match(run.warnings.join('\n'), /99-nvidia\.toml/);
    assert.deepEqual(
      (await runStep(step, machine({ files: { [PATH]: `imports = ["${dropIn}"]\n` } }), model(), found('2.1.9')))
        .warnings,
      [],
    );
  });
});
