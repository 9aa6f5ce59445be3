import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { openQueryHost } from '../../../src/host/index.ts';
import { processesOf } from '../../../src/kubernetes/api-server/processes.ts';
import { pidNamespaceDepth, sharesPidNamespace } from '../../../src/kubernetes/pid-namespace.ts';
import { podShims } from '../../../src/kubernetes/pod-shims.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { needs } from '../../support/needs.ts';

const SHIM = ['containerd-shim-runc-v2', '-namespace', 'k8s.io', '-id', 'x'].join('\0');
const API_SERVER = ['kube-apiserver', '--secure-port=6443'];

/** A machine that shows a process of itself, of a container of it, and of a container in that container. */
function machine(commandLine: string) {
  const process = (pid: number, ids: string) => ({
    [`/proc/${pid}/cmdline`]: commandLine,
    [`/proc/${pid}/stat`]: `${pid} (x) S 1 ${pid} ${pid} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 ${pid}00 0 0`,
    [`/proc/${pid}/status`]: `Name:\tx\nNSpid:\t${ids}\nNSpgid:\t1\n`,
  });
  return memoryHost({ files: { ...process(41, '41'), ...process(42, '42\t7'), ...process(43, '43\t8\t1') } });
}

describe('processes of machines that are containers of this one', () => {
  test('are distinguished by their PID namespaces', async () => {
    const host = machine('x');
    assert.deepEqual(await Promise.all(['41', '42', '43', '44'].map((pid) => pidNamespaceDepth(host, pid))), [
      0,
      1,
      2,
      undefined,
    ]);
    assert.equal(await sharesPidNamespace(host, '44', 0), true, 'an old kernel does not tell');
  });

  test('have shims that hold no pod of this machine', async () => {
    assert.deepEqual(
      (await podShims(machine(SHIM))).map(({ pid }) => pid),
      [41],
    );
  });

  test('have API servers that are not the one of this machine, whose own is in a pod', async () => {
    assert.deepEqual(await processesOf(machine(`${API_SERVER.join('\0')}\0`), API_SERVER), ['41:4100', '42:4200']);
  });

  const skip = needs('root');
  test('are shown so by the kernel', { skip }, async () => {
    const child = spawn('unshare', ['--pid', '--fork', '--kill-child', 'sh', '-c', 'echo begun; sleep 60'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const host = openQueryHost();
    const children = await host.readText(`/proc/${child.pid}/task/${child.pid}/children`);
    const inside = children?.trim() ?? '';
    assert.deepEqual([await pidNamespaceDepth(host, `${child.pid}`), await pidNamespaceDepth(host, inside)], [0, 1]);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
});
