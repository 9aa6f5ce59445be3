import type { RequestOptions } from 'node:https';
import { parse } from 'yaml';
import { askHttps, type Downtime, isOk, Prober } from './api-prober.ts';
import type { NodeSite } from './documents.ts';
import type { Node } from './lab.ts';

/** What is asked of the cluster while it is upgraded. */
export interface ObservedCluster extends AsyncDisposable {
  /** The downtime of the API behind the load balancer since the lap before. */
  lap(): Readonly<Record<'readyz' | 'write', Downtime>>;
  /** `ID=NAME` of the members of etcd. */
  members(): Promise<string>;
  /** The most members of etcd that were down at the same time: from a refused connection to the next answer. */
  readonly mostLost: number;
  /** The members that were down at some time. */
  readonly restarted: ReadonlySet<string>;
  /** The last write that was acknowledged. */
  readonly acknowledged: number;
}

/**
 * Asks the API behind a load balancer, and the members of etcd on the control planes, about every 200 ms. The ConfigMap
 * `default/probe` exists.
 *
 * @param first a control plane, for its credentials
 */
export async function observeCluster(
  first: Node,
  balancer: string,
  controlPlanes: readonly NodeSite[],
): Promise<ObservedCluster> {
  const admin = parse((await first.read('/etc/kubernetes/admin.conf')) ?? '');
  const { user } = admin.users[0] as { user: Record<string, string> };
  const api: RequestOptions = {
    ...{ host: balancer, port: 6443, rejectUnauthorized: false },
    cert: Buffer.from(user['client-certificate-data'] ?? '', 'base64'),
    key: Buffer.from(user['client-key-data'] ?? '', 'base64'),
  };
  const pki = '/etc/kubernetes/pki/etcd/healthcheck-client';
  const etcd: RequestOptions = {
    ...{ port: 2379, rejectUnauthorized: false },
    cert: (await first.read(`${pki}.crt`)) ?? '',
    key: (await first.read(`${pki}.key`)) ?? '',
  };
  let [mostLost, acknowledged, count] = [0, 0, 0];
  const restarted = new Set<string>();
  const readyz = new Prober(async () => isOk(await askHttps({ ...api, path: '/readyz' }, { timeoutMs: 2_000 })));
  const write = new Prober(async () => {
    count += 1;
    const mine = count;
    const answer = await askHttps(
      {
        ...api,
        method: 'PATCH',
        path: '/api/v1/namespaces/default/configmaps/probe',
        headers: { 'content-type': 'application/merge-patch+json' },
      },
      { body: JSON.stringify({ data: { count: String(mine) } }), timeoutMs: 5_000 },
    );
    if (isOk(answer)) acknowledged = mine;
    return isOk(answer);
  });
  const down = new Set<string>();
  const members = controlPlanes.map(
    ({ name, ip: host }) =>
      new Prober(async () => {
        // A member serves this once it has joined, with or without a quorum.
        const answer = await askHttps({ ...etcd, host, path: '/version' }, { timeoutMs: 5_000 });
        // Silence decides nothing: it may be this machine that is too busy.
        if (answer === 'refused') down.add(name);
        else if (isOk(answer)) down.delete(name);
        if (down.has(name)) restarted.add(name);
        mostLost = Math.max(mostLost, down.size);
        return isOk(answer);
      }),
  );
  return {
    lap: () => ({ readyz: readyz.lap(), write: write.lap() }),
    async members() {
      const options: RequestOptions = { ...etcd, host: first.site.ip, path: '/v3/cluster/member/list', method: 'POST' };
      const answer = await askHttps(options, { body: '{}', timeoutMs: 10_000 });
      const list: { readonly members: readonly { readonly ID: string; readonly name: string }[] } = JSON.parse(
        typeof answer === 'object' ? answer.text : '{}',
      );
      return list.members
        .map(({ ID, name }) => `${ID}=${name}`)
        .sort()
        .join(' ');
    },
    get mostLost() {
      return mostLost;
    },
    get restarted() {
      return restarted;
    },
    get acknowledged() {
      return acknowledged;
    },
    async [Symbol.asyncDispose]() {
      for (const one of [readyz, write, ...members]) await one[Symbol.asyncDispose]();
    },
  };
}
