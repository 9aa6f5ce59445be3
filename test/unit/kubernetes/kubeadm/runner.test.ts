import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '../../../../src/document/errors.ts';
import type { KubeadmNote } from '../../../../src/kubernetes/kubeadm/output.ts';
import { runKubeadm } from '../../../../src/kubernetes/kubeadm/runner.ts';
import { type MemoryProgram, type MemoryService, memoryHost } from '../../../support/memory-host.ts';

async function run(kubeadm: MemoryProgram, signal = new AbortController().signal, kubelet: MemoryService = {}) {
  const notes: KubeadmNote[] = [];
  const lines: string[] = [];
  const host = memoryHost({ programs: { kubeadm }, services: { kubelet } });
  const invocation = { command: 'join', flags: ['--config=/run/kubeadm/x.yaml'], expectsSuccessText: true } as const;
  const watch = {
    signal,
    line: (line: string) => void lines.push(line),
    remember: (note: KubeadmNote) => void notes.push(note),
  };
  let error: unknown;
  try {
    await runKubeadm(host, invocation, watch);
  } catch (thrown) {
    error = thrown;
  }
  return { host, notes, lines, error };
}

describe('running kubeadm', () => {
  test('streams its lines, supervised, and remembers what a next run must know', async () => {
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
