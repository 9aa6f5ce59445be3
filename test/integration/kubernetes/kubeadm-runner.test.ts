import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { KubeadmNote } from '@machineadm/kubeadm/output.ts';
import { linuxHost } from '../../../src/host/machine/linux-host.ts';
import type { Host } from '../../../src/host/seam/host.ts';
import { runKubeadm } from '../../../src/kubernetes/kubeadm/runner.ts';

const directory = mkdtempSync(join(tmpdir(), 'machineadm-kubeadm-'));
after(() => rmSync(directory, { recursive: true }));

/** This machine with a shell script in kubeadm's place. */
function withKubeadm(script: string): Host {
  const program = join(directory, 'kubeadm');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o700);
  const host = linuxHost({ runId: 'test' });
  return { ...host, run: (command) => host.run({ ...command, program }) };
}

async function run(script: string, signal = new AbortController().signal, heard: () => void = () => {}) {
  const notes: KubeadmNote[] = [];
  const lines: string[] = [];
  let error: unknown;
  try {
    await runKubeadm(
      withKubeadm(script),
      {
        command: 'join',
        flags: ['--config=/nowhere'],
        expectsSuccessText: true,
        criSocket: 'unix:///run/nowhere.sock',
      },
      {
        signal,
        line: (line) => {
          lines.push(line);
          heard();
        },
        remember: (note) => void notes.push(note),
      },
    );
  } catch (thrown) {
    error = thrown;
  }
  return { notes, lines, error };
}

function failure(error: unknown): MachineadmError {
  assert.ok(error instanceof MachineadmError);
  assert.equal(error.reason, 'BootstrapperFailed');
  return error;
}

describe('a process in the place of kubeadm', () => {
  test('that joins and says so succeeds', async () => {
    const { error, notes } = await run(
      'echo "[preflight] Running pre-flight checks"; echo "This node has joined the cluster:"',
    );
    assert.equal(error, undefined);
    assert.equal(notes.at(-1)?.succeeded, true);
  });

  test('that is given its arguments as they are', async () => {
    const { lines } = await run('printf "%s\\n" "$@"');
    assert.deepEqual(lines, ['join', '--config=/nowhere']);
  });

  test('that ends with 0 in silence fails', async () => {
    failure((await run('exit 0')).error);
  });

  test('that fails as kubeadm up to 1.33 does', async () => {
    const script = `printf '[preflight] Running pre-flight checks\\n'
printf 'error execution phase preflight: [preflight] Some fatal errors occurred:\\n\\t[ERROR Port-10250]: Port 10250 is in use\\n' >&2
printf 'To see the stack trace of this error execute with --v=5 or higher\\n' >&2
exit 1`;
    const { message, evidence } = failure((await run(script)).error);
    assert.equal(message, 'kubeadm join failed in its phase preflight (exit status 1).');
    assert.equal(evidence[0]?.text, '[ERROR Port-10250]: Port 10250 is in use');
  });

  test('that fails as kubeadm since 1.34 does', async () => {
    const script = `printf '[preflight] Some fatal errors occurred:\\n\\t[ERROR Mem]: the system RAM is too small\\n' >&2
printf 'error: error execution phase preflight: preflight checks failed\\n' >&2
exit 1`;
    const { message, evidence } = failure((await run(script)).error);
    assert.equal(message, 'kubeadm join failed in its phase preflight (exit status 1).');
    assert.deepEqual(
      evidence.map(({ text }) => text),
      ['[ERROR Mem]: the system RAM is too small', 'error: error execution phase preflight: preflight checks failed'],
    );
  });

  for (const [how, script, summary] of [
    ['that is killed', 'kill -9 $$', 'kubeadm join was killed by SIGKILL in its phase kubelet-start.'],
    ['that crashes', 'kill -SEGV $$', 'kubeadm join crashed (SIGSEGV) in its phase kubelet-start.'],
    [
      'whose real kubeadm is killed',
      "sh -c 'kill -9 $$'",
      'kubeadm join was killed by SIGKILL in its phase kubelet-start.',
    ],
  ] as const) {
    test(`${how} is named by its signal and where it was, and may succeed later`, async () => {
      const { error } = await run(`echo "[kubelet-start] Starting the kubelet"; ${script}`);
      assert.ok(error instanceof MachineadmError);
      assert.deepEqual([error.reason, error.exit, error.retryable], ['BootstrapperKilled', 'BootstrapperFailed', true]);
      assert.equal(error.message, summary);
      assert.doesNotMatch(error.remedy, /document/);
      assert.deepEqual(error.transcript[0], { source: 'kubeadm', text: '[kubelet-start] Starting the kubelet' });
    });
  }

  test('that hangs is ended with the run, and its output is kept', async () => {
    const stop = new AbortController();
    const script = 'echo "[kubelet-start] Starting the kubelet"; sleep 600';
    const { error } = await run(script, stop.signal, () => stop.abort(new Error('deadline')));
    assert.ok(error instanceof MachineadmError);
    assert.deepEqual(error.transcript, [{ source: 'kubeadm', text: '[kubelet-start] Starting the kubelet' }]);
  });
});
