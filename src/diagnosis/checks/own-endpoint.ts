import type { QueryHost } from '../../host/seam/host.ts';
import { askApiServer, ownApiServer } from './control-plane.ts';
import { checkEndpoint, type Endpoint } from './endpoint.ts';
import type { Finding } from './finding.ts';
import { whyBlocked } from './own-listener.ts';

/**
 * The way of a first control plane to its own API server, which kubeadm and the kubelet take: checked only where that
 * server listens. Before it does, the endpoint is dead because the bootstrap failed, and explains nothing.
 * @param endpoint the control-plane endpoint of the document, where it has one: a load balancer, a name
 * @param now milliseconds since the epoch
 * @param withinMs how long the connections to the server itself may take in all
 */
export async function checkOwnEndpoint(
  host: QueryHost,
  endpoint: Endpoint | undefined,
  now: () => number,
  withinMs: number,
): Promise<readonly Finding[]> {
  const own = await ownApiServer(host);
  if (own === undefined) return [];
  const failure = await whyBlocked(host, own, withinMs);
  if (failure !== undefined) return [blocked(own, failure)];
  if (endpoint === undefined || (endpoint.name === own.name && endpoint.port === own.port)) return [];
  return (await askApiServer(own)) === 'healthy' ? await checkEndpoint(host, endpoint, now) : [];
}

function blocked({ name, port }: Endpoint, code: string): Finding {
  return {
    id: 'endpoint/own',
    title: 'network',
    severity: 'failed',
    reason: 'APIServerPortBlocked',
    text: `the API server of this machine listens on port ${port}, but ${name}:${port} cannot be reached from here (${code})`,
    remedy: `Open TCP port ${port} on this machine: look at its packet filters (\`iptables -S\`, \`nft list ruleset\`).`,
  };
}
