import { KUBELET_CONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { askHealthEndpoint } from '../host/http/request-once.ts';
import type { QueryHost } from '../host/seam/host.ts';

/** k/k pkg/kubelet/apis/config/v1beta1/defaults.go: healthzBindAddress and healthzPort. */
const DEFAULT_ADDRESS = '127.0.0.1';
const DEFAULT_PORT = 10_248;

export type KubeletHealth = { readonly healthy: true } | { readonly healthy: false; readonly why: string };

/**
 * Checks the health of this machine's kubelet. It has no `healthz` before its configuration exists, and crash-loops
 * until then, as kubeadm's packages intend. Throws only for `signal`.
 *
 * @param options `ask-default`: a kubelet that is not kubeadm's has its configuration elsewhere
 */
export async function kubeletHealth(
  host: QueryHost,
  signal?: AbortSignal,
  options: { readonly withoutConfiguration: 'unhealthy' | 'ask-default' } = { withoutConfiguration: 'unhealthy' },
): Promise<KubeletHealth> {
  const source = await host.readText(KUBELET_CONFIG);
  if (source === undefined && options.withoutConfiguration === 'ask-default') {
    return await askHealthz({ address: DEFAULT_ADDRESS, port: DEFAULT_PORT }, signal);
  }
  if (source === undefined) return { healthy: false, why: `the kubelet has no configuration yet (${KUBELET_CONFIG})` };
  const endpoint = await endpointOf(source);
  if (endpoint === undefined) return { healthy: false, why: `${KUBELET_CONFIG} is not valid YAML` };
  if (endpoint.port === 0) {
    // healthzPort 0 disables the endpoint; then the kubelet only has to keep running.
    const { active, detail } = await host.service('kubelet');
    return active
      ? { healthy: true }
      : { healthy: false, why: `the kubelet service is ${detail} (its health endpoint is switched off)` };
  }
  return await askHealthz(endpoint, signal);
}

interface Endpoint {
  readonly address: string;
  readonly port: number;
}

async function endpointOf(source: string): Promise<Endpoint | undefined> {
  const config = await foreignYaml(source);
  if (config === undefined) return undefined;
  const port = member(config, 'healthzPort');
  const address = text(member(config, 'healthzBindAddress')) ?? DEFAULT_ADDRESS;
  return {
    address: address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address,
    port: typeof port === 'number' ? port : DEFAULT_PORT,
  };
}

async function askHealthz({ address, port }: Endpoint, signal: AbortSignal | undefined): Promise<KubeletHealth> {
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}/healthz`;
  const answer = await askHealthEndpoint(url, signal);
  if ('why' in answer) return { healthy: false, why: answer.why };
  return answer.status === 200 ? { healthy: true } : { healthy: false, why: `${url} answered ${answer.status}` };
}
