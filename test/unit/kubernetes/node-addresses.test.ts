import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeAddressesModel } from '@machineadm/document/sections/kubernetes/node-addresses.ts';
import type { InterfaceAddress } from '../../../src/host/seam/facts.ts';
import { findNodeAddresses, withNodeAddresses } from '../../../src/kubernetes/node-addresses.ts';
import { hostModel } from '../../support/host-model.ts';
import { kubernetesModel } from '../../support/kubernetes-model.ts';
import { memoryHost } from '../../support/memory-host.ts';

/** `eth1 10.0.0.11/24`, with its state behind it. */
function machine(...lines: readonly string[]): readonly InterfaceAddress[] {
  return lines.map((line) => {
    const [name = '', cidr = '', state] = line.split(' ');
    const [address = '', prefix = ''] = cidr.split('/');
    const one = { interface: name, address, prefix: Number(prefix) };
    return state === undefined ? one : { ...one, state: state as NonNullable<InterfaceAddress['state']> };
  });
}

const LO = ['lo 127.0.0.1/8', 'lo ::1/128'];
const V4 = ['0.0.0.0/0'];
const BOTH = ['10.0.0.0/8', '::/0'];
const ROUTES = [
  'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask',
  'eth0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000',
  'eth1\t0000010A\t00000000\t0001\t0\t0\t0\t0000FFFF',
].join('\n');
const FILES = {
  '/proc/net/route': ROUTES,
  '/sys/class/net/eth7': { type: 'symlink', content: '../../devices/eth7' },
} as const;

interface Situation {
  readonly has: readonly string[];
  readonly choice?: Partial<NodeAddressesModel>;
  readonly kept?: readonly string[];
  readonly endpoint?: string;
  readonly pods?: readonly string[];
}

async function found({ has, choice = {}, kept = [], endpoint, pods = [] }: Situation) {
  const plain = kubernetesModel();
  const cluster = { ...plain.cluster, controlPlaneEndpoint: endpoint, podSubnets: pods };
  const wish = { interface: undefined, routeTo: undefined, subnets: V4, timeoutMs: 1000, ...choice };
  const host = memoryHost({ addresses: machine(...LO, ...has), files: FILES });
  const result = await findNodeAddresses(host, wish, { cluster, join: undefined }, kept);
  return result.kind === 'found' ? `${result.addresses.join(' ')} of ${result.where}` : `${result.kind}: ${result.why}`;
}

const eth1 = { interface: 'eth1' };

