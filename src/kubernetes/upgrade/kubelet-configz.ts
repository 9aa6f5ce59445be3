import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { KUBELET_CONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { requestOnce } from '../../host/http/request-once.ts';
import type { QueryHost } from '../../host/seam/host.ts';

const DEFAULT_PORT = 10_250;
const TIMEOUT_MS = 5_000;

/**
 * The configuration with which the kubelet of this machine runs (`/configz`), asked with the client certificate of the API
 * server, which only a control plane has.
 *
 * @param directory of the certificates of the cluster
 */
export async function runningConfiguration(
  host: QueryHost,
  directory: string,
  signal: AbortSignal,
): Promise<{ readonly config: unknown } | { readonly why: string }> {
  const [cert, key] = [
    await host.readText(`${directory}/apiserver-kubelet-client.crt`),
    await host.readText(`${directory}/apiserver-kubelet-client.key`),
  ];
  if (cert === undefined || key === undefined) return { why: 'the client certificate of the API server is missing' };
  const port = member(await foreignYaml((await host.readText(KUBELET_CONFIG)) ?? ''), 'port');
  const url = `https://127.0.0.1:${typeof port === 'number' && port > 0 ? port : DEFAULT_PORT}/configz`;
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    // The kubelet signs its serving certificate itself. The connection does not leave this machine.
    const { status, body } = await requestOnce(new URL(url), {
      ...{ cert, key, rejectUnauthorized: false },
      signal: AbortSignal.any([signal, deadline]),
    });
    if (status !== 200) return { why: `${url} answered ${status}` };
    return { config: member(JSON.parse(body), 'kubeletconfig') };
  } catch (error) {
    signal.throwIfAborted();
    return { why: `${url}: ${deadline.aborted ? 'no answer' : errorMessage(error)}` };
  }
}
