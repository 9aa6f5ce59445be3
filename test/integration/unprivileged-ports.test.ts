import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { agent } from '../support/agent.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';
import { waitUntil } from '../support/wait-until.ts';

const SETTING = '/proc/sys/net/ipv4/ip_unprivileged_port_start';
const DOCUMENT = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: n1}
secrets: {token: {value: the-token-of-the-hook}}
reporting:
  sinks:
    - {type: Webhook, url: "http://127.0.0.1:300/hook", headers: {authorization: {secret: token}}}
`;

inThrowAwayMachine(import.meta.filename, () => {
  test('a credential is not sent to a port that is for every user of this machine', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end();
    });
    server.listen(300, '127.0.0.1');
    await once(server, 'listening');
    writeFileSync('/root/doc.yaml', DOCUMENT, { mode: 0o600 });
    const had = readFileSync(SETTING, 'utf8');
    try {
      writeFileSync(SETTING, '300');
      for (const command of [['plan'], ['doctor'], ['provision']]) {
        const run = await agent([...command, '-f', '/root/doc.yaml']);
        assert.equal(run.status, 3, run.stderr);
        assert.match(run.stderr, /DocumentInvalid/);
        assert.match(
          run.stdout + run.stderr,
          /reporting\.sinks\[0\]\.url: .*ip_unprivileged_port_start is 300 on this machine/,
        );
      }
      assert.deepEqual(seen, []);
      assert.ok(!existsSync('/var/lib/machineadm/spool'));
      writeFileSync(SETTING, '301');
      const run = await agent(['provision', '-f', '/root/doc.yaml']);
      assert.equal(run.status, 0, run.stderr);
      // Reports are delivered by a process of their own.
      await waitUntil(() => seen.length > 0, 'a report arrives');
      assert.ok(
        seen.every((header) => header === 'the-token-of-the-hook'),
        seen.join(),
      );
    } finally {
      writeFileSync(SETTING, had);
      server.closeAllConnections();
      server.close();
    }
  });
});
