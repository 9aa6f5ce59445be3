import type { SinkTlsModel } from '@machineadm/document/model/index.ts';
import { agentProxy, createHttpClient } from '../../host/http/client.ts';
import type { Host } from '../../host/seam/host.ts';
import type { HttpClient } from '../../host/seam/http.ts';
import type { DeliveryContext } from '../remote/remote-sink.ts';
import { systemClock } from '../reporter.ts';
import type { NetworkModel } from '../spool/serialized-plan.ts';

/** The resources for deliveries to one sink, and how to release them. */
export interface SinkContext {
  readonly context: Omit<DeliveryContext, 'signal'>;
  close(): Promise<void>;
}

/**
 *
 * @param host for the network of this sink: its secrets are resolved through the same proxy
 */
export function sinkContext(network: NetworkModel, host: Pick<Host, 'secret' | 'run'>): SinkContext {
  const certificateAuthorities = network.certificateAuthorities.map(({ pem }) => pem);
  const clients = new Map<string, Promise<HttpClient>>();
  const connect = async (tls: SinkTlsModel | undefined): Promise<HttpClient> => {
    const own = tls?.certificateAuthority === undefined ? [] : [tls.certificateAuthority];
    const client = tls?.clientCertificate;
    return createHttpClient({
      proxy: await agentProxy(network.proxy, host.secret),
      certificateAuthorities: [...certificateAuthorities, ...own],
      ...(client === undefined
        ? {}
        : { clientCertificate: { certificate: client.certificate, key: await host.secret(client.key) } }),
    });
  };
  return {
    context: {
      secret: host.secret,
      run: host.run,
      certificateAuthorities,
      clock: systemClock,
      http: async (tls) => {
        const key = JSON.stringify(tls ?? {});
        const made = clients.get(key) ?? connect(tls);
        clients.set(key, made);
        // A missing secret may be available the next time.
        made.catch(() => clients.delete(key));
        return await made;
      },
    },
    async close() {
      await Promise.allSettled([...clients.values()].map(async (client) => (await client).close()));
    },
  };
}
