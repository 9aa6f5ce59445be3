import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { createServer as createHttpsServer } from 'node:https';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { CATALOGUE } from '@machineadm/failures/catalogue.ts';
import { checkCertificates } from '../../../../src/diagnosis/checks/certificates.ts';
import { checkEndpoint, parseEndpoint } from '../../../../src/diagnosis/checks/endpoint.ts';
import { type Finding, runCheckGroups } from '../../../../src/diagnosis/checks/finding.ts';
import { checkCapacity, checkCgroups, checkDisks, checkSwap } from '../../../../src/diagnosis/checks/machine.ts';
import { checkHostname, checkRouting } from '../../../../src/diagnosis/checks/network.ts';
import { checkPorts } from '../../../../src/diagnosis/checks/ports.ts';
import { checkRuntime } from '../../../../src/diagnosis/checks/runtime.ts';
import { newAuthority, startApiServer } from '../../../support/api-server.ts';
import { selfSigned } from '../../../support/certificates.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const brief = (checks: readonly Finding[]): readonly string[] =>
  checks.map(({ id, severity, reason }) => [id, severity, ...(reason === undefined ? [] : [reason])].join(' '));

const MIB = 1024 * 1024;
const disk = (free: number, options = 'rw'): ReturnType<typeof memoryHost> =>
  memoryHost({ programs: { findmnt: () => ({ stdout: `/ ${100_000 * MIB} ${free * MIB} ${options}\n` }) } });

