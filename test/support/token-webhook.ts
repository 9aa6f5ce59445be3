import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { member, text } from '../../src/host/untyped.ts';
import type { Authority } from './api-server.ts';

export interface TokenWebhook extends AsyncDisposable {
  readonly url: string;
  /** How often it was asked. */
  readonly asked: () => number;
}

/** A webhook that knows one bearer token and whose it is (authentication.k8s.io/v1, TokenReview). */
export async function startTokenWebhook(
  authority: Authority,
  address: string,
  known: { readonly token: string; readonly user: string },
): Promise<TokenWebhook> {
  const { certificate, key } = authority.issue('token webhook', [address]);
  let asked = 0;
  const server = createServer({ cert: certificate, key }, (request, response) => {
    asked += 1;
    void json(request).then((review: unknown) => {
      const authenticated = text(member(member(review, 'spec'), 'token')) === known.token;
      const user = authenticated ? { user: { username: known.user, uid: '1', groups: ['webhook'] } } : {};
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', status: { authenticated, ...user } };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return {
    url: `https://${address}:${(server.address() as AddressInfo).port}/authenticate`,
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