/** docs/node-addresses.md has these rules. */
const RULES: readonly (readonly [string, Situation, string])[] = [
  [
    'the only address of the interface',
    { has: ['eth0 192.168.0.5/24', 'eth1 10.0.0.11/24'], choice: eth1 },
    '10.0.0.11 of eth1',
  ],
  [
    'the address in the subnet',
    { has: ['eth0 192.168.0.5/24', 'eth1 10.0.0.11/24'], choice: { subnets: ['10.0.0.0/8'] } },
    '10.0.0.11 of eth1',
  ],
  [
    'the interface of the default route',
    { has: ['eth0 192.168.0.5/24', 'eth1 10.1.0.11/16'], choice: { routeTo: 'Default' } },
    '192.168.0.5 of eth0',
  ],
  [
    'the interface of a route',
    { has: ['eth0 192.168.0.5/24', 'eth1 10.1.0.11/16'], choice: { routeTo: '10.1.9.9' } },
    '10.1.0.11 of eth1',
  ],
  [
    'one of each family, in their order',
    { has: ['eth1 10.0.0.11/24', 'eth1 fd00::11/64'], choice: { ...eth1, subnets: [...BOTH].reverse() } },
    'fd00::11 10.0.0.11 of eth1',
  ],
  [
    'of two interfaces',
    { has: ['eth0 10.0.0.11/24', 'eth1 fd00::11/64'], choice: { subnets: BOTH } },
    '10.0.0.11 fd00::11 of eth0 and eth1',
  ],
  [
    'a subnet of two on the interface',
    { has: ['eth1 10.0.0.11/24', 'eth1 10.2.0.11/24'], choice: { ...eth1, subnets: ['10.2.0.0/16'] } },
    '10.2.0.11 of eth1',
  ],
  [
    'two on the interface',
    { has: ['eth1 10.0.0.11/24', 'eth1 10.0.0.12/24'], choice: eth1 },
    'ambiguous: the interface eth1 has more than one IPv4 address: 10.0.0.11 (eth1), 10.0.0.12 (eth1)',
  ],
  [
    'two in the subnet',
    { has: ['eth0 10.0.0.11/24', 'eth1 10.1.0.11/24'], choice: { subnets: ['10.0.0.0/8'] } },
    'ambiguous: this machine has more than one IPv4 address in 10.0.0.0/8: 10.0.0.11 (eth0), 10.1.0.11 (eth1)',
  ],
  [
    'an address on two interfaces',
    { has: ['eth0 10.0.0.11/24', 'br0 10.0.0.11/24'], choice: { subnets: ['10.0.0.0/8'] } },
    '10.0.0.11 of br0',
  ],
  [
    'a global and a unique local address',
    { has: ['eth1 fd00::11/64', 'eth1 2001:db8::11/64'], choice: { ...eth1, subnets: ['::/0'] } },
    'ambiguous: the interface eth1 has more than one IPv6 address: fd00::11 (eth1), 2001:db8::11 (eth1)',
  ],
  [
    'no link-local address',
    { has: ['eth1 169.254.0.3/16', 'eth1 fe80::1/64'], choice: { ...eth1, subnets: BOTH } },
    'missing: the interface eth1 has no IPv4 address in 10.0.0.0/8 that a node can have',
  ],
  [
    'no temporary address',
    { has: ['eth1 fd00::a:b/64 temporary', 'eth1 fd00::11/64'], choice: { ...eth1, subnets: ['::/0'] } },
    'fd00::11 of eth1',
  ],
  [
    'no deprecated address',
    { has: ['eth1 fd00:9::11/64 deprecated', 'eth1 fd00::11/64'], choice: { ...eth1, subnets: ['::/0'] } },
    'fd00::11 of eth1',
  ],
  [
    'nothing yet while the address is tentative',
    { has: ['eth1 fd00::11/64 tentative'], choice: { ...eth1, subnets: ['::/0'] } },
    'missing: the interface eth1 has no IPv6 address that a node can have',
  ],
  [
    'nothing where another machine has the address',
    { has: ['eth1 fd00::11/64 duplicate'], choice: { ...eth1, subnets: ['::/0'] } },
    'missing: the interface eth1 has no IPv6 address that a node can have',
  ],
  [
    'no virtual address beside another one',
    { has: ['eth1 10.0.0.11/24', 'eth1 10.0.0.9/32'], choice: eth1 },
    '10.0.0.11 of eth1',
  ],
  [
    'an address without a subnet, where there is no other',
    { has: ['eth1 10.0.0.11/32'], choice: eth1 },
    '10.0.0.11 of eth1',
  ],
  [
    'not the endpoint of the control plane beside another one',
    { has: ['eth1 10.0.0.11/32', 'eth1 10.0.0.9/32'], choice: eth1, endpoint: '10.0.0.9:6443' },
    '10.0.0.11 of eth1',
  ],
  [
    'not the endpoint with the prefix of the subnet',
    { has: ['eth1 10.0.0.11/24', 'eth1 10.0.0.9/24'], choice: eth1, endpoint: '10.0.0.9:6443' },
    '10.0.0.11 of eth1',
  ],
  [
    'not the endpoint of IPv6',
    {
      has: ['eth1 fd00::11/64', 'eth1 fd00::9/64'],
      choice: { ...eth1, subnets: ['::/0'] },
      endpoint: '[fd00:0::9]:6443',
    },
    'fd00::11 of eth1',
  ],
  [
    'the endpoint, where it is the only address',
    { has: ['eth1 10.0.0.9/24'], choice: eth1, endpoint: '10.0.0.9:6443' },
    '10.0.0.9 of eth1',
  ],
  [
    'no address of pods',
    { has: ['eth0 10.0.0.11/24', 'cni0 10.244.0.1/24'], choice: { subnets: ['10.0.0.0/8'] }, pods: ['10.244.0.0/16'] },
    '10.0.0.11 of eth0',
  ],
  [
    'the one that it had',
    { has: ['eth1 10.0.0.11/24', 'eth1 10.0.0.12/24'], choice: eth1, kept: ['10.0.0.12'] },
    '10.0.0.12 of eth1',
  ],
  [
    'not the one that it had and that fits no longer',
    { has: ['eth0 10.0.0.12/24', 'eth1 10.0.0.11/24'], choice: eth1, kept: ['10.0.0.12'] },
    '10.0.0.11 of eth1',
  ],
  [
    'an address of the loopback interface, if it is asked for',
    { has: ['lo 10.9.0.1/32'], choice: { interface: 'lo' } },
    '10.9.0.1 of lo',
  ],
  [
    'an interface that does not exist',
    { has: ['eth0 10.0.0.11/24'], choice: { interface: 'eth9' } },
    'missing: there is no interface eth9',
  ],
  [
    'an interface that is down',
    { has: ['eth0 10.0.0.11/24'], choice: { interface: 'eth7' } },
    'missing: the interface eth7 is down or has no address',
  ],
  [
    'no default route',
    { has: ['eth0 fd00::11/64'], choice: { routeTo: 'Default', subnets: ['::/0'] } },
    'missing: there is no default route of IPv6',
  ],
  [
    'no route',
    { has: ['eth0 fd00::11/64'], choice: { routeTo: 'fd00:9::1', subnets: ['::/0'] } },
    'missing: there is no route to fd00:9::1',
  ],
];