describe('the checks of the machine', () => {
  test('report a disk that is full, nearly full, read-only or roomy', async () => {
    assert.deepEqual(brief(await checkDisks(disk(100))), ['disk/var/lib/kubelet failed DiskFull']);
    assert.deepEqual(brief(await checkDisks(disk(9_000))), ['disk/var/lib/kubelet warning NodeDiskPressure']);
    assert.deepEqual(brief(await checkDisks(disk(90_000, 'ro,relatime'))), [
      'disk/var/lib/kubelet failed ReadOnlyFilesystem',
    ]);
    assert.deepEqual(brief(await checkDisks(disk(90_000))), ['disk/var/lib/kubelet passed']);
  });

  test("apply kubeadm's limits to a control plane only", async () => {
    const host = memoryHost({ files: { '/proc/meminfo': 'MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n' } });
    assert.deepEqual(brief(await checkCapacity(host, 'controlPlane', 1)), [
      'memory failed InsufficientMemory',
      'cpu failed InsufficientCPU',
    ]);
    assert.deepEqual(brief(await checkCapacity(host, 'worker', 1)), ['memory passed', 'cpu passed']);
  });

  test('report little memory by the size of the machine and its role', async () => {
    const of = (total: number, available: number) =>
      memoryHost({
        files: { '/proc/meminfo': `MemTotal: ${total * 1024} kB\nMemAvailable: ${available * 1024} kB\n` },
      });
    const memory = async (host: ReturnType<typeof memoryHost>, use: 'host' | 'worker') =>
      (await checkCapacity(host, use, 2))[0]?.severity;
    assert.equal(await memory(of(512, 150), 'worker'), 'passed');
    assert.equal(await memory(of(512, 90), 'worker'), 'warning');
    assert.equal(await memory(of(262_144, 190), 'worker'), 'warning');
    assert.equal(await memory(of(512, 90), 'host'), 'passed');
    assert.equal(await memory(of(512, 9), 'host'), 'warning');
  });

  test('report a full disk by the role of the machine: 511 MiB free of 512 are enough, and no host needs room for a kubelet', async () => {
    const of = (total: number, free: number) =>
      memoryHost({ programs: { findmnt: () => ({ stdout: `/ ${total * MIB} ${free * MIB} rw\n` }) } });
    for (const use of ['host', 'worker', 'controlPlane'] as const)
      assert.deepEqual(
        (await checkDisks(of(512, 511), use)).map(({ severity }) => severity),
        ['passed'],
        use,
      );
    assert.deepEqual(brief(await checkDisks(of(100_000, 100), 'controlPlane')), [
      'disk/var/lib/kubelet failed DiskFull',
    ]);
    assert.deepEqual(brief(await checkDisks(of(100_000, 100), 'worker')), [
      'disk/var/lib/kubelet warning NodeDiskPressure',
    ]);
    assert.deepEqual(brief(await checkDisks(of(100_000, 100), 'host')), ['disk/var/log passed']);
    assert.deepEqual(brief(await checkDisks(of(100_000, 10), 'host')), ['disk/var/log failed DiskFull']);
  });

  test('report swap, unless the document turns it off', async () => {
    const host = memoryHost({ files: { '/proc/swaps': 'Filename Type Size\n/dev/vdb partition 1024 0 -2\n' } });
    assert.deepEqual(brief(await checkSwap(host, false)), ['swap warning SwapEnabled']);
    assert.deepEqual(brief(await checkSwap(host, true)), ['swap passed']);
  });

  test('report cgroup v1 where the kubelet refuses it', async () => {
    const v1 = memoryHost({ files: { '/sys/fs/cgroup/memory/cgroup.procs': '' } });
    const v2 = memoryHost({ files: { '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io memory pids' } });
    assert.deepEqual(brief(await checkCgroups(v1, parseVersion('v1.35.0'))), ['cgroup failed CgroupV1Unsupported']);
    assert.deepEqual(brief(await checkCgroups(v2, parseVersion('v1.35.0'))), ['cgroup passed']);
    assert.deepEqual(brief(await checkCgroups(v1, undefined)), ['cgroup passed']);
    assert.deepEqual(brief(await checkCgroups(v1, parseVersion('v1.34.0'))), ['cgroup passed']);
  });

  test('report a port that is in use, but not the ports of the node itself', async () => {
    const tcp = '  sl  local_address rem_address   st\n   0: 00000000:280A 00000000:0000 0A 0\n';
    assert.deepEqual(brief(await checkPorts(memoryHost({ files: { '/proc/net/tcp': tcp } }), false, 6443)), [
      'ports/10250 failed PortInUse',
    ]);
    const node = memoryHost({ files: { '/proc/net/tcp': tcp, '/etc/kubernetes/kubelet.conf': '' } });
    assert.deepEqual(brief(await checkPorts(node, false, 6443)), ['ports passed']);
  });

  test('report a host name that cannot name a Node, and one that does not resolve', async () => {
    const host = memoryHost({ programs: { getent: () => ({ status: 2 }) } });
    assert.deepEqual(brief(await checkHostname(host, 'bad_name', false)), ['hostname failed NodeNameInvalid']);
    assert.deepEqual(brief(await checkHostname(host, 'n1', false)), ['hostname warning HostnameUnresolvable']);
    assert.deepEqual(brief(await checkHostname(host, 'n1', true)), ['hostname passed']);
  });

  test('report a missing default route', async () => {
    const none = memoryHost({ files: { '/proc/net/route': 'Iface\tDestination\tGateway\n' } });
    assert.deepEqual(brief(await checkRouting(none, false)), ['route warning NoDefaultRoute']);
    assert.deepEqual(brief(await checkRouting(none, true)), []);
  });

  test('report a runtime that is missing, stopped, or does not speak CRI', async () => {
    assert.deepEqual(brief(await checkRuntime(memoryHost(), 'unix:///x', [], false, undefined)), [
      'runtime/service failed ContainerRuntimeMissing',
    ]);
    const stopped = memoryHost({ services: { containerd: { active: false } } });
    const crio = await checkRuntime(memoryHost(), 'unix:///run/crio/crio.sock', [], false, undefined);
    assert.match(crio[0]?.text ?? '', /^crio is not installed/);
    assert.deepEqual(brief(await checkRuntime(stopped, 'unix:///x', [], false, undefined)), [
      'runtime/service failed ContainerRuntimeNotRunning',
    ]);
    const dumb = memoryHost({
      services: { containerd: { active: true } },
      cri: { version: () => Promise.reject(new Error('unknown service runtime.v1.RuntimeService')) },
    });
    assert.deepEqual(brief(await checkRuntime(dumb, 'unix:///x', [], false, undefined)), [
      'runtime/cri failed ContainerRuntimeNotReady',
    ]);
  });

  test('report a runtime that says that it is not ready, with its message', async () => {
    const conditions = [
      { type: 'RuntimeReady', status: false, reason: 'Broken', message: 'no snapshotter' },
      { type: 'NetworkReady', status: false, reason: 'NetworkPluginNotReady', message: 'no CNI' },
    ];
    const host = memoryHost({
      services: { containerd: { active: true } },
      cri: {
        version: async () => ({ runtimeName: 'containerd', runtimeVersion: 'v2.0.0' }),
        status: async () => conditions,
      },
    });
    const found = await checkRuntime(host, 'unix:///x', [], false, undefined);
    assert.deepEqual(brief(found), ['runtime/cri failed ContainerRuntimeNotReady']);
    assert.equal(found[0]?.text, 'the container runtime is not ready: Broken no snapshotter');
  });

  test('report a containerd that is older than its maintainers recommend for the kubelet', async () => {
    const runtime = (runtimeVersion: string, kubelet: string | undefined) => {
      const cri = { version: async () => ({ runtimeName: 'containerd', runtimeVersion }), status: async () => [] };
      const host = memoryHost({ services: { containerd: { active: true } }, cri });
      return checkRuntime(host, 'unix:///x', [], false, kubelet === undefined ? undefined : parseVersion(kubelet));
    };
    const old = await runtime('1.6.20~ds1', 'v1.33.1');
    assert.deepEqual(brief(old), ['runtime/cri passed', 'runtime/version warning ContainerRuntimeUnsupported']);
    assert.match(old[1]?.text ?? '', /recommend for Kubernetes 1\.33, which is 1\.6\.36$/);
    assert.match((await runtime('v1.7.30', 'v1.36.0'))[1]?.text ?? '', /which is 2\.2\.0$/);
    for (const [version, kubelet] of [
      ['1.6.20~ds1', 'v1.20.2'],
      ['1.6.36', 'v1.33.1'],
      ['v2.3.4', 'v1.34.0'],
      ['1.6.20', undefined],
    ] as const) {
      assert.deepEqual(brief(await runtime(version, kubelet)), ['runtime/cri passed'], version);
    }
  });

  test('end in time: a check that hangs or throws is reported as skipped', async () => {
    const checks = await runCheckGroups(
      {
        hangs: () => new Promise(() => {}),
        throws: () => Promise.reject(new Error('EACCES')),
        works: async () => [{ id: 'x', title: 'machine', severity: 'passed', text: 'fine' }],
      },
      50,
    );
    assert.deepEqual(brief(checks), ['hangs skipped', 'throws skipped', 'x passed']);
  });
});

