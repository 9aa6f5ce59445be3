import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { nodeAddresses } from '../../../src/features/node-addresses/index.ts';
import { gatherFacts, openHost } from '../../../src/host/index.ts';
import { loaded } from '../../support/document.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { planned, runStep } from '../../support/run-step.ts';
import { waitUntil } from '../../support/wait-until.ts';

const ip = (...args: readonly string[]) => execFileSync('ip', args, { encoding: 'utf8' });
/** Neither end waits for the other one's answer, so that an address is usable at once. */
const quiet = (name: string) => writeFileSync(`/proc/sys/net/ipv6/conf/${name}/accept_dad`, '0');

async function modelOf(addresses: string): Promise<Model> {
  const token = '{token: abcdef.0123456789abcdef, endpoint: "10.9.0.1:6443", unsafeSkipCAVerification: true}';
  const body = `kubernetes: {version: v1.35.2, role: Worker, join: {discovery: {token: ${token}}}, node: {addresses: ${addresses}}}\n`;
  return (await loaded(body)).model;
}

/** Real interfaces in a network namespace. */
const inMachine = () =>
  describe('the addresses of a node on real interfaces', () => {
    const host = openHost({ runId: 'test' });
    const summaryOf = async (addresses: string) => {
      const [change] = await planned(nodeAddresses, host, await modelOf(addresses));
      return change?.summary.replace(/, waiting up to .*$/, '');
    };

    before(() => {
      ip('link', 'add', 'lan0', 'type', 'veth', 'peer', 'name', 'peer0');
      ip('link', 'add', 'san0', 'type', 'veth', 'peer', 'name', 'peer1');
      for (const name of ['lan0', 'peer0', 'san0', 'peer1']) quiet(name);
      for (const name of ['lan0', 'peer0', 'san0', 'peer1']) ip('link', 'set', name, 'up');
      ip('address', 'add', '10.9.0.11/24', 'dev', 'lan0');
      ip('address', 'add', '10.9.0.9/32', 'dev', 'lan0');
      ip('address', 'add', 'fd09::11/64', 'dev', 'lan0');
      ip('address', 'add', '10.8.0.11/24', 'dev', 'san0');
      ip('address', 'add', '10.8.0.12/24', 'dev', 'san0', 'label', 'san0:1');
      ip('route', 'add', 'default', 'via', '10.9.0.1');
      ip('-6', 'route', 'add', 'default', 'via', 'fd09::1', 'dev', 'lan0');
      ip('route', 'add', '192.0.2.0/24', 'via', '10.8.0.1');
    });

    test('are those of an interface, of a route, and in a subnet', async () => {
      assert.equal(await summaryOf('{interface: lan0}'), 'use 10.9.0.11 of lan0');
      assert.equal(await summaryOf('{routeTo: Default}'), 'use 10.9.0.11 of lan0');
      assert.equal(await summaryOf('{subnets: [10.9.0.0/16]}'), 'use 10.9.0.11 of lan0');
      const both = '{routeTo: Default, subnets: [10.9.0.0/16, "fd09::/16"]}';
      assert.equal(await summaryOf(both), 'use 10.9.0.11, fd09::11 of lan0');
    });

    test('may be ambiguous, with an alias too', async () => {
      const several = /the interface san0 has more than one IPv4 address: 10\.8\.0\.11 \(san0\), 10\.8\.0\.12 \(san0\)/;
      assert.match((await summaryOf('{interface: san0}')) ?? '', several);
      assert.match((await summaryOf('{routeTo: 192.0.2.7}')) ?? '', several);
      assert.equal(await summaryOf('{interface: san0, subnets: [10.8.0.12/32]}'), 'use 10.8.0.12 of san0');
    });

    test('are none that are deprecated, of another machine, or not yet proved', async () => {
      const of = async () => await summaryOf('{interface: lan0, subnets: ["fd08::/16"]}');
      ip('address', 'add', 'fd08::1/64', 'dev', 'lan0', 'preferred_lft', '0');
      await waitUntil(() => !ip('-6', 'address', 'show', 'dev', 'lan0').includes('tentative'), 'the address');
      assert.match((await of()) ?? '', /the interface lan0 has no IPv6 address in fd08::\/16/);
      writeFileSync('/proc/sys/net/ipv6/conf/lan0/accept_dad', '1');
      ip('address', 'add', 'fd08::7/64', 'dev', 'peer0');
      ip('address', 'add', 'fd08::7/64', 'dev', 'lan0');
      await waitUntil(() => ip('-6', 'address', 'show', 'dev', 'lan0').includes('dadfailed'), 'the duplicate');
      const { addresses = [] } = await gatherFacts(host);
      const states = addresses.filter((one) => one.address.startsWith('fd08::')).map((one) => [one.address, one.state]);
      assert.deepEqual(Object.fromEntries(states.filter(([, state]) => state !== undefined)), {
        'fd08::1': 'deprecated',
        'fd08::7': 'duplicate',
      });
      assert.match((await of()) ?? '', /the interface lan0 has no IPv6 address in fd08::\/16/);
    });

    test('are waited for until the interface has them', async () => {
      const model = await modelOf('{interface: late0, timeout: 30s}');
      const steps = [
        () => ip('link', 'add', 'late0', 'type', 'veth', 'peer', 'name', 'late1'),
        () => ip('link', 'set', 'late1', 'up') + ip('link', 'set', 'late0', 'up'),
        () => ip('address', 'add', '10.7.0.11/24', 'dev', 'late0'),
      ];
      const timer = setInterval(() => steps.shift()?.(), 700);
      const { waits, notes } = await runStep(nodeAddresses, host, model).finally(() => clearInterval(timer));
      assert.deepEqual([...notes.values()], [{ addresses: ['10.7.0.11'] }]);
      assert.equal(waits[0], 'the addresses of the node: there is no interface late0');
      assert.ok(waits.includes('the addresses of the node: the interface late0 is down or has no address'), `${waits}`);
    });
  });

inThrowAwayMachine(import.meta.filename, inMachine, ['ip']);