describe('the address of a node', () => {
  for (const [what, situation, expected] of RULES)
    test(`by the rules: ${what}`, async () => assert.equal(await found(situation), expected));

  test('is missing with all addresses as evidence, and why each is none', async () => {
    const host = memoryHost({ addresses: machine(...LO, 'eth1 fe80::1/64', 'eth1 fd00::1/64 tentative') });
    const choice = { interface: 'eth1', routeTo: undefined, subnets: ['::/0'], timeoutMs: 0 };
    const result = await findNodeAddresses(host, choice, kubernetesModel(), []);
    assert.ok(result.kind === 'missing');
    assert.deepEqual(result.evidence, ['eth1: fe80::1/64 (link-local)', 'eth1: fd00::1/64 (tentative)']);
  });
});

describe('a document with the addresses of its node', () => {
  const model = (role: 'InitControlPlane' | 'Worker') => ({ ...hostModel(), kubernetes: kubernetesModel({ role }) });

  test('has them for the kubelet, and for the API server of a control plane', () => {
    const { kubernetes } = withNodeAddresses(model('InitControlPlane'), ['10.0.0.11', 'fd00::11']);
    assert.deepEqual(kubernetes?.node.kubelet.args, [{ name: 'node-ip', value: '10.0.0.11,fd00::11' }]);
    assert.equal(kubernetes?.controlPlane.apiEndpoint.advertiseAddress, '10.0.0.11');
    assert.deepEqual(kubernetes?.controlPlane.apiServer.certSANs, ['fd00::11']);
  });

  test('has no API server on a worker', () => {
    const { kubernetes } = withNodeAddresses(model('Worker'), ['10.0.0.11']);
    assert.deepEqual(kubernetes?.node.kubelet.args, [{ name: 'node-ip', value: '10.0.0.11' }]);
    assert.equal(kubernetes?.controlPlane.apiEndpoint.advertiseAddress, undefined);
  });
});
