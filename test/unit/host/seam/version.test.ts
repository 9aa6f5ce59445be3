import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, mkdtempDisposableSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openForReading } from '../../../../src/host/linux/read.ts';
import type { CommandResult } from '../../../../src/host/seam/host.ts';
import { installedVersions } from '../../../../src/host/seam/version.ts';

/** A machine with a kubelet in a directory, and how often that was started. */
function machine(path: string) {
  const answers: Pick<CommandResult, 'status' | 'stdout'> = { status: 0, stdout: 'Kubernetes v1.31.2\n' };
  const host = {
    answers,
    started: 0,
    openFile: openForReading,
    which: async (program: string) => (program === 'kubelet' ? path : undefined),
    async query() {
      host.started += 1;
      return { ...host.answers, stderr: '', timedOut: false };
    },
    /** The version that is found, and how often the kubelet was started for it. */
    async look(): Promise<readonly [string | undefined, number]> {
      host.started = 0;
      return [(await installedVersions(host)).kubelet?.text, host.started];
    },
  };
  return host;
}

describe('the versions of installed programs', () => {
  test('are read once while the file of the program is the same', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-version-'));
    const path = join(directory.path, 'kubelet');
    copyFileSync(process.execPath, path);
    const host = machine(path);
    assert.deepEqual(await host.look(), ['v1.31.2', 1]);
    assert.deepEqual(await host.look(), ['v1.31.2', 0]);
    assert.deepEqual(await host.look(), ['v1.31.2', 0]);
  });

  test('are read again after any change of the file, and after one that replaced it', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-version-'));
    const path = join(directory.path, 'kubelet');
    copyFileSync(process.execPath, path);
    const host = machine(path);
    assert.deepEqual(await host.look(), ['v1.31.2', 1]);
    host.answers = { status: 0, stdout: 'Kubernetes v1.31.3\n' };
    chmodSync(path, 0o700);
    assert.deepEqual(await host.look(), ['v1.31.3', 1]);
    host.answers = { status: 0, stdout: 'Kubernetes v1.32.0\n' };
    copyFileSync(process.execPath, `${path}.new`);
    renameSync(`${path}.new`, path);
    assert.deepEqual(await host.look(), ['v1.32.0', 1]);
  });

  test('of a script, and of a program that fails, are read each time', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-version-'));
    const path = join(directory.path, 'kubelet');
    writeFileSync(path, '#!/bin/sh\nexec /opt/current/kubelet "$@"\n', { mode: 0o755 });
    const host = machine(path);
    assert.deepEqual(await host.look(), ['v1.31.2', 1]);
    assert.deepEqual(await host.look(), ['v1.31.2', 1]);
    copyFileSync(process.execPath, path);
    host.answers = { status: 1, stdout: '' };
    assert.deepEqual(await host.look(), [undefined, 1]);
    assert.deepEqual(await host.look(), [undefined, 1]);
  });

  test('of programs that are one file with several names are read by each name', async () => {
    const names: string[] = [];
    const { kubeadm, kubelet } = await installedVersions({
      ...machine(process.execPath),
      which: async () => process.execPath,
      async query({ program }) {
        names.push(program);
        return { status: 0, stdout: program === 'kubelet' ? 'v1.2.3' : 'v1.2.2', stderr: '', timedOut: false };
      },
    });
    assert.deepEqual(
      [kubeadm?.text, kubelet?.text, names.sort()],
      ['v1.2.2', 'v1.2.3', ['containerd', 'kubeadm', 'kubelet']],
    );
  });

  test('of a program that is not installed are unknown, and nothing is started', async () => {
    const host = machine('/nonexistent');
    const { containerd, kubeadm } = await installedVersions({ ...host, which: async () => undefined });
    assert.deepEqual([containerd, kubeadm, host.started], [undefined, undefined, 0]);
  });
});
