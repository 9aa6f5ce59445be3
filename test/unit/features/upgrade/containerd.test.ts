import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FileModel, Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { parse, stringify } from 'smol-toml';
import { containerdStep } from '../../../../src/features/containerd/index.ts';
import { endOfFailedUpgrade } from '../../../../src/features/upgrade/back.ts';
import { upgradeContainerd } from '../../../../src/features/upgrade/containerd.ts';
import { containerdAsked } from '../../../../src/features/upgrade/containerd-asked.ts';
import { upgradeContainerdState } from '../../../../src/features/upgrade/containerd-state.ts';
import { CriError } from '../../../../src/host/cri/call.ts';
import type { CriContainer, CriWorkloads } from '../../../../src/host/cri/queries.ts';
import { keepState } from '../../../../src/kubernetes/upgrade/kept-state.ts';
import { EMPTY_RECORD, type Step, type StepRecord } from '../../../../src/step/index.ts';
import type { Upgrade } from '../../../../src/step/upgrade-order.ts';
import { startHealthz } from '../../../support/api-server.ts';
import { containerdModel, runtimeModel } from '../../../support/containerd-model.ts';
import { facts } from '../../../support/facts.ts';
import { fileModel, hostModel } from '../../../support/host-model.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { type MemoryHost, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';
import { shortPauses } from '../../../support/short-pauses.ts';
import { upgradeCluster } from '../../../support/upgrade-cluster.ts';

const CONFIG = '/etc/containerd/config.toml';
const KEPT = '/var/lib/machineadm/upgrade/containerd.json';
const UNIT = '/usr/lib/systemd/system/containerd.service';
const SCRIPT = '/etc/init.d/containerd';
const OLD_CONFIG = 'version = 2\n\n[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "r/pause:1"\n';
const VERSIONS = { from: '1.7.24', to: '2.1.9' };
const UPGRADE: Upgrade = {
  ...{ from: 'v1.35.2', to: 'v1.35.2', subjects: ['containerd'], containerd: VERSIONS },
  drain: { by: 'machineadm' },
};
const RECORD: StepRecord = { ...EMPTY_RECORD, bootstrap: 'done', upgrade: UPGRADE };
const KEEP = 'upgrade-containerd-state/keep';
const PROVE = 'upgrade-containerd/prove';
const WATCH = { signal: new AbortController().signal, waitingFor: () => undefined, warn: () => undefined };
const step = containerdStep({ healthyWithin: 200, healthyAgainWithin: 200 });

const UNKNOWN_PROCESS = { pid: undefined, startedAtMs: undefined };

const WORKLOADS: CriWorkloads = {
  pods: [{ id: 'p1', name: 'kube-system/etcd-a' }],
  containers: [
    { id: 'c1', name: 'kube-system/etcd-a/etcd', startedAt: '100' },
    { id: 'c2', name: 'default/job/job', startedAt: '200' },
  ],
};

interface Wish {
  /** Versions of programs that do not start. */
  readonly broken?: readonly string[];
  /** What the new daemon lists. */
  readonly after?: Partial<CriWorkloads>;
  readonly exited?: readonly Partial<CriContainer>[];
  readonly startsNoPod?: string;
  /** A machine whose OpenRC has recorded no process. */
  readonly openrc?: true;
}

function fileAt(path: string): FileModel {
  return fileModel(path, 'x', { mode: 0o755 });
}

function model(different: Parameters<typeof containerdModel>[0] = {}, kubelet = 'v1.35.2'): Model {
  const kubernetes = kubernetesModel({ role: 'Worker', version: kubelet });
  const { node, ready } = kubernetes;
  return {
    ...hostModel(),
    containerd: containerdModel({ version: '2.1.9', sandboxImage: 'r/pause:1', ...different }),
    kubernetes: { ...kubernetes, node: { ...node, name: 'node-1' }, ready: { ...ready, timeoutMs: 2_000 } },
  };
}

