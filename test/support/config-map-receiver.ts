import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { againstContract } from './event-contract.ts';

export const REPORT_TOKEN = 'a-token-of-one-machine-4711';

export interface ConfigMapReceiver extends AsyncDisposable {
  readonly port: number;
  /** Ids of the events that were applied, in order. */
  readonly taken: readonly string[];
  /** Bodies of all patches. */
  readonly bodies: readonly string[];
}

/** What of an API server a report meets: one ConfigMap, which this token may patch by server-side apply and nothing else. */
export async function startConfigMapReceiver(path: string): Promise<ConfigMapReceiver> {
  const taken: string[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const url = new URL(request.url ?? '', 'http://receiver');
      const allowed =
        request.headers.authorization === `Bearer ${REPORT_TOKEN}` &&
        request.method === 'PATCH' &&
        request.headers['content-type'] === 'application/apply-patch+yaml' &&
        url.pathname === path &&
        url.searchParams.get('force') === 'true' &&
        url.searchParams.get('fieldManager') === 'machineadm';
      if (!allowed) return void response.writeHead(403).end('{"kind":"Status","code":403,"message":"forbidden"}');
      bodies.push(body);
      const event = JSON.parse(JSON.parse(body).data['report.json']);
      const wrong = againstContract(event);
      if (wrong !== undefined) return void response.writeHead(422).end(JSON.stringify({ message: wrong }));
      taken.push(event.id);
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    taken,
    bodies,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
