import { lookup } from 'node:dns/promises';
import { connect, isIP } from 'node:net';
import type { QueryHost } from '../../host/host.ts';
import type { Check } from './check.ts';

/** Where an API server is looked for. */
export interface Endpoint {
  readonly name: string;
  readonly port: number;
}

/** `api.example:6443`, `10.0.0.1`, `[fd00::1]:6443`; the port defaults to 6443. undefined = it is none of these. */
export function parseEndpoint(text: string): Endpoint | undefined {
  const match = /^(?:https:\/\/)?(?:\[([0-9a-fA-F:.]+)\]|([^\s:/[\]]+))(?::(\d{1,5}))?\/?$/.exec(text);
  const name = match?.[1] ?? match?.[2];
  return name === undefined ? undefined : { name, port: Number(match?.[3] ?? 6443) };
}

const CA_PATH = '/etc/kubernetes/pki/ca.crt';
const STEP_MS = 4000;
/** From here on certificates and tokens are refused in practice: kubeadm makes certificates valid from five minutes ago on. */
const GREATEST_SKEW_S = 300;

/**
 * The way to the API server, step by step: name, connection, TLS, its answer, its clock. Nothing is sent but a request for
 * `/version`, without credentials. Each step is bounded.
 * @param now milliseconds since the epoch
 */
export async function checkEndpoint(host: QueryHost, endpoint: Endpoint, now: () => number): Promise<readonly Check[]> {
  const shown = `${isIP(endpoint.name) === 6 ? `[${endpoint.name}]` : endpoint.name}:${endpoint.port}`;
  const addresses = await resolve(endpoint.name);
  if (typeof addresses === 'string') {
    return [
      {
        id: 'endpoint/name',
        group: 'network',
        state: 'failed',
        reason: 'APIEndpointDNSFailure',
        text: `the name of the API endpoint ${shown} does not resolve (${addresses})`,
        remedy: 'Correct the name or the resolver (/etc/resolv.conf), or use an address.',
      },
    ];
  }
  const named: Check = {
    id: 'endpoint/name',
    group: 'network',
    state: 'ok',
    text: `${endpoint.name} is ${addresses.join(', ')}`,
  };
  const refusal = await probeTcp(addresses[0] ?? endpoint.name, endpoint.port);
  if (refusal !== undefined) return [named, unreachable(shown, refusal)];
  return [named, ...(await greet(host, endpoint, shown, now))];
}

async function resolve(name: string): Promise<readonly string[] | string> {
  if (isIP(name) !== 0) return [name];
  const late = new Promise<string>((done) => setTimeout(done, STEP_MS, 'no answer in time').unref());
  const found = lookup(name, { all: true }).then(
    (list) => list.map(({ address }) => address),
    (error: unknown) => codeOf(error),
  );
  return Promise.race([found, late]);
}

/** The error with which a connection fails; undefined: it is accepted. */
export function probeTcp(address: string, port: number): Promise<string | undefined> {
  return new Promise((done) => {
    const socket = connect({ host: address, port, timeout: STEP_MS });
    const end = (result: string | undefined): void => {
      socket.destroy();
      done(result);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end('ETIMEDOUT'));
    socket.once('error', (error) => end(codeOf(error)));
  });
}

function unreachable(shown: string, code: string): Check {
  const base = { id: 'endpoint/connection', group: 'network', state: 'failed' } as const;
  if (code === 'ECONNREFUSED') {
    return {
      ...base,
      reason: 'APIEndpointConnectionRefused',
      text: `the API endpoint ${shown} refuses connections`,
      remedy: 'Look whether the API server or its load balancer runs, and at the port.',
    };
  }
  return {
    ...base,
    reason: 'APIEndpointTimeout',
    text: `the API endpoint ${shown} cannot be reached (${code})`,
    remedy: 'Look at routes, firewalls and security groups between this machine and the endpoint.',
  };
}

interface Greeting {
  readonly status: number;
  readonly date: string | undefined;
  readonly body: string;
}

/** A list of checks is short; more is none of an API server. */
const LONGEST_BODY = 64 * 1024;

/** TLS and one request. Without a CA on the disk the certificate is not judged, as a joining machine cannot yet. */
async function greet(
  host: QueryHost,
  { name, port }: Endpoint,
  shown: string,
  now: () => number,
): Promise<readonly Check[]> {
  const ca = await host.readText(CA_PATH);
  const answer = await ask({ name, port }, '/version', ca);
  if (typeof answer === 'string') return [refusedByTls(shown, answer)];
  const judged = ca === undefined ? ' (its certificate was not judged: no CA is here yet)' : '';
  return [
    { id: 'endpoint/tls', group: 'network', state: 'ok', text: `the API server at ${shown} answers${judged}` },
    ...clockCheck(answer.date, now()),
    ...((await hasOwnEtcd(host)) ? [] : etcdCheck(shown, await ask({ name, port }, '/livez', ca))),
  ];
}