/** A node whose daemon is the program that was there when it was last started: its content is what it prints as its version. */
async function containerdNode(wish: Wish = {}) {
  const cluster = await upgradeCluster();
  const healthz = await startHealthz();
  const versionOf = (text: string | undefined) => /\d+\.\d+\.\d+/.exec(text ?? '')?.[0] ?? '';
  const knowsProcess = wish.openrc !== true;
  let running = '1.7.24';
  let pid = 100;
  const memory: MemoryHost = memoryHost({
    files: {
      ...cluster.files,
      '/var/lib/kubelet/config.yaml': `healthzPort: ${healthz.port}\n`,
      [CONFIG]: OLD_CONFIG,
      [wish.openrc === true ? SCRIPT : UNIT]: 'old unit\n',
      '/usr/bin/containerd': { content: 'containerd 1.7.24', mode: 0o755 },
      '/usr/bin/containerd-shim-runc-v2': { content: 'shim 1.7.24', mode: 0o755 },
      '/usr/bin/ctr': { content: 'ctr 1.7.24', mode: 0o755 },
      '/usr/sbin/runc': { content: 'runc 1.1', mode: 0o755 },
    },
    ...(wish.openrc === true ? { serviceManager: 'openrc' } : {}),
    services: { containerd: { active: true, enabled: true }, kubelet: { active: true, enabled: true } },
    programs: {
      containerd: ({ args, input }, host) =>
        args.includes('--version')
          ? { stdout: `containerd github.com/containerd/containerd ${versionOf(host.text('/usr/bin/containerd'))}\n` }
          : { stdout: typeof input === 'string' ? stringify(parse(input)) : '' },
      runc: () => ({}),
      'containerd-shim-runc-v2': () => ({}),
      findmnt: () => ({ status: 1 }),
    },
    cri: {
      version: async () => {
        if (wish.broken?.includes(running)) throw new CriError('/run/c.sock', 'Version', 14, 'connect ECONNREFUSED');
        return { runtimeName: 'containerd', runtimeVersion: running };
      },
      workloads: async () => ({ ...WORKLOADS, ...(running === '1.7.24' ? {} : wish.after) }),
      exitedContainers: async () => (wish.exited ?? []) as readonly CriContainer[],
      cgroupDriver: async () => undefined,
      configuration: async () => ({ cgroupDriver: undefined, sandboxImage: undefined, restrictOomScoreAdj: undefined }),
    },
    probePod: () => {
      if (wish.startsNoPod !== undefined) throw new CriError('/run/c.sock', 'RunPodSandbox', 2, wish.startsNoPod);
    },
  });
  const host: MemoryHost = {
    ...memory,
    service: async (name) => ({
      ...(await memory.service(name)),
      ...(name !== 'containerd' ? {} : knowsProcess ? { pid, startedAtMs: 1_000_000 } : UNKNOWN_PROCESS),
    }),
    services: {
      ...memory.services,
      async restart(name) {
        await memory.services.restart(name);
        if (name !== 'containerd') return;
        running = versionOf(memory.text('/usr/bin/containerd'));
        pid += 1;
        // A unit of the type notify.
        if (wish.broken?.includes(running) === true)
          throw new MachineadmError({
            reason: 'ServiceFailed',
            summary: 'containerd.service: exited 3',
            remedy: '',
          });
      },
    },
  };
  return {
    host,
    running: () => running,
    /** What the step of files does. */
    bring(version = '2.1.9') {
      for (const name of ['containerd', 'containerd-shim-runc-v2', 'ctr'])
        host.put(`/usr/bin/${name}`, { content: `${name} ${version}`, mode: 0o755 });
    },
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      await healthz[Symbol.asyncDispose]();
    },
  };
}

const at = (version: string) => ({
  facts: facts({ containerd: parseVersion(version), kubelet: parseVersion('v1.35.2') }),
});

