import { spawnSync } from 'node:child_process';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { member, text } from '@machineadm/document/values/untyped.ts';

export interface TokenWebhook extends AsyncDisposable {
  readonly url: string;
  /** PEM of its own certificate, which is the authority as well. */
  readonly certificate: string;
  /** How often it was asked. */
  readonly asked: () => number;
}

/** A webhook that knows one bearer token and whose it is (authentication.k8s.io/v1, TokenReview). */
export async function startTokenWebhook(
  address: string,
  known: { readonly token: string; readonly user: string },
): Promise<TokenWebhook> {
  const { certificate, key } = identityFor(address);
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
    certificate,
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** By openssl: Go reads certificates more strictly than Node. */
function identityFor(address: string): { readonly certificate: string; readonly key: string } {
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=token webhook'];
  const args = [...request, '-addext', `subjectAltName=IP:${address}`, '-keyout', '-', '-out', '-'];
  const { status, stdout, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`openssl: ${stderr}`);
  const part = (name: string) =>
    new RegExp(`-----BEGIN ${name}-----[^-]+-----END ${name}-----\\n`).exec(stdout)?.[0] ?? '';
  return { certificate: part('CERTIFICATE'), key: part('PRIVATE KEY') };
}
