import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loaded, problemsOf } from '../../support/document.ts';

const join =
  'join: {discovery: {token: {token: abcdef.0123456789abcdef, endpoint: "10.0.0.9:6443", unsafeSkipCAVerification: true}}}';
const init = (addresses: string, more = '', version = 'v1.35.2') =>
  `kubernetes: {version: ${version}, role: InitControlPlane, node: {addresses: ${addresses}}${more}}\n`;
const worker = (addresses: string, kubelet = '', version = 'v1.35.2') =>
  `kubernetes: {version: ${version}, role: Worker, ${join}, node: {addresses: ${addresses}${kubelet}}}\n`;
const told = async (body: string) => (await problemsOf(body)).map((text) => text.replace(/^doc\.yaml:\d+:\d+ {2}/, ''));

describe('the choice of the addresses of a node', () => {
  test('has defaults: one address of IPv4, and two minutes', async () => {
    const modelOf = async (choice: string) => (await loaded(init(choice))).model.kubernetes?.node.addresses;
    const rest = { interface: undefined, routeTo: undefined, subnets: ['0.0.0.0/0'], timeoutMs: 120_000 };
    assert.deepEqual(await modelOf('{interface: eth1}'), { ...rest, interface: 'eth1' });
    assert.deepEqual(await modelOf('{routeTo: Default, timeout: 5s}'), {
      ...rest,
      routeTo: 'Default',
      timeoutMs: 5_000,
    });
    assert.deepEqual(await modelOf('{routeTo: "fd00::1"}'), { ...rest, routeTo: 'fd00::1', subnets: ['::/0'] });
    const both = ['fd00:1::/64', '10.0.0.0/8'];
    assert.deepEqual(await modelOf(`{subnets: ${JSON.stringify(both)}}`), { ...rest, subnets: both });
  });

  const dual = '{subnets: [10.0.0.0/8, "fd00::/8"]}';
  const external = ', kubelet: {args: [{name: cloud-provider, value: external}]}';
  for (const [what, body, why] of [
    ['nothing', init('{}'), /addresses: selects no address .*give interface, routeTo or subnets/],
    ['a timeout alone', init('{timeout: 1m}'), /selects no address/],
    [
      'two interfaces',
      init('{interface: eth1, routeTo: Default}'),
      /routeTo: excludes kubernetes\.node\.addresses\.interface/,
    ],
    ['a name as a destination', init('{routeTo: gateway}'), /neither "Default" nor an IP address/],
    [
      'what only looks like an address',
      init('{routeTo: "1:2"}'),
      /routeTo: "1:2" is neither "Default" nor an IP address/,
    ],
    [
      'a destination of another family',
      init('{routeTo: 10.0.0.1, subnets: ["fd00::/8"]}'),
      /routeTo: an address of another IP family than kubernetes\.node\.addresses\.subnets\[0\]/,
    ],
    ['what is no subnet', init('{subnets: [10.0.0.0/33]}'), /subnets\[0\]: "10\.0\.0\.0\/33" is not a subnet/],
    ['loopback', init('{subnets: [127.0.0.0/8]}'), /takes no loopback, link-local or multicast/],
    ['link-local addresses', init('{subnets: ["fe80::/64"]}'), /takes no loopback, link-local or multicast/],
    [
      'addresses of pods',
      init('{subnets: [10.244.3.0/24]}', ', cluster: {podSubnets: [10.244.0.0/16]}'),
      /subnets\[0\]: no node has an address in kubernetes\.cluster\.podSubnets\[0\]/,
    ],
    [
      'addresses of services',
      init('{subnets: [10.96.0.0/16]}', ', cluster: {serviceSubnets: [10.96.0.0/12]}'),
      /no node has an address in kubernetes\.cluster\.serviceSubnets\[0\]/,
    ],
    [
      'a node-ip, too',
      worker('{interface: eth1}', ', kubelet: {args: [{name: v, value: "2"}, {name: node-ip, value: 10.0.0.1}]}'),
      /kubelet\.args\[1\]: sets an address that is also chosen by kubernetes\.node\.addresses/,
    ],
    [
      'an advertise address, too',
      init('{interface: eth1}', ', controlPlane: {apiEndpoint: {advertiseAddress: 10.0.0.1}}'),
      /advertiseAddress: sets an address that is also chosen by kubernetes\.node\.addresses/,
    ],
    [
      'an argument of the API server, too',
      init('{interface: eth1}', ', controlPlane: {apiServer: {args: [{name: advertise-address, value: 10.0.0.1}]}}'),
      /apiServer\.args\[0\]: sets an address that is also chosen by/,
    ],
    ['two families of an old kubelet', worker(dual, '', 'v1.20.15'), /two IP families from Kubernetes 1\.21 on/],
    [
      'two families with a cloud provider',
      worker(dual, external, 'v1.28.9'),
      /subnets: before Kubernetes 1\.29, .* it is set in kubernetes\.node\.kubelet\.args\[0\]/,
    ],
    [
      'a program other than kubeadm',
      init('{interface: eth1}', ', bootstrapper: {exec: {command: /a}}, ready: {require: KubeletHealthy}'),
      /addresses: has no effect: only kubeadm/,
    ],
    [
      'Windows',
      `host: {platform: Windows}\n${worker('{interface: eth1}')}`,
      /addresses: not on Windows: .*set node-ip in kubernetes\.node\.kubelet\.args/,
    ],
  ] as const)
    test(`does not go with ${what}`, async () => {
      const [problem = '', ...more] = await told(body);
      assert.match(problem, why);
      assert.deepEqual(more, []);
    });

  test('goes with two families where the kubelet takes them', async () => {
    assert.deepEqual(await told(worker(dual)), []);
    assert.deepEqual(await told(worker(dual, external, 'v1.29.0')), []);
    assert.deepEqual(await told(worker(dual, ', kubelet: {args: [{name: v, value: "2"}]}', 'v1.21.14')), []);
  });
});