async function refusals(host: MemoryHost, asked: Model, upgrade: Upgrade = UPGRADE, kubelet = 'v1.35.2') {
  const now = facts({ containerd: parseVersion('1.7.24'), kubelet: parseVersion(kubelet) });
  const found = [];
  for (const one of [upgradeContainerdState, step, upgradeContainerd] as unknown as readonly Step[]) {
    const desired = one.desired(asked, now);
    assert.ok(desired !== undefined);
    found.push(...((await one.preflight?.(host, desired, { ...RECORD, upgrade })) ?? []));
  }
  return found
    .filter(({ severity }) => severity !== 'skipped')
    .map(
      ({ reason, what, severity = 'failed', broughtBy }) =>
        `${severity} ${reason}: ${what}${broughtBy === undefined ? '' : ` (${broughtBy})`}`,
    );
}

/** Keeps the old one, brings the new one, and configures and restarts it. */
async function replaced(node: Awaited<ReturnType<typeof containerdNode>>, asked = model()) {
  await runStep(upgradeContainerdState, node.host, asked, { ...at('1.7.24'), record: RECORD });
  node.bring();
  await runStep(step, node.host, asked, { ...at('2.1.9'), record: RECORD });
}

async function wayBack(node: Awaited<ReturnType<typeof containerdNode>>, isOurs = (_path: string): boolean => true) {
  const failed = { model: model(), ...at('2.1.9'), upgrade: UPGRADE, isOurs, record: () => RECORD };
  return await endOfFailedUpgrade(node.host, failed, WATCH);
}

describe('an upgrade of containerd', () => {
  shortPauses();
  test('is shown with its versions and the migration of its configuration, and nothing is changed', async () => {
    await using node = await containerdNode();
    const options = { ...at('1.7.24'), record: RECORD };
    const [keep] = await planned(upgradeContainerdState, node.host, model(), options);
    assert.equal(keep?.id, KEEP);
    const [change] = await planned(upgradeContainerd, node.host, model(), options);
    assert.equal(
      change?.summary,
      'containerd 1.7.24 -> 2.1.9: configuration migrated from version 2 to 3, restart; containers keep running, with the shims of 1.7.24',
    );
    assert.deepEqual(node.host.log, []);
  });

  test('is nothing for another command, or for a subject of another upgrade', async () => {
    await using node = await containerdNode();
    for (const record of [EMPTY_RECORD, { ...RECORD, upgrade: { ...UPGRADE, subjects: ['kubelet'] as const } }]) {
      assert.deepEqual(await planned(upgradeContainerdState, node.host, model(), { ...at('1.7.24'), record }), []);
      assert.deepEqual(await planned(upgradeContainerd, node.host, model(), { ...at('1.7.24'), record }), []);
    }
  });

  test('keeps the old one, migrates the configuration, restarts once, and proves it', async () => {
    await using node = await containerdNode();
    await replaced(node);
    assert.equal(node.running(), '2.1.9');
    assert.match(node.host.text(CONFIG) ?? '', /^version = 3$/m);
    assert.equal(node.host.text('/var/lib/machineadm/upgrade/runc.usr.sbin'), 'runc 1.1');
    const { left } = await runStep(upgradeContainerd, node.host, model(), { ...at('2.1.9'), record: RECORD });
    assert.deepEqual(left, []);
    assert.equal(node.host.log.filter((line) => line === 'service restart containerd').length, 1);
    assert.ok(node.host.log.includes('probe pod system.slice'));
  });

  test('of a patch release restarts the daemon with the same configuration', async () => {
    await using node = await containerdNode();
    const asked = model({ version: undefined });
    const settled = await runStep(step, node.host, asked, { ...at('1.7.24') });
    assert.deepEqual(settled.left, []);
    node.bring('1.7.25');
    const run = await runStep(step, node.host, asked, at('1.7.25'));
    assert.deepEqual(
      run.changes.map(({ summary }) => summary),
      ['restart containerd: it runs as 1.7.24, and 1.7.25 is installed'],
    );
    assert.equal(node.running(), '1.7.25');
  });

  test('of the same version restarts the daemon whose program was replaced', async () => {
    await using node = await containerdNode();
    const asked = model({ version: undefined });
    await runStep(step, node.host, asked, at('1.7.24'));
    const pid = (await node.host.service('containerd')).pid ?? 0;
    await node.host.writeLink(`/proc/${pid}/exe`, '/usr/bin/containerd (deleted)');
    const { changes, left } = await runStep(step, node.host, asked, at('1.7.24'));
    assert.deepEqual(
      changes.map(({ summary }) => summary),
      ['restart containerd: its program was replaced after it had started'],
    );
    assert.deepEqual(left, []);
  });

  test('is not begun, and nothing restarts, where the service runs another program than that of the search path', async () => {
    await using node = await containerdNode();
    const asked = model({ version: undefined });
    await runStep(step, node.host, asked, at('1.7.24'));
    node.bring('1.7.25');
    const state = await node.host.service('containerd');
    const unit = {
      ...{ loadState: 'loaded', activeState: 'active', subState: 'running', result: 'success', restarts: 0 },
      ...{ environment: '', environmentFiles: [], memoryMax: undefined, ended: undefined },
      command: ['/opt/containerd/bin/containerd'],
    };
    const host = { ...node.host, service: async () => ({ ...state, unit }) };
    assert.equal(await containerdAsked(host, asked), undefined);
    const { changes } = await runStep(step, host, asked, at('1.7.25'));
    assert.deepEqual(changes, []);
  });
});

