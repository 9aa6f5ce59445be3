import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { newAuthority } from '../../support/api-server.ts';
import { type DocumentTree, hostDocument, merge, newSeeds } from '../../support/documents.ts';
import { assertSucceeded, Fleet, LAB, type Node, provisionOnce, told } from '../../support/lab.ts';
import { needs } from '../../support/needs.ts';

const MINUTE = 60_000;
const HOOK_TRACE = '/var/lib/e2e-every-boot';
const FLUSH_SERVICE = resolve(import.meta.dirname, '../../../packaging/openrc/machineadm-report-flush');
const PASSWORD = "kr4y:s3cr%65t'99$x";

describe('a machine whose process 1 is not systemd', { skip: needs(...LAB), timeout: 8 * MINUTE }, () => {
  const seeds = newSeeds();
  const authority = newAuthority('machineadm openrc test');
  let node: Node;
  let document: DocumentTree;

  const fleet = Fleet.ofSuite(
    async () => {
      node = await fleet.start({ name: 'e2e-orc', ip: '10.99.0.71' }, 'openrc');
      // Another name than the machine has, and a setting that only the new network of a reboot brings back.
      document = merge(hostDocument({ ...node.site, name: 'renamed' }, seeds), {
        host: {
          sysctl: { 'net.ipv4.ip_forward': 1, 'net.ipv4.conf.all.rp_filter': 2 },
          kernelModules: ['overlay'],
          proxy: { http: `http://${PASSWORD}@proxy.example:3128`, no: ['mirror.example'] },
          certificateAuthorities: [{ name: 'corp', pem: authority.certificate }],
          hooks: { early: { frequency: 'Always', commands: [`echo ran >> ${HOOK_TRACE}`] } },
          services: [{ name: 'rc.local', enabled: false }],
        },
      });
    },
    { kind: 'host' },
  );

  /** The environment of containerd's process. */
  async function environmentOfContainerd(): Promise<ReadonlyMap<string, string>> {
    const text = await node.machine.shell("tr '\\0' '\\n' < /proc/$(pgrep -x containerd)/environ");
    return new Map(
      text.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
  }

  const hookRuns = async () =>
    ((await node.read(HOOK_TRACE)) ?? '').split('\n').filter((line) => line === 'ran').length;
  const reads = async (path: string) => ((await node.read(path)) ?? '').trim();

  test('is prepared, as its plan said, and a second run changes nothing', async () => {
    assert.match(await reads('/proc/1/comm'), /^init$/);
    await node.lay(document);
    const planned = (await node.plan()).map(({ id }) => id);
    const first = await node.provision();
    await assertSucceeded(node, first);
    assert.deepEqual([...first.changes].sort(), [...planned].sort(), 'plan listed what provision did');
    const restarts = first.changes.filter((id) => id === 'follow-up/restart:containerd');
    assert.equal(restarts.length, 1, 'configuration, proxy and authorities share one restart of containerd');

    const second = await node.provision();
    await assertSucceeded(node, second);
    assert.deepEqual(second.changes, [], told(second));
    assert.deepEqual(await node.plan(), []);
  });

  test('runs containerd with the proxy, which only root can read', async () => {
    const environment = await environmentOfContainerd();
    const url = `http://${PASSWORD.replace("'", '%27')}@proxy.example:3128`;
    assert.equal(environment.get('HTTP_PROXY'), url);
    assert.equal(environment.get('http_proxy'), url);
    assert.match(environment.get('NO_PROXY') ?? '', /169\.254\.169\.254.*mirror\.example$/);
    const readable = await node.machine.shell('grep -rlF s3cr /etc /var/log /run --exclude-dir=machineadm || true');
    assert.deepEqual(readable.split('\n').filter(Boolean), []);
    assert.equal((await node.machine.shell('stat -c %a /etc/machineadm/proxy.env')).trim(), '600');
  });

  test('trusts the authority of the document', async () => {
    await node.machine.write('/root/issued.crt', authority.issue('server').certificate);
    const verify = 'openssl verify -no-CAfile -no-CAstore -CApath /etc/ssl/certs /root/issued.crt';
    assert.match(await node.machine.shell(verify), /OK/);
  });

  test('logs its run to syslog, as it has no journal', async () => {
    const log = await node.machine.shell('grep machineadm /var/log/messages');
    assert.match(log, /this machine has no journald/);
    assert.match(log, /daemon\.notice machineadm/);
  });

  test('keeps its state after a reboot', async () => {
    assert.equal(await hookRuns(), 1);
    await node.machine.reboot();
    assert.equal(await reads('/proc/sys/kernel/hostname'), 'renamed');
    assert.equal(await reads('/proc/sys/net/ipv4/ip_forward'), '1');
    assert.equal(await reads('/proc/sys/net/ipv4/conf/all/rp_filter'), '2');
    assert.equal(await hookRuns(), 2, 'the command of every boot ran');
    assert.match((await environmentOfContainerd()).get('HTTP_PROXY') ?? '', /proxy\.example/);
    const started = (await node.machine.shell('ls /run/openrc/started')).split('\n');
    assert.ok(started.includes('containerd') && !started.includes('rc.local'), 'what was disabled was not started');
    const third = await node.provision();
    await assertSucceeded(node, third);
    assert.deepEqual(third.changes, [], told(third));
  });

  test('restarts a service whose process was killed together with its supervisor', async () => {
    await node.machine.shell('kill -9 $(cat /run/containerd.pid) $(cat /run/openrc/options/containerd/child_pid)');
    const run = await node.provision();
    await assertSucceeded(node, run);
    assert.deepEqual(run.changes, ['containerd/start'], told(run));
    assert.match((await environmentOfContainerd()).get('HTTP_PROXY') ?? '', /proxy\.example/);
  });

  test('sends the pending reports with the packaged service', async () => {
    const take = 'cat >/root/last; [ -e /root/repaired ] || exit 75; cat /root/last >>/root/received';
    const reporting = { deadline: '1s', sinks: [{ type: 'Exec', command: ['sh', '-c', take] }] };
    await provisionOnce(node, merge(document, { reporting }));
    // The deliverer of the run would try again, too: it is the service that is looked at.
    await node.machine.shell("pkill -f '[r]eport flush' || true");
    // Its own pause is five minutes.
    const script = readFileSync(FLUSH_SERVICE, 'utf8').replace('sleep \\$((300 +', 'sleep \\$((4 +');
    assert.match(script, /sleep \\\$\(\(4 \+/);
    await node.machine.write('/etc/init.d/machineadm-report-flush', script.replace('% 300', '% 2'), '755');
    await node.machine.shell('rc-service machineadm-report-flush start; touch /root/repaired');
    for (let tries = 0; (await node.read('/root/received')) === undefined; tries += 1) {
      assert.ok(tries < 60, `nothing was sent: ${await node.read('/var/log/machineadm-report-flush.log')}`);
      await sleep(500);
    }
    await node.machine.shell('while ls -A /var/lib/machineadm/spool | grep -q json; do sleep 1; done');
    const events = ((await node.read('/root/received')) ?? '').trim().split('\n');
    assert.deepEqual(
      events.map((line) => (JSON.parse(line) as { type: string }).type),
      ['started', 'concluded'],
    );
    await node.machine.shell('rc-service machineadm-report-flush stop');
  });

  test('shows in its logs why a service does not start', async () => {
    const script = '#!/sbin/openrc-run\nstart() {\n\techo "cannot read its key" >&2\n\treturn 1\n}\n';
    await node.machine.write('/etc/init.d/broken', script, '755');
    await node.lay(merge(document, { host: { services: [{ name: 'broken', state: 'Started' }] } }));
    const run = await node.provision();
    assert.equal(run.exitCode, 10, told(run));
    assert.equal(run.status.failure?.reason, 'ServiceFailed' satisfies Reason);
    assert.ok(
      run.status.failure?.evidence.some(({ text }) => text.includes('cannot read its key')),
      told(run),
    );
  });
});
