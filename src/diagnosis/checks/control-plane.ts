import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { ADMIN_KUBECONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { requestOnce } from '../../host/http/request-once.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { type Endpoint, hostAndPort, parseEndpoint } from './endpoint.ts';
import type { Finding } from './finding.ts';
import { whyBlocked } from './own-listener.ts';

const TIMEOUT_MS = 3000;
/** For both connections to etcd. Diagnosis gives all of its checks 10 s, and `doctor` gives its own 15 s. */
const ETCD_PORT_MS = 6000;
const ETCD: Endpoint = { name: '127.0.0.1', port: 2379 };

/**
 * Whether the API server and etcd of this machine answer their health endpoints, where their manifests are here. Both
 * are open on the loopback to anybody by kubeadm's own arguments, so no credentials are used
 * (k/k cmd/kubeadm/app/phases/etcd/local.go: listen-metrics-urls http://127.0.0.1:2381).
 */
export async function checkControlPlane(host: QueryHost): Promise<readonly Finding[]> {
  const manifests = (await host.list('/etc/kubernetes/manifests')) ?? [];
  const server = await ownApiServer(host);
  // All at once: where nothing answers, the time for one after the other would not suffice.
  const [apiServer, etcd, etcdPort] = await Promise.all([
    server === undefined ? undefined : askApiServer(server),
    manifests.includes('etcd.yaml') ? ask('http://127.0.0.1:2381/health') : undefined,
    manifests.includes('etcd.yaml') ? etcdPortCheck(host) : [],
  ]);
  return [
    ...(apiServer === undefined ? [] : [evaluateHealth('kube-apiserver', 'the API server', apiServer)]),
    ...(etcd === undefined ? [] : [evaluateHealth('etcd', 'etcd', etcd)]),
    ...etcdPort,
  ];
}

/** The API server connects to etcd there. A packet filter can drop connections although etcd listens. */
async function etcdPortCheck(host: QueryHost): Promise<readonly Finding[]> {
  const failure = await whyBlocked(host, ETCD, ETCD_PORT_MS);
  if (failure === undefined) return [];
  return [
    {
      id: 'control-plane/etcd-port',
      title: 'control plane',
      severity: 'failed',
      reason: 'EtcdUnreachableFromAPIServer',
      text: `etcd of this machine listens on port ${ETCD.port}, but ${ETCD.name}:${ETCD.port} cannot be reached from here (${failure})`,
      remedy: `Open TCP port ${ETCD.port} on this machine: look at its packet filters (\`iptables -S\`, \`nft list ruleset\`).`,
    },
  ];
}

/** The address of this machine's API server, from its manifest; undefined: there is no manifest. */
export async function ownApiServer(host: QueryHost): Promise<Endpoint | undefined> {
  const manifest = await host.readText('/etc/kubernetes/manifests/kube-apiserver.yaml');
  if (manifest === undefined) return undefined;
  return {
    name: /--advertise-address=(\S+)/.exec(manifest)?.[1] ?? '127.0.0.1',
    port: Number(/--secure-port=(\d+)/.exec(manifest)?.[1] ?? 6443),
  };
}

/**
 * The address at which admin.conf, and so everybody else, reaches the cluster of this control plane; undefined: this is not a
 * control plane, or its own API server is the only one.
 */
export async function sharedEndpoint(host: QueryHost): Promise<Endpoint | undefined> {
  const own = await ownApiServer(host);
  const admin = await host.readText(ADMIN_KUBECONFIG);
  if (own === undefined || admin === undefined) return undefined;
  const endpoint = parseEndpoint(/^[ \t]*server: *["']?(https:\/\/[^\s"']+)/m.exec(admin)?.[1] ?? '');
  return endpoint?.name === own.name && endpoint.port === own.port ? undefined : endpoint;
}

/** `healthy`, or a description of the problem. */
export function askApiServer(endpoint: Endpoint): Promise<string> {
  return ask(`https://${hostAndPort(endpoint)}/livez`);
}

function evaluateHealth(id: string, name: string, answer: string): Finding {
  const base = { id: `control-plane/${id}`, title: 'control plane' } as const;
  return answer === 'healthy'
    ? { ...base, severity: 'passed', text: `${name} on this machine is healthy` }
    : {
        ...base,
        severity: 'failed',
        reason: 'ControlPlaneComponentNotHealthy',
        text: `${name} on this machine is not healthy: ${answer}`,
        remedy: `Read the log of the container: \`crictl ps -a --name ${id}\`, then \`crictl logs\`.`,
      };
}

/** The certificate is not verified: only whether something answers matters here, and no answer is trusted. */
async function ask(url: string): Promise<string> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const { status } = await requestOnce(new URL(url), {
      rejectUnauthorized: false,
      largest: 0,
      partial: true,
      signal,
    });
    // 401 and 403 come from a running server that refuses anonymous requests.
    return [200, 401, 403].includes(status) ? 'healthy' : `it answers ${status}`;
  } catch (error) {
    if (signal.aborted) return `no answer within ${TIMEOUT_MS / 1000} s`;
    return errorMessage(error);
  }
}
