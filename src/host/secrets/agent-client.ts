import type { HostModel } from '@machineadm/document/model/index.ts';
import { agentProxy, createHttpClient } from '../http/client.ts';
import type { Host } from '../seam/host.ts';
import type { HttpClient } from '../seam/http.ts';
import { secretResolver } from './resolver.ts';

/** The document's settings for the agent's own requests. */
export type NetworkSettings = Pick<HostModel, 'proxy' | 'certificateAuthorities'>;

/** The HTTP client of a run: created once, with the first request. */
export function httpOf(network: (() => NetworkSettings | undefined) | undefined, run: Host['run']): Host['http'] {
  return once(() => openHttp(network?.(), run));
}

/** The secrets in a proxy's URL are resolved without that proxy. */
async function openHttp(settings: NetworkSettings | undefined, run: Host['run']): Promise<HttpClient> {
  const certificateAuthorities = (settings?.certificateAuthorities ?? []).map(({ pem }) => pem);
  const direct = async () => createHttpClient({ proxy: undefined, certificateAuthorities });
  const proxy = await agentProxy(settings?.proxy, secretResolver({ run, http: direct }));
  return createHttpClient({ proxy, certificateAuthorities });
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return async () => {
    made ??= make();
    try {
      return await made;
    } catch (error) {
      made = undefined;
      throw error;
    }
  };
}
