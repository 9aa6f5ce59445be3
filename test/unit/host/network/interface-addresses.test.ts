import assert from 'node:assert/strict';
import type { NetworkInterfaceInfo } from 'node:os';
import { describe, test } from 'node:test';
import { interfaceAddresses } from '../../../../src/host/network/interface-addresses.ts';
import { interfaceOfRoute } from '../../../../src/host/network/routes.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const address = (cidr: string): NetworkInterfaceInfo => ({
  address: cidr.replace(/\/.*$/, ''),
  cidr,
  mac: '02:00:00:00:00:01',
  internal: false,
  ...(cidr.includes(':')
    ? { family: 'IPv6', netmask: 'ffff::', scopeid: 0 }
    : { family: 'IPv4', netmask: '255.255.255.0' }),
});

/** As the kernel writes it: address, index, prefix length, scope, flags, interface. */
const line = (digits: string, flags: string) => `${digits} 02 40 00 ${flags}     eth1\n`;

describe('the addresses of the interfaces', () => {
  test('have their prefixes and states', async () => {
    const files = {
      '/proc/net/if_inet6': [
        line('fd000001000000000000000000000011', '80'),
        line('fd000001000000000000000000000012', 'c0'),
        line('fd000001000000000000000000000013', 'c8'),
        line('fd000001000000000000000000000014', '20'),
        line('fd000001000000000000000000000015', '01'),
        line('fd000001000000000000000000000016', '21'),
      ].join(''),
    };
    const eth1 = [
      '10.0.0.11/24',
      'fd00:1::11/64',
      'fd00:1::12/64',
      'fd00:1::13/64',
      'fd00:1::14/64',
      'fd00:1::15/64',
      'fd00:1::16/64',
    ];
    const found = await interfaceAddresses(memoryHost({ files }), { eth1: eth1.map(address) });
    assert.deepEqual(
      found.map(({ interface: name, address, prefix, state }) => `${name} ${address}/${prefix} ${state}`),
      [
        'eth1 10.0.0.11/24 undefined',
        'eth1 fd00:1::11/64 undefined',
        'eth1 fd00:1::12/64 tentative',
        'eth1 fd00:1::13/64 duplicate',
        'eth1 fd00:1::14/64 deprecated',
        'eth1 fd00:1::15/64 temporary',
        'eth1 fd00:1::16/64 deprecated',
      ],
    );
  });

  test('of an alias are those of its interface', async () => {
    const found = await interfaceAddresses(memoryHost(), { 'eth0:1': [address('10.0.0.9/32')] });
    assert.deepEqual(found, [{ interface: 'eth0', address: '10.0.0.9', prefix: 32 }]);
  });

  test('of a system without such aliases keep the names of their interfaces', async () => {
    const found = await interfaceAddresses(undefined, { 'Ethernet: 2': [address('10.0.0.9/24')] });
    assert.deepEqual(found, [{ interface: 'Ethernet: 2', address: '10.0.0.9', prefix: 24 }]);
  });
});

describe('the interface of a route', () => {
  const HEAD = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n';
  const V4 = [
    'eth0\t00000000\t0100000A\t0003\t0\t0\t200\t00000000\t0\t0\t0',
    'eth2\t00000000\t0100010A\t0003\t0\t0\t100\t00000000\t0\t0\t0',
    'eth1\t0000010A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0',
    'tun0\t0003010A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
    '*\t0004010A\t00000000\t0201\t0\t0\t0\t00FFFFFF\t0\t0\t0',
    'tun1\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0',
  ].join('\n');
  const ZERO = '0'.repeat(32);
  const V6 = [
    `${ZERO} 00 ${ZERO} 00 fd000001${'0'.repeat(23)}1 00000400 00000001 00000000 00000003     eth0`,
    `fd000002${'0'.repeat(24)} 20 ${ZERO} 00 ${ZERO} 00000100 00000001 00000000 00000001     eth1`,
    `${ZERO} 00 ${ZERO} 00 ${ZERO} ffffffff 00000001 00000000 00200200       lo`,
  ].join('\n');
  const host = memoryHost({ files: { '/proc/net/route': HEAD + V4, '/proc/net/ipv6_route': V6 } });

  for (const [bits, destination, name] of [
    [32, undefined, 'eth2'],
    [32, '10.1.0.9', 'eth1'],
    [32, '10.1.3.9', 'tun0'],
    [32, '192.0.2.1', 'eth2'],
    [32, '8.8.8.8', 'tun1'],
    [128, undefined, 'eth0'],
    [128, 'fd00:2::9', 'eth1'],
    [128, '2001:db8::1', 'eth0'],
  ] as const)
    test(`to ${destination ?? `everything of ${bits} bits`} is ${name}`, async () => {
      assert.equal(await interfaceOfRoute(host, bits, destination), name);
    });

  test('is none where no route leads there', async () => {
    assert.equal(await interfaceOfRoute(memoryHost(), 32, undefined), undefined);
    const rejecting = memoryHost({ files: { '/proc/net/ipv6_route': V6.split('\n')[2] ?? '' } });
    assert.equal(await interfaceOfRoute(rejecting, 128, undefined), undefined);
  });
});
