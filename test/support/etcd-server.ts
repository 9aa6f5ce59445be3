import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type Authority, newAuthority } from './api-server.ts';

export interface FakeMember {
  readonly ID: string;
  readonly name?: string;
  readonly peerURLs: readonly string[];
  readonly isLearner?: boolean;
  readonly clientURLs?: readonly string[];
}

export interface EtcdServer extends AsyncDisposable {
  readonly url: string;
  readonly members: FakeMember[];
  /** Bodies of every removal. */
  readonly removals: string[];
  readonly authority: Authority;
}

/**
 * etcd's JSON gateway over TLS with client certificates. `stubborn`: it agrees to no removal; 'first': not to the first one,
 * during which the member starts, so that it has a name. `answersAs`: the id of the
 * member that it is. `status`: of its answers, else 200.
 */
export async function startEtcd(
  members: readonly FakeMember[],
  {
    stubborn = false,
    answersAs = '1',
    status = 200,
  }: { readonly stubborn?: boolean | 'first'; readonly answersAs?: string; readonly status?: number } = {},
): Promise<EtcdServer> {
  const authority = newAuthority('etcd-ca');
  const { certificate, key } = authority.issue('etcd', ['127.0.0.1']);
  const state = [...members];
  const removals: string[] = [];
  const server = createServer(
    { cert: certificate, key, ca: authority.certificate, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      let body = '';
      request.on('data', (piece: Buffer) => {
        body += piece.toString();
      });
      request.on('end', () => {
        const removed = request.url === '/v3/cluster/member/remove';
        if (removed) {
          removals.push(body);
          const { ID }: { ID?: string } = JSON.parse(body);
          if (stubborn === 'first' && removals.length === 1) {
            state.forEach((one, index) => {
              if (one.ID === ID) state[index] = { ...one, name: 'started-meanwhile' };
            });
          }
          if (stubborn === true || (stubborn === 'first' && removals.length === 1))
            return void response.writeHead(503).end('{"error":"etcdserver: request timed out"}');
          state.splice(
            state.findIndex((one) => one.ID === ID),
            1,
          );
        }
        response
          .writeHead(status, { 'content-type': 'application/json' })
          .end(JSON.stringify({ header: { member_id: answersAs }, members: state }));
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    members: state,
    removals,
    authority,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