describe('an upgrade of containerd is refused before any change', () => {
  shortPauses();
  test('where the kubelet or containerd does not support it', async () => {
    await using node = await containerdNode();
    const to = (version: string, from = '1.7.24'): Upgrade => ({ ...UPGRADE, containerd: { from, to: version } });
    assert.match(
      (await refusals(node.host, model({ version: '1.7.1' }), to('1.7.1'))).join(),
      /UpgradeVersionSkew: containerd 1\.7\.24 runs, and a downgrade/,
    );
    const old = { ...to('2.1.9'), from: 'v1.22.1', to: 'v1.22.1' };
    assert.match(
      (await refusals(node.host, model({}, 'v1.22.1'), old, 'v1.22.1')).join(),
      /failed ContainerRuntimeUnsupported: the kubelet v1\.22\.1 speaks CRI v1alpha2/,
    );
    assert.match(
      (await refusals(node.host, model())).join('\n'),
      /^warning UpgradeVersionSkew: .* 1\.7\.24 -> 2\.1\.9 skips some$/m,
    );
    assert.doesNotMatch((await refusals(node.host, model({ version: '2.0.7' }), to('2.0.7'))).join('\n'), /skips some/);
  });

  test('where nothing brings that version', async () => {
    await using node = await containerdNode();
    const missing = 'failed ContainerRuntimeMissing: containerd 2.1.9 is not installed: 1.7.24 is';
    assert.ok((await refusals(node.host, model())).includes(missing));
    const files = [fileAt('/usr/bin/containerd')];
    const brought = { ...model(), host: { ...model().host, files } };
    assert.ok((await refusals(node.host, brought)).includes(`${missing} (files)`));
  });

  test('where the service runs a program that the document does not replace', async () => {
    await using node = await containerdNode();
    const host = {
      ...node.host,
      readLink: async (path: string) => (path === '/proc/100/exe' ? '/usr/bin/containerd (deleted)' : undefined),
    };
    const withFile = (path: string) => ({ ...model(), host: { ...model().host, files: [fileAt(path)] } });
    assert.match(
      (await refusals(host, withFile('/usr/local/bin/containerd'))).join('\n'),
      /UpgradeProgramMissing: the service containerd runs \/usr\/bin\/containerd/,
    );
    assert.doesNotMatch((await refusals(host, withFile('/usr/bin/containerd'))).join('\n'), /UpgradeProgramMissing/);
  });

  for (const [what, different, config, expected] of [
    [
      'a runtime of 1.x',
      {},
      '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.old]\nruntime_type = "io.containerd.runtime.v1.linux"\n',
      /ContainerdRuntimeMissing: containerd 2\.1\.9 no longer has the shim io\.containerd\.runtime\.v1\.linux of the runtime old/,
    ],
    [
      'aufs',
      {},
      '[plugins."io.containerd.grpc.v1.cri".containerd]\nsnapshotter = "aufs"\n',
      /ContainerdSnapshotterMissing: containerd 2\.1\.9 no longer has the snapshotter aufs/,
    ],
    [
      'settings of the old plug-in',
      { settings: { plugins: { 'io.containerd.grpc.v1.cri': { max_concurrent_downloads: 3 } } } },
      '',
      /ContainerdConfigUnknownKey: containerd 2\.1\.9 does not read/,
    ],
  ] as const) {
    test(`where the configuration has ${what}`, async () => {
      await using node = await containerdNode();
      node.host.put(CONFIG, { content: `version = 2\n${config}`, mode: 0o644 });
      assert.match((await refusals(node.host, model({ mode: 'Merge', ...different }))).join('\n'), expected);
    });
  }

  test('where mirrors of the old style would exclude the new ones', async () => {
    await using node = await containerdNode();
    const mirrors =
      '[plugins."io.containerd.grpc.v1.cri".registry]\nconfig_path = "/etc/containerd/certs.d"\n[plugins."io.containerd.grpc.v1.cri".registry.mirrors."docker.io"]\nendpoint = ["https://m"]\n';
    node.host.put(CONFIG, { content: `version = 2\n${mirrors}`, mode: 0o644 });
    await assert.rejects(refusals(node.host, model({ mode: 'Merge' })), { reason: 'ContainerdRegistryConflict' });
  });

  test('where a field needs a containerd that comes with it, it is not', async () => {
    await using node = await containerdNode();
    const cni = { binaryDirectories: ['/a', '/b'], configurationDirectory: undefined };
    assert.doesNotMatch((await refusals(node.host, model({ cni }))).join('\n'), /ContainerdTooOld/);
    assert.doesNotMatch(
      (
        await refusals(node.host, model({ runtimes: [runtimeModel('runc'), runtimeModel('crun', { binary: 'crun' })] }))
      ).join('\n'),
      /no longer has/,
    );
  });

  test('by another command, with the name of this one', async () => {
    await using node = await containerdNode();
    const now = at('1.7.24').facts;
    const ask = async (version: string, exec?: object) => {
      const asked = model({ version });
      const kubernetes = { ...asked.kubernetes, exec } as Model['kubernetes'];
      const desired = step.desired({ ...asked, kubernetes }, now);
      assert.ok(desired);
      const found = (await step.preflight?.(node.host, desired, { ...RECORD, upgrade: undefined })) ?? [];
      return found.filter(({ field }) => field !== undefined).map(({ reason, remedy }) => `${reason}: ${remedy}`);
    };
    assert.deepEqual(await ask('2.1.9'), [
      'DocumentChanged: machineadm upgrade replaces it, with the same options for the document.',
    ]);
    assert.deepEqual(await ask('1.7.3'), [
      'DocumentChanged: Write 1.7.24, or leave the field out: a node keeps a newer containerd.',
    ]);
    assert.deepEqual(await ask('1.7.24'), []);
    // The command changes no node of another bootstrapper.
    assert.doesNotMatch((await ask('2.1.9', {})).join(), /machineadm upgrade/);
  });
});

