import type { Secret, SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { ReportEvent } from '@machineadm/status/event.ts';
import { truncateEvent } from '@machineadm/status/event.ts';
import { createHttpClient } from '../../src/host/http/client.ts';
import { runCommand } from '../../src/host/linux/commands.ts';
import type { HttpClient } from '../../src/host/seam/http.ts';
import { resolveSecret } from '../../src/host/secrets/resolve.ts';
import { withTimeout } from '../../src/host/time/timeout.ts';
import type { DeliveryContext, DeliveryResult, RemoteSink } from '../../src/reporting/remote/remote-sink.ts';

export interface DeliveryOptions {
  readonly timeoutMs?: number;
  readonly certificateAuthorities?: readonly string[];
  readonly clock?: DeliveryContext['clock'];
  readonly run?: DeliveryContext['run'];
}

/** One delivery as the deliverer makes it: fitted, under a timeout, and what is thrown is a retry. Over a real network. */
export async function deliver(
  sink: RemoteSink,
  event: ReportEvent,
  options: DeliveryOptions = {},
): Promise<DeliveryResult> {
  const authorities = options.certificateAuthorities ?? [];
  const clients: HttpClient[] = [];
  const context: Omit<DeliveryContext, 'signal'> = {
    certificateAuthorities: authorities,
    async http(tls) {
      const own = tls?.certificateAuthority === undefined ? [] : [tls.certificateAuthority];
      const client = createHttpClient({ proxy: undefined, certificateAuthorities: [...authorities, ...own] });
      clients.push(client);
      return client;
    },
    secret: known,
    run: options.run ?? runCommand,
    clock: options.clock ?? (() => ({ time: Date.now(), sinceBootMs: Math.round(performance.now()) })),
  };
  try {
    return await withTimeout(options.timeoutMs ?? 5_000, (signal) =>
      sink.deliver(truncateEvent(event, sink.capacity), { ...context, signal }),
    );
  } catch (error) {
    return { kind: 'retry', why: error instanceof Error ? error.message : String(error) };
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

async function known(value: SecretValue): Promise<Secret> {
  const secret = await resolveSecret(value);
  if (secret === undefined) throw new TypeError(`${value.name} is of a kind that tests do not have`);
  return secret;
}
