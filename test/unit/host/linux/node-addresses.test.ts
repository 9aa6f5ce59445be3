import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { defaultRoutes, defaultRoutes6, nodeAddresses } from '../../../../src/host/linux/node-addresses.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const ROUTES = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0100000A	0003	0	0	0	00000000	0	0	0
eth0	0000000A	00000000	0001	0	0	0	00FFFFFF	0	0	0
cni0	0000F40A	00000000	0001	0	0	0	00FFFFFF	0	0	0
vpn0	00000000	00000000	0001	0	0	0	00000080	0	0	0
`;
const ROUTES6 = `00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth1
fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
`;

describe('the addresses of a node', () => {
  test('are those of the interface that the default route leaves by', () => {
    assert.deepEqual(defaultRoutes(ROUTES), ['eth0']);
    assert.deepEqual(defaultRoutes6(ROUTES6), ['eth1']);
  });

  test('are none where there is no route, or no table of routes', async () => {
    assert.deepEqual(await nodeAddresses(memoryHost()), []);
    assert.deepEqual(
      await nodeAddresses(memoryHost({ files: { '/proc/net/route': 'Iface\n', '/proc/net/ipv6_route': '' } })),
      [],
    );
  });

  test('hold none of link scope', async () => {
    const host = memoryHost({ files: { '/proc/net/route': ROUTES.replaceAll('eth0', 'lo') } });
    const addresses = await nodeAddresses(host);
    assert.ok(addresses.includes('127.0.0.1'), 'of the interface that was named');
    for (const address of addresses) assert.doesNotMatch(address, /^(fe80|169\.254)/);
  });
});
