import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { network } from '../../../src/features/network/index.ts';
import { openHost } from '../../../src/host/index.ts';
import { EMPTY_RECORD } from '../../../src/step/index.ts';
import { loaded } from '../../support/document.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { planned, runStep } from '../../support/run-step.ts';
import { waitUntil } from '../../support/wait-until.ts';

const NETWORKD = '/lib/systemd/systemd-networkd';
const FILE = '/etc/systemd/network/10-lan0.network';
const TRIAL = '/var/lib/machineadm/network-trial.json';

const configuration = (address: string, more = '') => `[Match]\nName=lan0\n[Network]\nAddress=${address}/24\n${more}`;
const GATEWAY = 'Gateway=10.9.0.1\n';
const ip = (...args: string[]) => execFileSync('ip', args, { encoding: 'utf8' });

/** A real systemd-networkd in a network namespace, which manages one end of a pair of interfaces. */
const inMachine = () =>
  describe('the network under systemd-networkd', () => {
    const host = openHost({ runId: 'test' });
    const children: ChildProcess[] = [];
    const server = createServer();

    const documentOf = async (content: string, keep: object = {}) => {
      const files = [{ name: '10-lan0.network', content }];
      return (await loaded(`host: ${JSON.stringify({ network: { tool: 'networkd', keep, files } })}\n`)).model;
    };
    const daemon = (program: string, ...args: readonly string[]) => {
      children.push(spawn(program, args, { stdio: 'ignore' }));
    };

    before(async () => {
      process.umask(0o022);
      // networkd waits for udev unless /sys is read-only, as in a container (systemd src/shared/udev-util.c, udev_available).
      execFileSync('mount', ['-o', 'remount,ro', '/sys']);
      ip('link', 'add', 'lan0', 'type', 'veth', 'peer', 'name', 'peer0');
      ip('address', 'add', '10.9.0.1/24', 'dev', 'peer0');
      ip('link', 'set', 'peer0', 'up');
      for (const directory of ['/run/dbus', '/run/systemd/netif']) mkdirSync(directory, { recursive: true });
      execFileSync('chown', ['systemd-network:systemd-network', '/run/systemd/netif']);
      mkdirSync('/etc/systemd/network', { recursive: true });
      writeFileSync(FILE, configuration('10.9.0.2', GATEWAY));
      daemon('dbus-daemon', '--system', '--nofork', '--nopidfile');
      await waitUntil(() => existsSync('/run/dbus/system_bus_socket'), 'the bus');
      daemon(NETWORKD);
      await waitUntil(() => ip('route').includes('default via 10.9.0.1'), 'the default route of networkd');
      await new Promise<void>((done) => server.listen(0, '0.0.0.0', done));
    });
    after(() => {
      server.close();
      for (const child of children) child.kill('SIGKILL');
    });

    const endpoint = (address: string): string => {
      const found = server.address();
      return `${address}:${typeof found === 'object' && found !== null ? found.port : assert.fail()}`;
    };
    const addresses = () => ip('-brief', 'address', 'show', 'lan0');

    test('is changed, and a second run changes nothing', async () => {
      const model = await documentOf(configuration('10.9.0.3', GATEWAY), { endpoint: endpoint('10.9.0.3') });
      const run = await runStep(network, host, model);
      assert.deepEqual(run.left, []);
      assert.match(addresses(), /10\.9\.0\.3\/24/);
      assert.equal(existsSync(TRIAL), false);
      assert.deepEqual(await planned(network, host, model, { record: { ...EMPTY_RECORD, notes: run.notes } }), []);
    });

    for (const [what, content, keep] of [
      ['the default route', configuration('10.9.0.4'), { timeout: '5s' }],
      ['the named endpoint', configuration('10.9.0.5', GATEWAY), { timeout: '5s', endpoint: '10.9.0.3' }],
    ] as const) {
      test(`without ${what} is as it was before`, async () => {
        const before = readFileSync(FILE, 'utf8');
        const model = await documentOf(
          content,
          'endpoint' in keep ? { ...keep, endpoint: endpoint(keep.endpoint) } : keep,
        );
        await assert.rejects(runStep(network, host, model), { reason: 'NetworkLost', message: /restored$/ });
        assert.equal(readFileSync(FILE, 'utf8'), before);
        await waitUntil(() => addresses().includes('10.9.0.3/24'), 'the address of before');
        await waitUntil(() => ip('route').includes('default via 10.9.0.1'), 'the default route of before');
        assert.equal(existsSync(TRIAL), false);
      });
    }
  });

inThrowAwayMachine(import.meta.filename, inMachine, [
  NETWORKD,
  'networkctl',
  'ip',
  'dbus-daemon',
  '/usr/share/dbus-1/system.conf',
]);