describe('the certificates on the disk', () => {
  const NOW = Date.parse('2026-11-20T10:00:00Z');
  const DAY = 24 * 3_600_000;
  const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ca = (from: number, to: number, keys = pair()): string =>
    selfSigned({
      key: keys.privateKey,
      publicKey: keys.publicKey,
      notBefore: new Date(NOW + from),
      notAfter: new Date(NOW + to),
      authority: true,
      commonName: 'kubernetes',
    });
  const PATH = '/etc/kubernetes/pki/ca.crt';
  const cases: readonly (readonly [string, string, string])[] = [
    ['that is valid', ca(-DAY, 365 * DAY), 'passed'],
    ['that expired', ca(-20 * DAY, -DAY), 'failed CertificateExpired'],
    ['that expires within a week', ca(-20 * DAY, DAY), 'warning CertificateExpired'],
    ['of the future', ca(DAY, 365 * DAY), 'failed ClockSkew'],
    ['that is none', 'garbage', 'failed CertificateUnreadable'],
  ];
  for (const [what, pem, expected] of cases) {
    test(`one ${what} is ${expected}`, async () => {
      assert.deepEqual(brief(await checkCertificates(memoryHost({ files: { [PATH]: pem } }), NOW)), [
        `certificate${PATH} ${expected}`,
      ]);
    });
  }

  test('one of an earlier CA is stale', async () => {
    const host = memoryHost({
      files: { [PATH]: ca(-DAY, 365 * DAY), '/etc/kubernetes/pki/apiserver.crt': ca(-DAY, 365 * DAY) },
    });
    assert.deepEqual(brief(await checkCertificates(host, NOW)).slice(1), [
      'certificate/etc/kubernetes/pki/apiserver.crt failed StaleCertificates',
    ]);
  });
});