describe('a containerd that does not work', () => {
  shortPauses();
  test('makes room for the previous one, with its programs and configuration, and the failure has one verdict', async () => {
    await using node = await containerdNode({ broken: ['2.1.9'] });
    await assert.rejects(replaced(node), {
      reason: 'ContainerdUnhealthy',
      message: /^The new containerd does not work: /,
    });
    assert.match(
      node.host.text(CONFIG) ?? '',
      /^version = 3$/m,
      'the step leaves the way back to the end of the upgrade',
    );
    const end = await wayBack(node);
    assert.deepEqual(end, {
      isBack: true,
      settled: ['restart:containerd'],
      sentences: ['containerd 1.7.24 runs with its previous configuration, and no container was lost.'],
    });
    assert.equal(node.running(), '1.7.24');
    assert.equal(node.host.text(CONFIG), OLD_CONFIG);
    assert.equal(node.host.text(`${CONFIG}.machineadm-previous`), undefined);
    for (const name of ['containerd', 'ctr']) assert.equal(node.host.text(`/usr/bin/${name}`), `${name} 1.7.24`);
  });

  test('of a package stays, and the message names it', async () => {
    await using node = await containerdNode({ broken: ['2.1.9'] });
    await assert.rejects(replaced(node));
    const end = await wayBack(node, () => false);
    assert.equal(end.isBack, false);
    assert.match(
      end.sentences.join(' '),
      /but it does not work: .*exited 3.*\/usr\/bin\/containerd is the new one, and a package or a hook brought it: install the older one again\./s,
    );
    assert.equal(node.host.text(CONFIG), OLD_CONFIG);
  });

  test('that was not there before is removed', async () => {
    await using node = await containerdNode({ broken: ['2.1.9'] });
    await runStep(upgradeContainerdState, node.host, model(), { ...at('1.7.24'), record: RECORD });
    node.host.put('/usr/local/bin/containerd', { content: 'containerd 2.1.9', mode: 0o755 });
    await wayBack(node);
    assert.equal(node.host.text('/usr/local/bin/containerd'), undefined);
    assert.equal(node.host.text('/usr/bin/containerd'), 'containerd 1.7.24');
  });

  test('is not restarted where only its programs were written', async () => {
    await using node = await containerdNode();
    await runStep(upgradeContainerdState, node.host, model(), { ...at('1.7.24'), record: RECORD });
    node.bring();
    const { isBack } = await wayBack(node);
    assert.ok(isBack);
    assert.equal(node.host.text('/usr/bin/containerd'), 'containerd 1.7.24');
    assert.equal(node.host.log.includes('service restart containerd'), false);
  });

  test('once proven, stays when a later step fails', async () => {
    await using node = await containerdNode();
    await replaced(node);
    const failed = {
      model: model(),
      ...at('2.1.9'),
      upgrade: UPGRADE,
      isOurs: () => true,
      record: () => ({ ...RECORD, done: new Set([PROVE]) }),
    };
    const end = await endOfFailedUpgrade(node.host, failed, WATCH);
    assert.deepEqual(end, { isBack: true, sentences: ['containerd 2.1.9 is proven, and stays.'] });
    assert.equal(node.running(), '2.1.9');
  });

  for (const [what, wish, message] of [
    ['starts no pod', { startsNoPod: 'failed to create shim task' }, /a new pod: .*failed to create shim task/],
    [
      'lost a container',
      { after: { containers: [] }, exited: [{ id: 'c1', exitCode: 255, finishedAtMs: 1_000_100 }] },
      /kube-system\/etcd-a\/etcd: ended with the restart of containerd/,
    ],
    ['lost everything', { after: { pods: [], containers: [] } }, /kube-system\/etcd-a\/etcd: ended/],
    [
      'started a container anew',
      { after: { containers: [{ ...WORKLOADS.containers[0], startedAt: '900' }] as CriWorkloads['containers'] } },
      /etcd: ended/,
    ],
  ] as const) {
    test(`because it ${what}, is not proven`, async () => {
      await using node = await containerdNode(wish);
      await replaced(node);
      await assert.rejects(runStep(upgradeContainerd, node.host, model(), { ...at('2.1.9'), record: RECORD }), {
        reason: 'UpgradeNotProven',
        message,
      });
    });
  }

  test('is another where the unit starts another program', async () => {
    await using node = await containerdNode();
    await runStep(upgradeContainerdState, node.host, model(), { ...at('1.7.24'), record: RECORD });
    await assert.rejects(runStep(upgradeContainerd, node.host, model(), { ...at('2.1.9'), record: RECORD }), {
      reason: 'UpgradeNotProven',
      message: /containerd: is 1\.7\.24, not 2\.1\.9/,
    });
  });

  test('is one in which a container ended by itself or was deleted', async () => {
    await using node = await containerdNode({
      after: { containers: WORKLOADS.containers.slice(0, 1) },
      exited: [{ id: 'c2', exitCode: 0, finishedAtMs: 1_000_100 }],
    });
    await replaced(node);
    await runStep(upgradeContainerd, node.host, model(), { ...at('2.1.9'), record: RECORD });
  });
});

