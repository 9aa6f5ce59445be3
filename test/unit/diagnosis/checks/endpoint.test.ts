import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { askApiServer, checkControlPlane, sharedEndpoint } from '../../../../src/diagnosis/checks/control-plane.ts';
import { checkEndpoint, type Endpoint, hostAndPort, parseEndpoint } from '../../../../src/diagnosis/checks/endpoint.ts';
import type { Finding } from '../../../../src/diagnosis/checks/finding.ts';
import { checkOwnEndpoint } from '../../../../src/diagnosis/checks/own-endpoint.ts';
import { newAuthority } from '../../../support/api-server.ts';
import { startServer } from '../../../support/http-servers.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const NOW = Date.parse('2026-11-20T10:00:00Z');
const now = (): number => NOW;
const CA = '/etc/kubernetes/pki/ca.crt';
const MANIFEST = '/etc/kubernetes/manifests/kube-apiserver.yaml';
const AUTHORITY = newAuthority();
const SERVING = AUTHORITY.issue('kube-apiserver', ['127.0.0.1']);

/** An HTTPS server that answers these paths with a status and a body, and others with 404. */
const apiServer = (answers: Readonly<Record<string, readonly [status: number, body?: string]>>, date?: string) =>
  startServer(({ url }) => {
    const [status, body = ''] = answers[url ?? ''] ?? [404];
    return { status, body, ...(date === undefined ? {} : { headers: { date } }) };
  }, SERVING);

/** A port of the loopback at which nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** /proc/net/tcp of a machine that listens at these ports. */
const listening = (...ports: readonly number[]): string =>
  `heading\n${ports.map((port, index) => `${index}: 00000000:${port.toString(16).toUpperCase()} 00000000:0000 0A\n`).join('')}`;

const shape = ({ id, title, severity, reason, text }: Finding) => [id, title, severity, reason, text];

describe('the address of an API server', () => {
  const TABLE: readonly (readonly [string, Endpoint | undefined, string?])[] = [
    ['api.example', { name: 'api.example', port: 6443 }, 'api.example:6443'],
    ['api.example:1', { name: 'api.example', port: 1 }, 'api.example:1'],
    ['https://api.example:8443/', { name: 'api.example', port: 8443 }, 'api.example:8443'],
    ['[fd00::1]', { name: 'fd00::1', port: 6443 }, '[fd00::1]:6443'],
    ['https://[fd00::1]:443', { name: 'fd00::1', port: 443 }, '[fd00::1]:443'],
    ['http://api.example', undefined],
    ['api.example/path', undefined],
    ['api example', undefined],
    ['api.example:123456', undefined],
    ['x[fd00::1]', undefined],
    ['[fd00::1]:6443 ', undefined],
    ['[fd00::g]', undefined],
    ['fd00::1', undefined],
    [':6443', undefined],
  ];
  for (const [text, expected, shown] of TABLE)
    test(`"${text}" is ${shown ?? 'none'}`, () => {
      assert.deepEqual(parseEndpoint(text), expected);
      assert.equal(expected && hostAndPort(expected), shown);
    });
});

