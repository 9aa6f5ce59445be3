import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkHostname, checkRouting } from '../../../../src/diagnosis/checks/network.ts';
import { checkPorts, listeningPorts } from '../../../../src/diagnosis/checks/ports.ts';
import { memoryHost } from '../../../support/memory-host.ts';

describe('a host name', () => {
  const of = async (name: string, willBeSet = false, status = 0) => {
    const host = memoryHost({ programs: { getent: () => ({ status }) } });
    const [found, ...more] = await checkHostname(host, name, willBeSet);
    assert.deepEqual([found?.id, found?.title, more], ['hostname', 'network', []]);
    return { found, queries: host.queries };
  };

  const LONGEST = `${'a'.repeat(31)}.${'a'.repeat(31)}`;
  for (const name of ['a', 'n1', 'node-1', 'node--1', '1.example.com', 'NODE-1', LONGEST])
    test(`may be ${name.slice(0, 20)} (${name.length} letters)`, async () => {
      const { found, queries } = await of(name);
      assert.deepEqual([found?.severity, found?.reason], ['passed', undefined]);
      assert.deepEqual(queries, [`getent ahosts ${name}`]);
    });

  for (const name of ['', '-a', 'a-', 'a..b', '.a', 'a.', 'a_b', 'a b', 'a.-b', 'ä', `${LONGEST}a`])
    test(`cannot be "${name.slice(0, 20)}" (${name.length} letters)`, async () => {
      const { found, queries } = await of(name, true);
      assert.deepEqual(
        [found?.severity, found?.reason, found?.text],
        ['failed', 'NodeNameInvalid', `the host name "${name}" cannot name a Node`],
      );
      assert.match(found?.remedy ?? '', /^Set host\.hostname or kubernetes\.node\.name/);
      assert.deepEqual(queries, []);
    });

  test('that the document sets need not resolve yet; one of the machine that does not is a warning', async () => {
    const set = await of('n1', true, 2);
    assert.deepEqual([set.found?.severity, set.found?.text, set.queries], ['passed', 'the host name will be n1', []]);
    const { found } = await of('n1', false, 2);
    assert.deepEqual(
      [found?.severity, found?.reason, found?.text],
      ['warning', 'HostnameUnresolvable', 'the host name n1 does not resolve'],
    );
  });
});

describe('a default route', () => {
  const V4 = 'Iface\tDestination\tGateway\tFlags\n';
  const ZERO = '0'.repeat(32);
  const of = async (files: Readonly<Record<string, string>>, isAddressGiven = false) =>
    (await checkRouting(memoryHost({ files }), isAddressGiven)).map(({ id, title, severity, reason, text }) => [
      id,
      title,
      severity,
      reason,
      text,
    ]);
  const THERE = [['route', 'network', 'passed', undefined, 'there is a default route']];
  const NONE = [['route', 'network', 'warning', 'NoDefaultRoute', 'there is no default route']];

  const CASES: readonly (readonly [string, Readonly<Record<string, string>>, boolean])[] = [
    ['of IPv4', { '/proc/net/route': `${V4}eth0\t00000000\t0102A8C0\t0003\n` }, true],
    [
      'of IPv4 behind others',
      { '/proc/net/route': `${V4}eth0\t0002A8C0\t00000000\t1\neth1\t00000000\tFF02A8C0\t3\n` },
      true,
    ],
    [
      'of IPv6',
      { '/proc/net/ipv6_route': `${ZERO} 00 ${ZERO} 00 fe80 00000400 00000001 00000000 00000003     eth0\n` },
      true,
    ],
    [
      'of IPv6 that is the one of lo',
      { '/proc/net/ipv6_route': `${ZERO} 00 ${ZERO} 00 ${ZERO} ffffffff 00200200       lo\n` },
      false,
    ],
    ['of IPv6 to a network', { '/proc/net/ipv6_route': `${ZERO} 40 ${ZERO} 00 fe80 00000003     eth0\n` }, false],
    ['of a network only', { '/proc/net/route': `${V4}eth0\t0002A8C0\t00000000\t0001\n` }, false],
    ['of a machine without a network', {}, false],
  ];
  for (const [what, files, isThere] of CASES)
    test(`${what} is ${isThere ? 'there' : 'none'}`, async () => {
      assert.deepEqual(await of(files), isThere ? THERE : NONE);
    });

  test('is not needed where the document names the address to advertise', async () => {
    // The document's requirements say whether an interface has it.
    assert.deepEqual(await of({}, true), []);
  });
});

describe('the ports of a node', () => {
  /** A line of /proc/net/tcp. */
  const line = (address: string, port: number, state = '0A') =>
    `   0: ${address}:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 ${state} 0 0\n`;
  const HEADING = '  sl  local_address rem_address   st tx_queue\n';
  const V4 = '00000000';
  const V6 = '0'.repeat(32);
  const of = async (files: Readonly<Record<string, string>>, isControlPlane: boolean, bindPort = 6443) =>
    await checkPorts(memoryHost({ files }), isControlPlane, bindPort);

  test('that are free are listed, with the bind port of a control plane', async () => {
    const free = (text: string) => [{ id: 'ports', title: 'network', severity: 'passed', text }];
    assert.deepEqual(await of({}, false, 7443), free('free: 10250'));
    assert.deepEqual(await of({}, true, 7443), free('free: 7443, 10250, 10257, 10259, 2379, 2380, 2381'));
  });

  test('that are in use are failures with the name of the program that needs them', async () => {
    const taken = [6443, 10_250, 10_257, 10_259, 2379].map((port) => line(V4, port)).join('');
    const files = { '/proc/net/tcp': HEADING + taken, '/proc/net/tcp6': HEADING + line(V6, 2380) + line(V6, 2381) };
    const found = await of(files, true);
    assert.deepEqual(
      found.map(({ id, text }) => `${id}: ${text}`),
      [
        'ports/6443: port 6443, which kube-apiserver needs, is in use',
        'ports/10250: port 10250, which kubelet needs, is in use',
        'ports/10257: port 10257, which kube-controller-manager needs, is in use',
        'ports/10259: port 10259, which kube-scheduler needs, is in use',
        'ports/2379: port 2379, which etcd needs, is in use',
        'ports/2380: port 2380, which etcd needs, is in use',
        'ports/2381: port 2381, which etcd needs, is in use',
      ],
    );
    assert.deepEqual(found[0], {
      id: 'ports/6443',
      title: 'network',
      severity: 'failed',
      reason: 'PortInUse',
      text: 'port 6443, which kube-apiserver needs, is in use',
      remedy: 'Find the listener with `ss -ltnp sport = :6443` and stop it.',
    });
    assert.deepEqual(
      (await of(files, false)).map(({ id }) => id),
      ['ports/10250'],
    );
  });

  test('that the node itself uses are no failure', async () => {
    const files = { '/proc/net/tcp': HEADING + line(V4, 10_250), '/etc/kubernetes/kubelet.conf': '' };
    assert.deepEqual(await of(files, false), [
      {
        id: 'ports',
        title: 'network',
        severity: 'passed',
        text: 'this machine is already a node and uses these ports',
      },
    ]);
  });

  test('are in use only where a program listens: neither a connection nor the heading counts', async () => {
    const files = {
      '/proc/net/tcp': `${line(V4, 1)}${line(V4, 22)}${line(V4, 2379, '01')}${line(V4, 443)}`,
      '/proc/net/tcp6': HEADING + line(V6, 80),
    };
    assert.deepEqual([...(await listeningPorts(memoryHost({ files })))], [22, 443, 80]);
    assert.deepEqual([...(await listeningPorts(memoryHost()))], []);
  });
});