describe('an upgrade of containerd with another service manager and cgroup driver', () => {
  for (const openrc of [false, true]) {
    for (const [cgroupDriver, slice, option] of [
      ['systemd', ' system.slice', 'SystemdCgroup = true'],
      ['cgroupfs', '', 'SystemdCgroup = false'],
    ] as const) {
      test(`${openrc ? 'OpenRC' : 'systemd'}, ${cgroupDriver}: is proven by a pod of that driver`, async () => {
        await using node = await containerdNode(openrc ? { openrc } : {});
        const asked = model({ cgroupDriver });
        await replaced(node, asked);
        await runStep(upgradeContainerd, node.host, asked, { ...at('2.1.9'), record: RECORD });
        assert.equal(node.running(), '2.1.9');
        assert.deepEqual(
          node.host.log.filter((line) => line.startsWith('probe pod')),
          [`probe pod${slice}`],
        );
        assert.ok(node.host.text(CONFIG)?.includes(option));
      });
    }
  }

  test('OpenRC: the script is restored, where the document brought another one', async () => {
    await using node = await containerdNode({ openrc: true, startsNoPod: 'failed to create shim task' });
    await replaced(node);
    node.host.put(SCRIPT, 'new script\n');
    await assert.rejects(runStep(upgradeContainerd, node.host, model(), { ...at('2.1.9'), record: RECORD }), {
      reason: 'UpgradeNotProven',
    });
    const end = await wayBack(node);
    assert.equal(end.isBack, true);
    assert.equal(node.host.text(SCRIPT), 'old unit\n');
    assert.equal(node.running(), '1.7.24');
  });

  test('OpenRC: a container that failed meanwhile is lost, although the time of the restart is not known', async () => {
    await using node = await containerdNode({
      openrc: true,
      after: { containers: WORKLOADS.containers.slice(1) },
      exited: [{ id: 'c1', exitCode: 137, finishedAtMs: 5_000_000 }],
    });
    await replaced(node);
    await assert.rejects(runStep(upgradeContainerd, node.host, model(), { ...at('2.1.9'), record: RECORD }), {
      reason: 'UpgradeNotProven',
      message: /kube-system\/etcd-a\/etcd: ended with the restart/,
    });
  });
});