describe('the connection to an API server', () => {
  const NAMED = ['endpoint/name', 'network', 'passed', undefined, 'the API endpoint is an address'];
  const files = { [CA]: AUTHORITY.certificate };
  const of = async (port: number, machine: Readonly<Record<string, string>> = files, clock = now, name = '127.0.0.1') =>
    (await checkEndpoint(memoryHost({ files: machine }), { name, port }, clock)).map(shape);

  test('begins with its name', async () => {
    const port = await closedPort();
    assert.deepEqual((await of(port, {}, now, 'localhost'))[0]?.slice(0, 4), [
      'endpoint/name',
      'network',
      'passed',
      undefined,
    ]);
    // A label of 64 letters (RFC 1035, 2.3.4): no name server is asked.
    const name = 'a'.repeat(64);
    const [unresolved, ...more] = await of(port, {}, now, name);
    assert.deepEqual(unresolved?.slice(0, 4), ['endpoint/name', 'network', 'failed', 'APIEndpointDNSFailure']);
    assert.ok(String(unresolved?.[4]).startsWith(`the name of the API endpoint ${name}:${port} does not resolve (`));
    assert.deepEqual(more, []);
  });

  test('that is refused is reported as such', async () => {
    const port = await closedPort();
    assert.deepEqual(await of(port), [
      NAMED,
      [
        'endpoint/connection',
        'network',
        'failed',
        'APIEndpointConnectionRefused',
        `the API endpoint 127.0.0.1:${port} refuses connections`,
      ],
    ]);
  });

  const VERSION = { '/version': [200, '{}'], '/livez': [200, 'ok'] } as const;
  const DATE = new Date(NOW).toUTCString();
  const SKEWS: readonly (readonly [seconds: number, severity: string, text: string])[] = [
    [0, 'passed', "the clock is within 1 s of the API server's"],
    [300, 'passed', "the clock is within 301 s of the API server's"],
    [-300, 'passed', "the clock is within 301 s of the API server's"],
    [301, 'failed', "the clock is 301 s ahead of the API server's"],
    [-301, 'failed', "the clock is 301 s behind the API server's"],
  ];
  for (const [seconds, severity, text] of SKEWS)
    test(`has ${severity} with a clock that is ${seconds} s off`, async () => {
      await using server = await apiServer(VERSION, DATE);
      assert.deepEqual(await of(server.port, files, () => NOW + seconds * 1_000), [
        NAMED,
        ['endpoint/tls', 'network', 'passed', undefined, `the API server at 127.0.0.1:${server.port} answers`],
        ['clock/offset', 'network', severity, severity === 'failed' ? 'ClockSkew' : undefined, text],
      ]);
      assert.deepEqual(server.requests, ['GET /version', 'GET /livez']);
    });

  test('has no finding about the clock if the server sends no time, and reports a missing CA as not checked', async () => {
    await using server = await apiServer(VERSION, 'never');
    assert.deepEqual(await of(server.port, {}), [
      NAMED,
      [
        'endpoint/tls',
        'network',
        'passed',
        undefined,
        `the API server at 127.0.0.1:${server.port} answers (its certificate was not checked: this machine has no CA yet)`,
      ],
    ]);
  });

  const FAILED = '[+]ping ok\n[-]etcd failed: reason withheld\n';
  const HEALTH: readonly (readonly [string, readonly [number, string], boolean])[] = [
    ['lists etcd as failed', [500, FAILED], true],
    ['lists something else', [500, '[+]etcd ok\n[-]poststarthook/x failed: [-]etcd failed\n'], false],
    ['lists it with another status', [403, FAILED], false],
    ['is fine', [200, 'ok'], false],
  ];
  for (const [what, answer, isReported] of HEALTH)
    test(`${isReported ? 'reports' : 'does not report'} etcd where the health of the server ${what}`, async () => {
      await using server = await apiServer({ ...VERSION, '/livez': answer }, 'never');
      const expected = [
        'endpoint/etcd',
        'network',
        'failed',
        'EtcdNoLeader',
        `the API server at 127.0.0.1:${server.port} answers, but its etcd does not`,
      ];
      assert.deepEqual((await of(server.port)).slice(2), isReported ? [expected] : []);
    });

  test('does not ask for the health where etcd of this machine may be the cause', async () => {
    await using server = await apiServer({ ...VERSION, '/livez': [500, FAILED] }, 'never');
    assert.equal((await of(server.port, { ...files, '/etc/kubernetes/manifests/etcd.yaml': '' })).length, 2);
    assert.deepEqual(server.requests, ['GET /version']);
  });

  test('to a server of another CA, for other names, or without an API is reported as such', async () => {
    await using server = await apiServer(VERSION, 'never');
    const at = `127.0.0.1:${server.port}`;
    const tls = async (machine: Readonly<Record<string, string>>, port = server.port) =>
      (await of(port, machine)).slice(1).map(([id, , severity, reason, text]) => [id, severity, reason, text]);
    assert.deepEqual(await tls({ [CA]: newAuthority('other').certificate }), [
      [
        'endpoint/tls',
        'failed',
        'APIServerCertUntrusted',
        `the certificate of the API server at ${at} is not signed by ${CA}`,
      ],
    ]);
    await using misnamed = await startServer(() => ({}), AUTHORITY.issue('kube-apiserver', ['192.0.2.1']));
    assert.deepEqual(await tls(files, misnamed.port), [
      [
        'endpoint/tls',
        'failed',
        'APIServerCertSANMismatch',
        `the certificate of the API server at 127.0.0.1:${misnamed.port} is for other names`,
      ],
    ]);
    await using plain = await startServer(() => ({}));
    const [spoken] = await tls(files, plain.port);
    assert.deepEqual(spoken?.slice(0, 3), ['endpoint/tls', 'failed', 'APIEndpointNotTLS']);
  });
});

