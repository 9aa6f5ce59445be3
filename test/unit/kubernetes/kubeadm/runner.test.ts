import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { KubeadmNote } from '@machineadm/kubeadm/output.ts';
import type { CriContainer } from '../../../../src/host/cri/queries.ts';
import { runKubeadm } from '../../../../src/kubernetes/kubeadm/runner.ts';
import { type FakeClock, fakeClock } from '../../../support/fake-clock.ts';
import { type MemoryProgram, type MemoryService, memoryHost } from '../../../support/memory-host.ts';

let clock: FakeClock;

async function run(
  kubeadm: MemoryProgram,
  signal = new AbortController().signal,
  kubelet: MemoryService = {},
  exited: readonly CriContainer[] = [],
) {
  const notes: KubeadmNote[] = [];
  const lines: string[] = [];
  const cri = { exitedContainers: async () => exited };
  const host = memoryHost({ programs: { kubeadm }, services: { kubelet }, cri });
  const criSocket = 'unix:///run/containerd/containerd.sock';
  const flags = ['--config=/run/kubeadm/x.yaml'];
  const invocation = { command: 'join', flags, expectsSuccessText: true, criSocket } as const;
  const watch = {
    signal,
    line: (line: string) => void lines.push(line),
    remember: (note: KubeadmNote) => void notes.push(note),
  };
  let error: unknown;
  try {
    await clock.until(runKubeadm(host, invocation, watch));
  } catch (thrown) {
    error = thrown;
  }
  return { host, notes, lines, error };
}

describe('running kubeadm', () => {
  beforeEach(() => {
    clock = fakeClock({ deadlines: true });
  });
  afterEach(() => clock[Symbol.dispose]());

  test('streams its lines, supervised, and records the facts for the next run', async () => {
    let supervised: boolean | undefined;
    const { host, notes, lines, error } = await run((command) => {
      supervised = command.supervised;
      return { stdout: '[preflight] Running\n[preflight] Reading\nThis node has joined the cluster:\n' };
    });
    assert.equal(error, undefined);
    assert.equal(supervised, true);
    assert.deepEqual(host.log, ['run kubeadm join --config=/run/kubeadm/x.yaml']);
    assert.deepEqual(lines, ['[preflight] Running', '[preflight] Reading', 'This node has joined the cluster:']);
    assert.deepEqual(notes, [
      { lastPhase: 'preflight', etcdMemberAnnounced: false, succeeded: false },
      { lastPhase: 'preflight', etcdMemberAnnounced: false, succeeded: true },
    ]);
  });

  test('fails as BootstrapperFailed with the whole output as the transcript', async () => {
    const { error } = await run(() => ({
      status: 1,
      stdout: '[preflight] Running\n',
      stderr: 'error: error execution phase preflight: preflight checks failed\n',
    }));
    assert.ok(error instanceof MachineadmError);
    assert.equal(error.reason, 'BootstrapperFailed');
    assert.equal(error.exit, 'BootstrapperFailed');
    assert.deepEqual(
      error.transcript.map(({ text }) => text),
      ['[preflight] Running', 'error: error execution phase preflight: preflight checks failed'],
    );
  });

  test('is ended where the kubelet that it waits for cannot come up, with what the service manager says', async () => {
    const waits: MemoryProgram = async ({ onLine, signal }) => {
      onLine?.('stdout', '[kubelet-start] Starting the kubelet');
      await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      throw signal?.reason;
    };
    const { error } = await run(waits, undefined, { masked: true });
    assert.ok(error instanceof MachineadmError);
    assert.equal(error.reason, 'BootstrapperFailed');
    assert.deepEqual(error.evidence, [{ source: 'service manager', text: 'kubelet.service: masked' }]);
    assert.deepEqual(
      error.transcript.map(({ text }) => text),
      ['[kubelet-start] Starting the kubelet'],
    );
  });

  describe('while it waits for the new etcd member', () => {
    const containerOf = (part: Partial<CriContainer>): CriContainer => ({
      id: 'c',
      name: 'etcd',
      namespace: 'kube-system',
      exitCode: 1,
      attempt: 2,
      reason: 'Error',
      finishedAtMs: clock.now() + 60_000,
      logPath: '',
      ...part,
    });
    const waits: MemoryProgram = async ({ onLine, signal }) => {
      onLine?.('stdout', '[etcd] Waiting for the new etcd member to join the cluster. This can take up to 40s');
      await new Promise((resolve) => {
        signal?.addEventListener('abort', resolve);
        clock.at(200, () => resolve(undefined));
      });
      signal?.throwIfAborted();
      return { stdout: 'This node has joined the cluster:\n' };
    };

    test('it is ended where etcd ended three times', async () => {
      const { error } = await run(waits, undefined, {}, [containerOf({})]);
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'BootstrapperFailed');
      const text = 'etcd ended 3 times, last with exit status 1';
      assert.deepEqual(error.evidence, [{ source: 'container runtime', text }]);
    });

    test('it continues where etcd ended less often, earlier, or of its own accord', async () => {
      for (const part of [{ attempt: 1 }, { finishedAtMs: clock.now() - 60_000 }, { exitCode: 0 }, { name: 'other' }]) {
        assert.equal((await run(waits, undefined, {}, [containerOf(part)])).error, undefined);
      }
    });
  });

  test('fails when it ends with 0 and never joined', async () => {
    const { error } = await run(() => ({ status: 0, stdout: '[preflight] Running\n' }));
    assert.ok(error instanceof MachineadmError);
    assert.equal(error.reason, 'BootstrapperFailed');
  });

  test('that was ended from outside keeps what it said', async () => {
    const stopped = new MachineadmError({ reason: 'HostStepFailed', summary: 'kubeadm was aborted', remedy: 'none' });
    const { error } = await run((command) => {
      command.onLine?.('stdout', '[kubelet-start] Starting the kubelet');
      throw stopped;
    });
    assert.ok(error instanceof MachineadmError);
    assert.equal(error.reason, 'HostStepFailed');
    assert.equal(error.message, stopped.message);
    assert.deepEqual(error.transcript, [{ source: 'kubeadm', text: '[kubelet-start] Starting the kubelet' }]);
  });
});