describe('an upgrade of Kubernetes alone that fails', () => {
  shortPauses();
  const ALONE: Upgrade = { from: 'v1.35.2', to: 'v1.35.3', subjects: ['version'], drain: { by: 'caller' } };
  const OTHER = OLD_CONFIG.replace('pause:1', 'pause:2');

  async function failedAfter(change: (host: MemoryHost) => void, upgrade = ALONE, isOurs = true) {
    await using node = await containerdNode();
    const { host } = node;
    await keepState(host);
    change(host);
    const done = new Set(['upgrade-state/files', PROVE]);
    const record = () => ({ ...RECORD, upgrade, done });
    const failed = { model: model({}, 'v1.35.3'), ...at('1.7.24'), upgrade, isOurs: () => isOurs, record };
    const end = await endOfFailedUpgrade(host, failed, WATCH);
    return { end, text: host.text(CONFIG), restarts: host.log.filter((line) => line.startsWith('service restart')) };
  }

  test('restores the configuration of containerd, whose image of sandboxes may be one that cannot be pulled', async () => {
    const { end, text, restarts } = await failedAfter((host) => host.put(CONFIG, OTHER));
    assert.equal(text, OLD_CONFIG);
    assert.deepEqual(restarts, ['service restart containerd']);
    assert.deepEqual(end, {
      isBack: true,
      sentences: ['This node works as before, with Kubernetes 1.35.2.'],
      settled: ['restart:containerd'],
    });
  });

  test('does not restart containerd whose configuration stayed', async () => {
    const { end, restarts } = await failedAfter(() => undefined);
    assert.deepEqual([end.isBack, end.settled, restarts], [true, undefined, []]);
  });

  test('leaves a configuration that is not ours, or that a new containerd reads', async () => {
    const subjects = ['version', 'containerd'] as const;
    for (const [upgrade, isOurs] of [
      [ALONE, false],
      [{ ...ALONE, subjects, containerd: VERSIONS }, true],
    ] as const) {
      const { text, restarts } = await failedAfter((host) => host.put(CONFIG, OTHER), upgrade, isOurs);
      assert.deepEqual([text, restarts], [OTHER, []]);
    }
  });
});