describe('the control plane of this machine', () => {
  const manifest = (port: number) => `- --advertise-address=127.0.0.1\n- --secure-port=${port}\n`;
  const of = async (port: number) => await checkControlPlane(memoryHost({ files: { [MANIFEST]: manifest(port) } }));

  test('is not checked on a worker', async () => {
    assert.deepEqual(await checkControlPlane(memoryHost()), []);
  });

  for (const status of [200, 401, 403])
    test(`is healthy if its API server answers ${status}`, async () => {
      await using server = await apiServer({ '/livez': [status] });
      assert.deepEqual(await of(server.port), [
        {
          id: 'control-plane/kube-apiserver',
          title: 'control plane',
          severity: 'passed',
          text: 'the API server on this machine is healthy',
        },
      ]);
      assert.deepEqual(server.requests, ['GET /livez']);
    });

  test('is not healthy with another status, or without an answer', async () => {
    await using server = await apiServer({ '/livez': [500] });
    assert.deepEqual(await of(server.port), [
      {
        id: 'control-plane/kube-apiserver',
        title: 'control plane',
        severity: 'failed',
        reason: 'ControlPlaneComponentNotHealthy',
        text: 'the API server on this machine is not healthy: it answers 500',
        remedy: 'Read the log of the container: `crictl ps -a --name kube-apiserver`, then `crictl logs`.',
      },
    ]);
    const [refused] = await of(await closedPort());
    assert.match(refused?.text ?? '', /^the API server on this machine is not healthy: .*ECONNREFUSED/);
    assert.equal(await askApiServer({ name: '127.0.0.1', port: server.port }), 'it answers 500');
  });
});

describe('the connection of a first control plane to its own API server', () => {
  const machine = (port: number, ...ports: readonly number[]) =>
    memoryHost({
      files: {
        [MANIFEST]: `- --advertise-address=127.0.0.1\n- --secure-port=${port}\n`,
        '/proc/net/tcp': listening(...ports),
        [CA]: AUTHORITY.certificate,
      },
    });
  const of = async (host: ReturnType<typeof machine>, endpoint?: Endpoint) =>
    (await checkOwnEndpoint(host, endpoint, now, 3000)).map(({ id, severity, reason }) => [id, severity, reason]);
  const HEALTHY = { '/livez': [200], '/version': [200, '{}'] } as const;

  test('explains nothing where the server is not here, does not listen, or has stopped', async () => {
    const port = await closedPort();
    const endpoint = { name: '127.0.0.1', port: await closedPort() };
    assert.deepEqual(await of(memoryHost({ files: { '/proc/net/tcp': listening(6443) } }), endpoint), []);
    assert.deepEqual(await of(machine(port, port + 1), endpoint), []);
    assert.deepEqual(await of(machine(port, port), endpoint), []);
  });

  test('ends at the server itself where the document names no other endpoint', async () => {
    await using server = await apiServer(HEALTHY);
    const host = machine(server.port, server.port);
    assert.deepEqual(await of(host), []);
    assert.deepEqual(await of(host, { name: '127.0.0.1', port: server.port }), []);
    assert.deepEqual(server.requests, []);
  });

  test('continues to the endpoint of the document where the server is healthy, and only there', async () => {
    const dead = { name: '127.0.0.1', port: await closedPort() };
    await using server = await apiServer(HEALTHY);
    assert.deepEqual(await of(machine(server.port, server.port), dead), [
      ['endpoint/name', 'passed', undefined],
      ['endpoint/connection', 'failed', 'APIEndpointConnectionRefused'],
    ]);
    // The same port at another name is another endpoint.
    const named = await of(machine(server.port, server.port), { name: 'localhost', port: server.port });
    assert.deepEqual(named[0], ['endpoint/name', 'passed', undefined]);
    await using sick = await apiServer({ '/livez': [500] });
    assert.deepEqual(await of(machine(sick.port, sick.port), dead), []);
  });
});

describe('the endpoint that others use for a control plane', () => {
  const manifest = 'command: [kube-apiserver, --advertise-address=10.0.0.2 , --secure-port=6443 ]';
  const shared = (server: string | undefined, apiServer: string | undefined = manifest) =>
    sharedEndpoint(
      memoryHost({
        files: {
          ...(apiServer === undefined ? {} : { '/etc/kubernetes/manifests/kube-apiserver.yaml': apiServer }),
          ...(server === undefined
            ? {}
            : { '/etc/kubernetes/admin.conf': `clusters:\n- cluster:\n    server: ${server}\n` }),
        },
      }),
    );

  test('is the server of admin.conf, where that is not the own API server', async () => {
    assert.deepEqual(await shared('https://api.example:7443'), { name: 'api.example', port: 7443 });
    assert.deepEqual(await shared('"https://[fd00::1]:6443"'), { name: 'fd00::1', port: 6443 });
    assert.equal(await shared('https://10.0.0.2:6443'), undefined);
    assert.equal(await shared(undefined), undefined);
    const worker = memoryHost({ files: { '/etc/kubernetes/admin.conf': 'server: https://api.example:6443' } });
    assert.equal(await sharedEndpoint(worker), undefined);
  });
});