/** What an API server answers without credentials, or the code of the error. */
async function ask({ name, port }: Endpoint, path: string, ca: string | undefined): Promise<Greeting | string> {
  const { request } = await import('node:https');
  return new Promise<Greeting | string>((done) => {
    const outgoing = request(
      {
        host: name,
        port,
        path,
        agent: false,
        timeout: STEP_MS,
        ...(ca === undefined ? { rejectUnauthorized: false } : { ca, rejectUnauthorized: true }),
        minVersion: 'TLSv1.2',
        ...(isIP(name) === 0 ? { servername: name } : {}),
      },
      (response) => {
        let body = '';
        const end = (): void =>
          done({ status: response.statusCode ?? 0, date: response.headers.date, body: body.slice(0, LONGEST_BODY) });
        response.setEncoding('utf8');
        response.on('data', (piece: string) => {
          body += piece;
          if (body.length > LONGEST_BODY) response.destroy();
        });
        // Also where it is cut off: the status is an answer already.
        response.once('close', end);
      },
    );
    outgoing.once('timeout', () => outgoing.destroy(new Error('no answer in time')));
    outgoing.once('error', (error) => done(codeOf(error)));
    outgoing.end();
  });
}

/** A member on this machine that does not start may be what takes the quorum from the others. */
async function hasOwnEtcd(host: QueryHost): Promise<boolean> {
  return (await host.stat('/etc/kubernetes/manifests/etcd.yaml')) !== undefined;
}

/**
 * A failing health check lists what fails, each in a line (k/k apiserver pkg/server/healthz); strangers may ask for it. An API
 * server whose etcd is not there at all ends: one that lives has an etcd that does not answer, for want of a leader.
 */
function etcdCheck(shown: string, health: Greeting | string): readonly Check[] {
  if (typeof health === 'string' || health.status !== 500 || !/^\[-\]etcd failed/m.test(health.body)) return [];
  return [
    {
      id: 'endpoint/etcd',
      group: 'network',
      state: 'failed',
      reason: 'EtcdNoLeader',
      text: `the API server at ${shown} answers, but its etcd does not`,
      remedy: 'Restore etcd of that cluster: look whether its members run and have a quorum.',
    },
  ];
}

function refusedByTls(shown: string, code: string): Check {
  const base = { id: 'endpoint/tls', group: 'network', state: 'failed' } as const;
  switch (code) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return {
        ...base,
        reason: 'APIServerCertSANMismatch',
        text: `the certificate of the API server at ${shown} is for other names`,
        remedy: 'Add the name or address to kubernetes.controlPlane.apiServer.certSANs, or join by one that it has.',
      };
    case 'CERT_HAS_EXPIRED':
      return {
        ...base,
        reason: 'CertificateExpired',
        text: `the certificate of the API server at ${shown} has expired, or the clock here is ahead`,
        remedy: 'Compare the clocks, then renew it there with `kubeadm certs renew`.',
      };
    case 'CERT_NOT_YET_VALID':
      return {
        ...base,
        reason: 'ClockSkew',
        text: `the certificate of the API server at ${shown} is not valid yet: the clock here is behind`,
        remedy: 'Set the clock (host.time).',
      };
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'CERT_SIGNATURE_FAILURE':
      return {
        ...base,
        reason: 'APIServerCertUntrusted',
        text: `the certificate of the API server at ${shown} is not signed by ${CA_PATH}`,
        remedy: 'The CA here is of another cluster, or something else answers there: compare them.',
      };
    default:
      return {
        ...base,
        reason: 'APIEndpointLoadBalancerUnhealthy',
        text: `the API endpoint ${shown} accepts connections but does not answer as an API server (${code})`,
        remedy: 'Look at the load balancer and its backends.',
      };
  }
}

/** The HTTP date has whole seconds; a request takes some time as well. */
function clockCheck(date: string | undefined, now: number): readonly Check[] {
  const there = Date.parse(date ?? '');
  if (Number.isNaN(there)) return [];
  const seconds = Math.round((now - there) / 1000);
  const side = seconds < 0 ? 'behind' : 'ahead of';
  if (Math.abs(seconds) <= GREATEST_SKEW_S) {
    return [
      {
        id: 'clock/offset',
        group: 'network',
        state: 'ok',
        text: `the clock is within ${Math.abs(seconds) + 1} s of the API server's`,
      },
    ];
  }
  return [
    {
      id: 'clock/offset',
      group: 'network',
      state: 'failed',
      reason: 'ClockSkew',
      text: `the clock is ${Math.abs(seconds)} s ${side} the API server's`,
      remedy: 'Set the clock (host.time) before the machine joins.',
    },
  ];
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
