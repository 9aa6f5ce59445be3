import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { checkOwnEndpoint } from '../../../src/diagnosis/checks/own-endpoint.ts';
import { collect } from '../../../src/diagnosis/collect.ts';
import { probeTcp } from '../../../src/host/network/reachability.ts';
import { memoryHost } from '../../support/memory-host.ts';

const WITHIN_MS = 900;
const SOCKET = 'unix:///run/containerd/containerd.sock';

/** A server that accepts nothing until `accept` is called, with a full queue: a process that gets no processor time. */
async function busyServer(): Promise<{ readonly port: number; accept(): void } & AsyncDisposable> {
  const source = `require('net').createServer((socket) => socket.destroy())
    .listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () { console.log(this.address().port); })`;
  const child = spawn(process.execPath, ['-e', source], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  const port = Number(String(line));
  child.kill('SIGSTOP');
  const waiting = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  return {
    port,
    accept: () => void child.kill('SIGCONT'),
    [Symbol.asyncDispose]: async () => {
      for (const socket of waiting) socket.destroy();
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/**
 * A control plane whose API server listens at this port.
 * @param sockets the kernel's table of sockets; without it, no connection waits for the server
 */
const machine = (
  port: number,
  sockets = `heading\n0: 00000000:${port.toString(16).toUpperCase()} 00000000:0000 0A 00000000:00000000\n`,
) =>
  memoryHost({
    files: {
      '/etc/kubernetes/manifests/kube-apiserver.yaml': `- --advertise-address=127.0.0.1\n- --secure-port=${port}\n`,
      '/proc/net/tcp': sockets,
    },
  });

describe('the connection of a first control plane to its own API server', () => {
  test('is tried twice: a server that gets no processor time accepts the second time', async () => {
    await using busy = await busyServer();
    const probe = async () => await checkOwnEndpoint(machine(busy.port), undefined, Date.now, WITHIN_MS);
    assert.deepEqual(
      (await probe()).map(({ reason }) => reason),
      ['APIServerPortBlocked'],
    );
    const second = probe();
    // Before the second connection, and long before the first one repeats its SYN.
    setTimeout(busy.accept, WITHIN_MS / 6);
    assert.deepEqual(await second, []);
  });

  test('is named within the deadline of a diagnosis, although it is tried twice', async () => {
    await using busy = await busyServer();
    const context = { since: { realTimeMs: Date.now() }, role: 'InitControlPlane', criSocket: SOCKET } as const;
    const lines = await collect(machine(busy.port), { ...context, deadlineMs: WITHIN_MS });
    assert.deepEqual(
      lines.filter(({ text }) => text.includes(`${busy.port}`)).map(({ text }) => /^[^,]*/.exec(text)?.[0]),
      [`the API server of this machine listens on port ${busy.port}`],
    );
  });

  test('is not blocked where the server accepts nothing: the kernel tells of connections that wait for it', async () => {
    await using busy = await busyServer();
    const sockets = await readFile('/proc/net/tcp', 'utf8');
    assert.deepEqual(await checkOwnEndpoint(machine(busy.port, sockets), undefined, Date.now, WITHIN_MS), []);
  });

  test('is not blocked where this process itself gets no processor time', async () => {
    await using server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const probe = probeTcp('127.0.0.1', port, WITHIN_MS / 3);
    setImmediate(() => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WITHIN_MS));
    assert.equal(await probe, undefined);
  });
});