describe('an upgrade of containerd that is killed at any change', () => {
  shortPauses();
  test('ends as an undisturbed one when it is run again', async () => {
    class Killed extends Error {}
    let isOver = false;
    for (let kill = 1; !isOver; kill += 1) {
      await using node = await containerdNode();
      let seen = 0;
      const dying =
        <Args extends readonly unknown[]>(act: (...args: Args) => Promise<void>) =>
        async (...args: Args): Promise<void> => {
          seen += 1;
          if (seen === kill) throw new Killed();
          await act(...args);
        };
      const { host } = node;
      const killing: MemoryHost = {
        ...host,
        writeFile: dying(host.writeFile),
        removeFile: dying(host.removeFile),
        services: { ...host.services, restart: dying(host.services.restart) },
      };
      // As the journal: only the changes that were not repeatable and done are known.
      const done = new Set<string>();
      const owed = new Set<'restart:containerd'>();
      const all = async (machine: MemoryHost): Promise<void> => {
        const record = { ...RECORD, done };
        await runStep(upgradeContainerdState, machine, model(), { ...at('1.7.24'), record });
        done.add(KEEP);
        node.bring();
        owed.add('restart:containerd');
        await runStep(step, machine, model(), { ...at('2.1.9'), record: { ...record, owed } });
        owed.clear();
        await runStep(upgradeContainerd, machine, model(), { ...at('2.1.9'), record });
        done.add(PROVE);
      };
      try {
        await all(killing);
        isOver = true;
      } catch (error) {
        const cause = error instanceof Error && error.cause instanceof Killed ? error.cause : error;
        if (!(cause instanceof Killed)) throw error;
        await all(host);
      }
      assert.equal(node.running(), '2.1.9', `killed at ${kill}`);
      assert.match(host.text(CONFIG) ?? '', /^version = 3$/m);
      assert.equal(host.text(`${CONFIG}.machineadm-previous`), undefined);
      assert.match(host.text(KEPT) ?? '', /1\.7\.24/);
      assert.equal(host.text('/var/lib/machineadm/upgrade/containerd.usr.bin'), 'containerd 1.7.24');
    }
  });
});
