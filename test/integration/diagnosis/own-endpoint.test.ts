import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { checkOwnEndpoint } from '../../../src/diagnosis/checks/own-endpoint.ts';
import { memoryHost } from '../../support/memory-host.ts';

const PROBE_MS = 300;

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

/** A control plane whose API server listens at this port. */
const machine = (port: number) =>
  memoryHost({
    files: {
      '/etc/kubernetes/manifests/kube-apiserver.yaml': `- --advertise-address=127.0.0.1\n- --secure-port=${port}\n`,
      '/proc/net/tcp': `heading\n0: 00000000:${port.toString(16).toUpperCase()} 00000000:0000 0A\n`,
    },
  });

describe('the connection of a first control plane to its own API server', () => {
  test('is tried twice: a server that gets no processor time accepts the second time', async () => {
    await using busy = await busyServer();
    const probe = async () => await checkOwnEndpoint(machine(busy.port), undefined, Date.now, PROBE_MS);
    assert.deepEqual(
      (await probe()).map(({ reason }) => reason),
      ['APIServerPortBlocked'],
    );
    const second = probe();
    // Before the second connection, and long before the first one repeats its SYN.
    setTimeout(busy.accept, PROBE_MS / 2);
    assert.deepEqual(await second, []);
  });
});