describe('the endpoint of the API server', () => {
  const CA = '/etc/kubernetes/pki/ca.crt';

  test('is a name or an address, with a port or without', () => {
    assert.deepEqual(parseEndpoint('api.example:7443'), { name: 'api.example', port: 7443 });
    assert.deepEqual(parseEndpoint('[fd00::1]:6443'), { name: 'fd00::1', port: 6443 });
    assert.deepEqual(parseEndpoint('10.0.0.1'), { name: '10.0.0.1', port: 6443 });
    assert.equal(parseEndpoint(''), undefined);
  });

  test('that no program listens on is refused', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((done) => server.close(done));
    const checks = await checkEndpoint(memoryHost(), { name: '127.0.0.1', port }, Date.now);
    assert.deepEqual(brief(checks), [
      'endpoint/name passed',
      'endpoint/connection failed APIEndpointConnectionRefused',
    ]);
  });

  test('that closes every connection is an unhealthy load balancer', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const checks = await checkEndpoint(memoryHost(), { name: '127.0.0.1', port }, Date.now);
    await new Promise((done) => server.close(done));
    assert.deepEqual(brief(checks), ['endpoint/name passed', 'endpoint/tls failed APIEndpointLoadBalancerUnhealthy']);
  });

  test('passes with the right CA and time, and fails with another', async () => {
    const authority = newAuthority();
    await using server = await startApiServer(authority, () => undefined);
    const { port } = new URL(server.url);
    const endpoint = { name: '127.0.0.1', port: Number(port) };
    const here = memoryHost({ files: { [CA]: authority.certificate } });
    assert.deepEqual(brief(await checkEndpoint(here, endpoint, Date.now)).slice(1), [
      'endpoint/tls passed',
      'clock/offset passed',
    ]);
    const behind = await checkEndpoint(here, endpoint, () => Date.now() - 3_600_000);
    assert.deepEqual(brief(behind).slice(1), ['endpoint/tls passed', 'clock/offset failed ClockSkew']);
    assert.match(behind.at(-1)?.text ?? '', /^the clock is 3\d{3} s behind the API server's$/);
    const other = memoryHost({ files: { [CA]: newAuthority('other').certificate } });
    assert.deepEqual(brief(await checkEndpoint(other, endpoint, Date.now)).slice(1), [
      'endpoint/tls failed APIServerCertUntrusted',
    ]);
  });
});

test('an API server whose etcd does not answer', async () => {
  const authority = newAuthority();
  let health = { status: 200, body: 'ok' };
  const { certificate, key } = authority.issue('kube-apiserver', ['127.0.0.1']);
  const server = createHttpsServer({ cert: certificate, key }, (request, response) => {
    const { status, body } = request.url === '/livez' ? health : { status: 200, body: '{}' };
    response.writeHead(status).end(body);
  }).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const look = (host = memoryHost()) => checkEndpoint(host, { name: '127.0.0.1', port }, Date.now);
  assert.deepEqual(brief(await look()).slice(1), ['endpoint/tls passed', 'clock/offset passed']);
  health = { status: 500, body: '[+]ping ok\n[-]etcd failed: reason withheld\nlivez check failed\n' };
  const checks = await look();
  const own = await look(memoryHost({ files: { '/etc/kubernetes/manifests/etcd.yaml': 'pod' } }));
  health = { status: 500, body: '[+]ping ok\n[+]etcd ok\n[-]poststarthook/x failed: reason withheld\n' };
  const other = await look();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  assert.deepEqual(brief(checks).slice(3), ['endpoint/etcd failed EtcdNoLeader']);
  const facts = CATALOGUE.filter(({ source }) => source === 'check');
  assert.ok(facts.some(({ pattern, reason }) => pattern.test(checks[3]?.text ?? '') && reason === checks[3]?.reason));
  assert.deepEqual(brief(other).slice(3), []);
  assert.deepEqual(brief(own).slice(3), [], 'etcd of this machine may be the cause');
});

test('the catalogue knows the message of a failed check', async () => {
  const said = await checkDisks(disk(100));
  const facts = CATALOGUE.filter(({ source }) => source === 'check');
  assert.ok(facts.some(({ pattern, reason }) => pattern.test(said[0]?.text ?? '') && reason === said[0]?.reason));
});
