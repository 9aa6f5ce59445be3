import {
  connectionTrouble,
  type EndpointTrouble,
  nameTrouble,
  tlsTrouble,
} from '../../host/cluster/endpoint-trouble.ts';
import { requestOnce, type SingleAnswer } from '../../host/http/request-once.ts';
import { errorCode, probeTcp, resolveName } from '../../host/network/reachability.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { Finding } from './finding.ts';

/** The address of an API server. */
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

/** `10.0.0.1:6443`, `[fd00::1]:6443`: the form of a URL. */
export function hostAndPort({ name, port }: Endpoint): string {
  return `${name.includes(':') ? `[${name}]` : name}:${port}`;
}

const CA_PATH = '/etc/kubernetes/pki/ca.crt';
const STEP_MS = 4000;
/**
 * A larger difference makes certificates and tokens fail: kubeadm's certificates are valid from five minutes before
 * they are made.
 */
const GREATEST_SKEW_S = 300;

/**
 * The way to the API server, step by step: name, connection, TLS, its answer, its clock. Nothing is sent but a request for
 * `/version`, without credentials. Each step is bounded.
 * @param now milliseconds since the epoch
 * @param connectionMs how long the name and the connection may take
 */
export async function checkEndpoint(
  host: QueryHost,
  endpoint: Endpoint,
  now: () => number,
  connectionMs = STEP_MS,
): Promise<readonly Finding[]> {
  const shown = hostAndPort(endpoint);
  const addresses = await resolveName(endpoint.name, connectionMs);
  if (typeof addresses === 'string') {
    return [failed('endpoint/name', nameTrouble(shown, addresses))];
  }
  const named: Finding = {
    id: 'endpoint/name',
    title: 'network',
    severity: 'passed',
    text:
      addresses.join() === endpoint.name
        ? `the API endpoint is an address`
        : `${endpoint.name} is ${addresses.join(', ')}`,
  };
  const refusal = await probeTcp(addresses[0] ?? endpoint.name, endpoint.port, connectionMs);
  if (refusal !== undefined) return [named, failed('endpoint/connection', connectionTrouble(shown, refusal))];
  return [named, ...(await probeTls(host, endpoint, shown, now))];
}

function failed(id: string, { reason, text, remedy }: EndpointTrouble): Finding {
  return { id, title: 'network', severity: 'failed', reason, text, remedy };
}

/** A list of health checks is short; a longer answer is not from an API server. */
const LONGEST_BODY = 64 * 1024;

/**
 * Makes a TLS connection and one request. Without a CA on the disk the certificate is not verified: a machine that
 * joins cannot do so yet.
 */
async function probeTls(
  host: QueryHost,
  endpoint: Endpoint,
  shown: string,
  now: () => number,
): Promise<readonly Finding[]> {
  const ca = await host.readText(CA_PATH);
  const answer = await ask(endpoint, '/version', ca);
  if (typeof answer === 'string') return [failed('endpoint/tls', tlsTrouble(shown, answer, CA_PATH))];
  const judged = ca === undefined ? ' (its certificate was not checked: this machine has no CA yet)' : '';
  return [
    { id: 'endpoint/tls', title: 'network', severity: 'passed', text: `the API server at ${shown} answers${judged}` },
    ...clockCheck(answer.headers.get('date'), now()),
    ...((await hasOwnEtcd(host)) ? [] : etcdCheck(shown, await ask(endpoint, '/livez', ca))),
  ];
}

/** The API server's answer to an anonymous request, or the code of the error. */
async function ask(endpoint: Endpoint, path: string, ca: string | undefined): Promise<SingleAnswer | string> {
  const signal = AbortSignal.timeout(STEP_MS);
  try {
    return await requestOnce(new URL(path, `https://${hostAndPort(endpoint)}`), {
      ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
      largest: LONGEST_BODY,
      // The status code alone is an answer.
      partial: true,
      signal,
    });
  } catch (error) {
    return signal.aborted ? 'no answer in time' : errorCode(error);
  }
}

/** An etcd member of this machine that does not start can be the reason why the quorum is lost. */
async function hasOwnEtcd(host: QueryHost): Promise<boolean> {
  return (await host.stat('/etc/kubernetes/manifests/etcd.yaml')) !== undefined;
}

/**
 * A failing health check lists what fails, each in a line (k/k apiserver pkg/server/healthz); strangers may ask for it. An API
 * server whose etcd is not there at all ends: one that lives has an etcd that does not answer, for want of a leader.
 */
function etcdCheck(shown: string, health: SingleAnswer | string): readonly Finding[] {
  if (typeof health === 'string' || health.status !== 500 || !/^\[-\]etcd failed/m.test(health.body)) return [];
  return [
    {
      id: 'endpoint/etcd',
      title: 'network',
      severity: 'failed',
      reason: 'EtcdNoLeader',
      text: `the API server at ${shown} answers, but its etcd does not`,
      remedy: 'Restore etcd of that cluster: check that its members run and have a quorum.',
    },
  ];
}

/** The HTTP date has whole seconds, and the request itself takes time. */
function clockCheck(date: string | undefined, now: number): readonly Finding[] {
  const there = Date.parse(date ?? '');
  if (Number.isNaN(there)) return [];
  const seconds = Math.round((now - there) / 1000);
  const side = seconds < 0 ? 'behind' : 'ahead of';
  if (Math.abs(seconds) <= GREATEST_SKEW_S) {
    return [
      {
        id: 'clock/offset',
        title: 'network',
        severity: 'passed',
        text: `the clock is within ${Math.abs(seconds) + 1} s of the API server's`,
      },
    ];
  }
  return [
    {
      id: 'clock/offset',
      title: 'network',
      severity: 'failed',
      reason: 'ClockSkew',
      text: `the clock is ${Math.abs(seconds)} s ${side} the API server's`,
      remedy: 'Set the clock (host.time) before the machine joins.',
    },
  ];
}
