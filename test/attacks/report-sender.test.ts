import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, test } from 'node:test';
import { agent } from '../support/agent.ts';
import { attack } from '../support/attacks.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';
import { freshMachine, provisionWith, reported, waiting } from '../support/sink-faults.ts';

/** A receiver that notes which user each connection belongs to, as the kernel says. */
async function startReceiver(status: () => number) {
  const users: number[] = [];
  const tokens: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    users.push(userOf(request.socket.remotePort ?? 0));
    tokens.push(request.headers.authorization);
    request.resume().on('end', () => response.writeHead(status()).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    users,
    tokens,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The owner of the client's end of a connection from this port: proc_pid_net(5), column `uid`. */
function userOf(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((text) => text.trim().split(/\s+/))
    .find(([, address]) => address?.endsWith(local));
  return Number(line?.[7] ?? 0);
}

const TOKEN = 'token-of-the-receiver';

inThrowAwayMachine(import.meta.filename, () => {
  beforeEach(freshMachine);

  const webhook = (url: string) => ({
    type: 'Webhook',
    name: 'hook',
    url,
    allowInsecure: true,
    timeout: '20s',
    headers: { authorization: { secret: 'token' } },
  });

  function assertNeverRoot(users: readonly number[]): void {
    assert.ok(users.length > 0, 'nothing was received');
    // Every process that sends has a user of its own.
    for (const user of users) assert.ok(user >= 0x7000_0000, `user ${user} sent`);
  }

  describe('what connects to a receiver of reports', () => {
    test(
      'is not root during a run, nor for what waited',
      attack('Reports', 'a connection of root to a receiver', async () => {
        let answer = 503;
        await using receiver = await startReceiver(() => answer);
        // A file that only root can read: the process that sends cannot, and has its content.
        writeFileSync('/tmp/token', TOKEN, { mode: 0o600 });
        await provisionWith([webhook(receiver.url)], { secrets: { token: { file: '/tmp/token' } }, deadline: '1s' });
        assert.equal((await reported('hook')).state, 'Pending');
        const before = receiver.users.length;
        answer = 200;
        const flushed = await agent(['report', 'flush', '--timeout', '60s']);
        assert.deepEqual([flushed.status, waiting()], [0, {}], flushed.stderr + flushed.stdout);
        assert.ok(receiver.users.length > before);
        assertNeverRoot(receiver.users);
        assert.deepEqual([...new Set(receiver.tokens)], [TOKEN]);
        return receiver.users.length;
      }),
    );

    test(
      'is not root for a test of a sink',
      attack('Reports', 'a connection of root to a receiver', async () => {
        await using receiver = await startReceiver(() => 200);
        const document = {
          apiVersion: 'machineadm.dev/v1alpha1',
          kind: 'MachineBootstrap',
          metadata: { name: 'tested' },
          secrets: { token: { value: TOKEN } },
          reporting: { sinks: [webhook(receiver.url)] },
        };
        writeFileSync('/tmp/tested.yaml', JSON.stringify(document), { mode: 0o600 });
        const { status, stdout, stderr } = await agent(['report', 'test', '-f', '/tmp/tested.yaml']);
        assert.equal(status, 0, stdout + stderr);
        assertNeverRoot(receiver.users);
        return receiver.users.length;
      }),
    );

    test('connects to nothing where it cannot leave root, and the events wait with the reason', async () => {
      await using receiver = await startReceiver(() => 200);
      await provisionWith([{ ...webhook('http://127.0.0.1:9/'), headers: {} }], { deadline: '1s' });
      await reported('hook');
      writeFileSync(
        '/tmp/moved.yaml',
        JSON.stringify({
          apiVersion: 'machineadm.dev/v1alpha1',
          kind: 'MachineBootstrap',
          metadata: { name: 'reported', namespace: 'clusters' },
          reporting: { sinks: [{ ...webhook(receiver.url), headers: {} }] },
        }),
        { mode: 0o600 },
      );
      const wrapper = ['setpriv', '--bounding-set', '-setuid', '--inh-caps', '-setuid', '--'];
      const flushed = await agent(['report', 'flush', '-f', '/tmp/moved.yaml', '--timeout', '2s'], { wrapper });
      assert.equal(flushed.status, 20, flushed.stderr);
      assert.match(flushed.stdout, /hook +Pending .* as root nothing is sent, .*EPERM/);
      assert.deepEqual(receiver.users, []);
    });
  });
});
