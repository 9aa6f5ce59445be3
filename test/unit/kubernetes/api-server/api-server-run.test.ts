import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import type { ApiServerManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import { processesOf, stillRunning } from '../../../../src/kubernetes/api-server/processes.ts';
import { findPatches, recordInCluster, renderManifest } from '../../../../src/kubernetes/api-server/render-manifest.ts';
import { askReadyz, lastLogLines } from '../../../../src/kubernetes/api-server/serving.ts';
import {
  beginTransaction,
  contentBefore,
  readTransaction,
  restore,
  TRANSACTION,
} from '../../../../src/kubernetes/api-server/transaction.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { type MemoryMachine, type MemoryProgram, memoryHost } from '../../../support/memory-host.ts';

const ROOT = '/run/machineadm/api-server';
const WRITTEN = `${ROOT}/etc/kubernetes/manifests/kube-apiserver.yaml`;
const signal = new AbortController().signal;

function version(text: string) {
  const parsed = parseVersion(text);
  assert.ok(parsed !== undefined);
  return parsed;
}

const MANIFEST: ApiServerManifest = {
  command: ['kube-apiserver', '--v=2'],
  endpoint: undefined,
  env: [],
  volumes: [
    { name: 'pki', hostPath: '/etc/ssl/certs' },
    { name: 'file', hostPath: '/etc/localtime' },
    { name: 'gone', hostPath: '/etc/pki' },
  ],
};

describe('the manifest of an API server that kubeadm renders', () => {
  const rendered = async (kubeadm: MemoryProgram, text = 'v1.31.0', patchesDirectory?: string) => {
    const host = memoryHost({
      files: { '/etc/ssl/certs': { type: 'directory' }, '/etc/localtime': 'TZ' },
      programs: { kubeadm },
    });
    const options = { kubeadm: version(text), patchesDirectory, now: MANIFEST, signal };
    return { host, manifest: renderManifest(host, 'kind: X\n', options) };
  };
  const writes: MemoryProgram = (_, host) => {
    host.put(WRITTEN, 'kind: Pod\n');
    return {};
  };

  test('comes from a root directory of its own, with the directories that the one before mounts', async () => {
    const { host, manifest } = await rendered(writes, 'v1.31.0', '/patches');
    assert.equal(await manifest, 'kind: Pod\n');
    assert.deepEqual(host.log, [
      `mkdir ${ROOT} 0700`,
      `mkdir ${ROOT}/etc/ssl/certs 0755`,
      `mkdir ${ROOT}/etc/kubernetes/manifests 0755`,
      `write ${ROOT}/kubeadm.yaml 0600 0:0`,
      `run kubeadm init phase control-plane apiserver --rootfs=${ROOT} --config=/kubeadm.yaml`,
      `remove ${WRITTEN}`,
    ]);
  });

  test('has its patches by a flag where the configuration cannot name them', async () => {
    for (const [patches, flags] of [
      ['/patches', ' --experimental-patches=/patches'],
      [undefined, ''],
    ] as const) {
      const { host, manifest } = await rendered(writes, 'v1.21.0', patches);
      await manifest;
      const command = host.log.find((line) => line.startsWith('run kubeadm'));
      assert.equal(
        command,
        `run kubeadm init phase control-plane apiserver --rootfs=${ROOT} --config=/kubeadm.yaml${flags}`,
      );
    }
  });

  for (const [what, program, said] of [
    ['that kubeadm refuses', () => ({ status: 1, stderr: '\nerror: no\n', stdout: 'more\n' }), ['error: no', 'more']],
    ['that kubeadm does not write', () => ({}), []],
    [
      'that kubeadm writes before it fails',
      async (...of: Parameters<MemoryProgram>) => ({ ...(await writes(...of)), status: 3 }),
      [],
    ],
  ] as const satisfies readonly (readonly [string, MemoryProgram, readonly string[]])[]) {
    test(`${what} is KubeadmConfigInvalid with its lines`, async () => {
      const { host, manifest } = await rendered(program);
      await assert.rejects(manifest, (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.equal(error.reason, 'KubeadmConfigInvalid');
        assert.deepEqual(
          error.evidence,
          said.map((text) => ({ source: 'kubeadm', text })),
        );
        assert.match(error.message, said.length > 0 ? /: error: no$/ : /: exit status \d$/);
        return true;
      });
      assert.equal(host.text(WRITTEN), undefined);
    });
  }

  test('has only the patches of the API server, and no older ones', async () => {
    const host = memoryHost({
      files: { '/etc/patches/etcd.yaml': 'x', [`${ROOT}/patches/kube-apiserver9.yaml`]: 'of an earlier run' },
    });
    const kubernetes = kubernetesModel({ kubeadm: { patchesDirectory: '/etc/patches' } });
    assert.equal(await findPatches(host, kubernetes, version('v1.31.0')), undefined);
    assert.deepEqual(host.log, [`remove ${ROOT}/patches/kube-apiserver9.yaml`, `mkdir ${ROOT} 0700`]);
  });

  test('is recorded in the cluster by kubeadm, and nothing is left of that', async () => {
    for (const status of [0, 1]) {
      const host = memoryHost({
        files: { [`${ROOT}/kubeadm.yaml`]: 'x' },
        programs: { kubeadm: () => ({ status, stderr: 'no cluster\n' }) },
      });
      const recorded = recordInCluster(host, signal);
      if (status === 0) await recorded;
      else
        await assert.rejects(recorded, {
          reason: 'APIServerNotReconfigured',
          retryable: true,
          message: /: no cluster$/,
        });
      assert.deepEqual(host.log, [
        `run kubeadm init phase upload-config kubeadm --config=${ROOT}/kubeadm.yaml`,
        `remove ${ROOT}/kubeadm.yaml`,
      ]);
    }
  });
});

describe('the processes of an API server', () => {
  const stat = (pid: number, start: number): string =>
    `${pid} (kube (api) x) S ${Array.from({ length: 18 }, (_, index) => index).join(' ')} ${start} 0 0\n`;
  const process = (pid: number, start: number, command: string, namespaces = `${pid}`) => ({
    [`/proc/${pid}/cmdline`]: `${command.replaceAll(' ', '\0')}\0`,
    [`/proc/${pid}/stat`]: stat(pid, start),
    [`/proc/${pid}/status`]: `Name:\tx\nNSpid:\t${namespaces}\n`,
  });
  const host = memoryHost({
    files: {
      ...process(10, 100, 'kube-apiserver --v=2'),
      ...process(11, 110, 'kube-apiserver --v=2', '11\t1'),
      ...process(12, 120, 'kube-apiserver --v=2', '12\t5\t1'),
      ...process(13, 130, 'kube-apiserver --v=22'),
      '/proc/14/cmdline': 'kube-apiserver\0--v=2\0',
      '/proc/self/cmdline': 'kube-apiserver\0--v=2\0',
    },
  });

  test('have exactly its command line, here or in a container of this machine', async () => {
    assert.deepEqual(await processesOf(host, ['kube-apiserver', '--v=2']), ['10:100', '11:110']);
    assert.deepEqual(await processesOf(host, ['kube-apiserver']), []);
  });

  test('run on under the same id with the same start alone', async () => {
    assert.deepEqual(await stillRunning(host, ['10:100', '11:111', '99:1', '13:130']), ['10:100', '13:130']);
  });
});

describe('the last words of an API server', () => {
  const words = async (log: string, containers: MemoryMachine['cri'] = undefined) => {
    const pod = { namespace: 'kube-system', attempt: 0, reason: 'Error' };
    const ended = { ...pod, id: 'a', name: 'kube-apiserver', exitCode: 1, finishedAtMs: 1_000, logPath: '/log/0' };
    const host = memoryHost({
      files: { '/log/0': log, '/log/1': 'F another one' },
      cri: containers ?? {
        exitedContainers: async () => [
          { ...ended, name: 'etcd', logPath: '/log/1' },
          { ...ended, finishedAtMs: 999, logPath: '/log/1' },
          ended,
        ],
      },
    });
    return await lastLogLines(host, { manifest: MANIFEST, gone: [], criSocket: '/run/x.sock', sinceMs: 1_000 });
  };
  const line = (text: string): string => `2026-11-20T10:00:00.0Z stderr F ${text}\n`;

  test('are its errors where there are some, without what containerd adds', async () => {
    const text = [line('I1120 ok'), line('Error: unknown flag: --x'), line('Usage:'), line('E1120 bad')].join('');
    assert.deepEqual(await words(text), ['Error: unknown flag: --x', 'E1120 bad']);
  });

  test('are its last eight lines where there are no errors', async () => {
    const text = Array.from({ length: 10 }, (_, index) => line(`line ${index}`)).join('');
    assert.deepEqual(
      await words(text),
      [2, 3, 4, 5, 6, 7, 8, 9].map((index) => `line ${index}`),
    );
  });

  test('are of the last 16 KiB', async () => {
    const found = await words(`${line('Error: early')}${line('x'.repeat(16 * 1024))}${line('late')}`);
    assert.equal(found.at(-1), 'late');
    assert.ok(!found.includes('Error: early'));
  });

  test('are none where no container of it ended since, or the runtime does not answer', async () => {
    assert.deepEqual(await words('x', { exitedContainers: async () => [] }), []);
    assert.deepEqual(await words('x', { exitedContainers: () => Promise.reject(new Error('no answer')) }), []);
  });

  test('cannot be asked for by a machine without the credential of a kubelet', async () => {
    assert.equal(
      await askReadyz(memoryHost(), '10.0.0.1:6443', undefined),
      '/etc/kubernetes/kubelet.conf does not exist',
    );
  });
});

describe('what an API server had before a change', () => {
  test('is kept for root alone, and put back with what was not there removed', async () => {
    const host = memoryHost({ files: { '/etc/kubernetes/a': { content: 'old', mode: 0o640 } } });
    const facts = { cluster: 'kind: C\n', processes: ['1:2'] };
    const begun = await beginTransaction(host, ['/etc/kubernetes/a', '/etc/kubernetes/b'], facts);
    assert.equal((await host.stat(TRANSACTION))?.mode, 0o600);
    assert.ok(host.log.includes(`sync ${TRANSACTION}`));
    host.put('/etc/kubernetes/a', 'new');
    host.put('/etc/kubernetes/b', 'new');
    const kept = await readTransaction(host);
    assert.ok(kept !== undefined);
    assert.deepEqual(JSON.stringify(kept.files), JSON.stringify(begun.files));
    assert.deepEqual([kept.cluster, kept.processes], [facts.cluster, facts.processes]);
    assert.deepEqual(
      [contentBefore(kept, '/etc/kubernetes/a'), contentBefore(kept, '/etc/kubernetes/b')],
      ['old', undefined],
    );
    await restore(host, kept);
    assert.deepEqual([host.text('/etc/kubernetes/a'), host.text('/etc/kubernetes/b')], ['old', undefined]);
    assert.equal((await host.stat('/etc/kubernetes/a'))?.mode, 0o640);
    assert.equal(host.log.at(-1), 'sync /etc/kubernetes');
  });

  test('is nothing where no change was begun, and not guessed where it is damaged', async () => {
    assert.equal(await readTransaction(memoryHost()), undefined);
    for (const damaged of [
      '{}',
      '{"files":[],"cluster":""}',
      '{"files":[],"processes":[]}',
      '{"cluster":"","processes":[]}',
      '{"files":[],"cluster":"","processes":[1]}',
      '{"files":[],"cluster":"","processes":"1:2"}',
    ])
      await assert.rejects(readTransaction(memoryHost({ files: { [TRANSACTION]: damaged } })), {
        reason: 'HostStepFailed',
        message: /is damaged\.$/,
      });
  });
});
