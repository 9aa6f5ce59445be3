import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContainerdModel } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { containerdStep } from '../../../../src/features/containerd/index.ts';
import { containerdModel, registryEndpoint, runtimeModel } from '../../../support/containerd-model.ts';
import { facts } from '../../../support/facts.ts';
import { fileModel, hostModel } from '../../../support/host-model.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';

const step = containerdStep();
const HOOK = {
  shell: 'sh',
  onError: 'Fail',
  timeoutMs: 1,
  commands: ['apt-get install runc'],
  frequency: 'Once',
} as const;

interface Wish {
  readonly version?: string;
  readonly files?: MemoryMachine['files'];
  readonly programs?: MemoryMachine['programs'];
  readonly host?: Parameters<typeof hostModel>[0];
  readonly serviceManager?: 'systemd' | 'none';
}

async function missing(containerd: Partial<ContainerdModel>, wish: Wish = {}): Promise<readonly string[]> {
  const host = memoryHost({
    services: wish.serviceManager === 'none' ? {} : { containerd: {} },
    files: wish.files ?? {},
    programs: {
      containerd: () => ({ stdout: '[plugins."io.containerd.snapshotter.v1.native"]\nroot_path = ""\n' }),
      runc: () => ({}),
      'containerd-shim-runc-v2': () => ({}),
      ...wish.programs,
    },
  });
  const model = { ...hostModel(wish.host), containerd: containerdModel(containerd) };
  const desired = step.desired(
    model,
    facts({
      containerd: parseVersion(wish.version ?? '1.7.24'),
      serviceManager: wish.serviceManager ?? 'systemd',
    }),
  );
  assert.ok(desired);
  return ((await step.preflight?.(host, desired)) ?? []).map(
    ({ reason, what }) => `${reason} ${what.split(/, and|, the|:/)[0]}`,
  );
}

describe('what containerd needs, before any change', () => {
  test('a service manager: in a chroot containerd may be installed, and nothing can start it', async () => {
    assert.deepEqual(await missing({}, { serviceManager: 'none' }), [
      'ContainerRuntimeMissing no service manager (systemd or OpenRC) is running that could start containerd',
    ]);
  });

  test('programs of runtimes: the shim by its type, and what is behind the shim of runc', async () => {
    const runtimes = [
      runtimeModel('crun', { binary: 'crun' }),
      runtimeModel('nvidia', { binary: '/usr/bin/nvidia-container-runtime' }),
      runtimeModel('kata-qemu', { type: 'io.containerd.kata-qemu.v2' }),
      runtimeModel('gvisor', { type: 'io.containerd.runsc.v1', optional: true }),
      runtimeModel('elsewhere', { type: 'io.containerd.kata.v2', path: '/opt/kata/shim' }),
    ];
    assert.deepEqual(await missing({ runtimes }), [
      'ContainerdRuntimeMissing crun is not installed',
      'ContainerdRuntimeMissing /usr/bin/nvidia-container-runtime is not installed',
      'ContainerdRuntimeMissing containerd-shim-kata-qemu-v2 is not installed',
      'ContainerdRuntimeMissing /opt/kata/shim is not installed',
    ]);
    const there = { crun: () => ({}), 'containerd-shim-kata-qemu-v2': () => ({}) };
    const script = { content: '#!/bin/sh\n', mode: 0o755 };
    const files = { '/usr/bin/nvidia-container-runtime': script, '/opt/kata/shim': script };
    assert.deepEqual(await missing({ runtimes }, { programs: there, files }), []);
  });

  test('what a file of the document brings is not missing; what an early hook may bring is looked for later', async () => {
    const runtimes = [runtimeModel('special', { binary: '/opt/special', baseSpec: '/etc/base.json' })];
    const both = [
      'ContainerdBaseSpecMissing /etc/base.json does not exist',
      'ContainerdRuntimeMissing /opt/special is not installed',
    ];
    assert.deepEqual(await missing({ runtimes }), both);
    const file = (path: string) => fileModel(path, '', { mode: 0o755 });
    const laid = { host: { files: [file('/opt/special'), file('/etc/base.json')] } };
    assert.deepEqual(await missing({ runtimes }, laid), []);
    const hooks = { early: HOOK, beforeBootstrap: undefined, afterBootstrap: undefined };
    assert.deepEqual(await missing({ runtimes }, { host: { hooks } }), []);
  });

  test('snapshotters that this containerd was built with, or has as a proxy plug-in', async () => {
    const stargz = '[proxy_plugins.stargz]\ntype = "snapshot"\naddress = "/s"\n';
    assert.deepEqual(await missing({ snapshotter: 'native' }), []);
    assert.deepEqual(await missing({ snapshotter: 'stargz' }), [
      'ContainerdSnapshotterMissing containerd has no snapshotter stargz',
    ]);
    assert.deepEqual(
      await missing({ snapshotter: 'stargz' }, { files: { '/etc/containerd/config.toml': stargz } }),
      [],
    );
    const settings = { proxy_plugins: { stargz: { type: 'snapshot', address: '/s' } } };
    assert.deepEqual(await missing({ snapshotter: 'stargz', settings }), []);
    const runtimes = [runtimeModel('runc', { snapshotter: 'zfs' })];
    assert.deepEqual(await missing({ runtimes }), ['ContainerdSnapshotterMissing containerd has no snapshotter zfs']);
  });

  test('fields that a containerd is too old for', async () => {
    const mirror = (different: Parameters<typeof registryEndpoint>[1]): Partial<ContainerdModel> => ({
      registries: [
        {
          host: 'docker.io',
          server: registryEndpoint(undefined),
          fallback: true,
          mirrors: [registryEndpoint('https://m.example', different)],
          verify: undefined,
        },
      ],
    });
    const cases: readonly (readonly [since: string, before: string, wish: Partial<ContainerdModel>])[] = [
      ['1.7.0', '1.6.36', { cdi: { enabled: true, specDirectories: [] } }],
      ['1.7.0', '1.6.36', { runtimes: [runtimeModel('runc', { snapshotter: 'native' })] }],
      ['2.0.0', '1.7.29', mirror({ dialTimeoutMs: 1 })],
      ['2.1.0', '2.0.11', { cni: { binaryDirectories: ['/a', '/b'], configurationDirectory: undefined } }],
      ['2.2.0', '2.1.9', mirror({ capabilities: ['pull', 'resolve', 'referrers'] })],
    ];
    for (const [since, before, wish] of cases) {
      assert.deepEqual(await missing(wish, { version: since }), []);
      const [first = '', ...rest] = await missing(wish, { version: before });
      assert.match(first, new RegExp(`^ContainerdTooOld containerd ${before} is too old`));
      assert.deepEqual(rest, []);
    }
    assert.deepEqual(await missing({ cdi: { enabled: false, specDirectories: [] } }, { version: '1.6.20' }), []);
  });
});
