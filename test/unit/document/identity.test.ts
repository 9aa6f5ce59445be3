import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { loaded, problemsOf } from '../../support/document.ts';

const join =
  'join: {discovery: {token: {token: abcdef.0123456789abcdef, endpoint: "10.0.0.9:6443", unsafeSkipCAVerification: true}}}';
const worker = (node: string) => `kubernetes: {version: v1.35.2, role: Worker, ${join}, node: ${node}}\n`;
const nodeIP = (value: string) => worker(`{kubelet: {args: [{name: node-ip, value: "${value}"}]}}`);
const told = async (body: string) => (await problemsOf(body)).map((text) => text.replace(/^doc\.yaml:\d+:\d+ {2}/, ''));

describe('the address of a node', () => {
  for (const value of ['10.0.0.5', 'fd00::5', '10.0.0.5,fd00::5', 'fd00::5,10.0.0.5', '0.0.0.0', '::'])
    test(`may be ${value}`, async () => assert.deepEqual(await told(nodeIP(value)), []));

  for (const [value, why] of [
    ['eth1', /"eth1" is not an IP address/],
    ['', /"" is not an IP address/],
    ['10.0.0.5/24', /is not an IP address/],
    ['10.0.0.5, fd00::5', /there are blanks around "fd00::5"/],
    ['10.0.0.5,10.0.0.6', /one address of each family/],
    ['fd00::5,fd00::6', /one address of each family/],
    ['10.0.0.5,fd00::5,fd00::6', /one address of each family/],
    ['::,0.0.0.0', /no unspecified address/],
    ['10.0.0.5,::', /no unspecified address/],
    ['127.0.0.1', /no other machine reaches this node at 127\.0\.0\.1/],
    ['127.8.9.1', /no other machine reaches/],
    ['::1', /no other machine reaches/],
    ['0:0:0:0:0:0:0:1', /no other machine reaches/],
  ] as const)
    test(`is not "${value}"`, async () => {
      const [problem = '', ...more] = await told(nodeIP(value));
      assert.match(problem, why);
      assert.match(problem, /^kubernetes\.node\.kubelet\.args\[0\]\.value: /);
      assert.deepEqual(more, []);
    });

  test('is given once', async () => {
    const twice = worker('{kubelet: {args: [{name: node-ip, value: 10.0.0.1}, {name: node-ip, value: 10.0.0.1}]}}');
    assert.match((await told(twice)).join(), /args\[1\]\.name: node-ip is already given at kubernetes\.node/);
  });
});

describe('the name of a node', () => {
  const long = `${'a'.repeat(31)}.${'b'.repeat(32)}`;
  test('has at most 63 characters, whichever field gives it', async () => {
    assert.equal(long.length, 64);
    assert.match((await told(worker(`{name: ${long}}`))).join(), /^kubernetes\.node\.name: .* at most 63 characters/);
    assert.match((await told(`host: {hostname: ${long}}\n${worker('{}')}`)).join(), /^host\.hostname: .* at most 63/);
    const override = worker(`{kubelet: {args: [{name: hostname-override, value: ${long}}]}}`);
    assert.match((await told(override)).join(), /^kubernetes\.node\.kubelet\.args\[0\]\.value: .* at most 63/);
    assert.deepEqual(await told(worker(`{name: ${long.slice(1)}}`)), []);
  });

  test('is short enough where the host name is not, and the document names the node', async () => {
    assert.deepEqual(await told(`host: {hostname: ${long}}\n${worker('{name: n1}')}`), []);
  });

  test('is not another one for the kubelet', async () => {
    const other = worker('{name: n1, kubelet: {args: [{name: hostname-override, value: n2}]}}');
    assert.match((await told(other)).join(), /kubeadm expects the Node n1, and the kubelet would register as n2/);
    assert.deepEqual(await told(other.replace('n2', 'n1')), []);
  });
});

describe('what a node is said to be', () => {
  test('is one provider ID, in all three places', async () => {
    const three = (a: string, b: string, c: string) =>
      worker(
        `{providerID: "${a}", kubelet: {args: [{name: provider-id, value: "${b}"}], config: {providerID: "${c}"}}}`,
      );
    assert.deepEqual(await told(three('x://1', 'x://1', 'x://1')), []);
    assert.match((await told(three('x://1', 'x://2', 'x://1'))).join(), /args\[0\]\.value: another provider ID than/);
    assert.match((await told(three('x://1', 'x://1', 'x://2'))).join(), /config\.providerID: another provider ID than/);
  });

  test('is one value of a label', async () => {
    const both = (value: string) =>
      worker(`{labels: {rack: a}, kubelet: {args: [{name: node-labels, value: "zone=z,rack=${value}"}]}}`);
    assert.deepEqual(await told(both('a')), []);
    assert.match(
      (await told(both('b'))).join(),
      /gives the label "rack" another value than kubernetes\.node\.labels\.rack/,
    );
  });
});

test('subnets of pods and services that overlap are refused, of either family and size', async () => {
  const of = (pods: string, services: string) =>
    told(
      `kubernetes: {version: v1.35.2, role: InitControlPlane, cluster: {podSubnets: [${pods}], serviceSubnets: [${services}]}}\n`,
    );
  for (const [pods, services] of [
    ['10.96.0.0/16', '10.96.0.0/12'],
    ['10.0.0.0/8', '10.96.0.0/16'],
    ['10.244.0.0/16', '10.244.255.0/24'],
    ['"fd00::/56"', '"fd00::ff00:0/112"'],
    ['"fd00:0:0:ff::/64"', '"fd00:0:0:ff:1::/112"'],
  ] as const)
    assert.match(
      (await of(pods, services)).join(),
      /podSubnets\[0\]: shares addresses with kubernetes\.cluster\.service/,
    );
  for (const [pods, services] of [
    ['10.244.0.0/16', '10.96.0.0/12'],
    ['10.95.0.0/16', '10.96.0.0/16'],
    ['"fd00::/56"', '"fd00:0:0:100::/112"'],
    ['10.0.0.0/8, "fd01::/56"', '"fd00::/112"'],
  ] as const)
    assert.deepEqual(await of(pods, services), [], `${pods} ${services}`);
});

describe('a warning is given', () => {
  const warnings = async (body: string) =>
    (await loaded(body)).warnings.map(({ path, message }) => `${path}: ${message}`);

  test('of a Kubernetes that is newer than all that is known', async () => {
    assert.match(
      (await warnings(worker('{}').replace('v1.35.2', 'v1.99.0'))).join(),
      /^kubernetes\.version: Kubernetes v1\.99\.0 is newer than/,
    );
    assert.deepEqual(await warnings(worker('{}').replace('v1.35.2', 'v1.37.0')), []);
  });

  test('of a password that is locked, by default or by name', async () => {
    const user = (more: string) => warnings(`host: {users: [{name: ada, passwordHash: "${'$6$'}salt$hash"${more}}]}\n`);
    assert.match(
      (await user('')).join(),
      /^host\.users\[0\]: no one can log in with the password of this account: it is locked by default$/,
    );
    // As a status and a log show it.
    assert.match(redact((await user('')).join()), /locked by default$/);
    assert.match((await user(', locked: true')).join(), /: it is locked$/);
    assert.deepEqual(await user(', locked: false'), []);
    assert.deepEqual(await warnings('host: {users: [{name: ada, passwordHash: "!"}]}\n'), []);
  });
});
