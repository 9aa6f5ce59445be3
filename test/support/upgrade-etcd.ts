import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type Identity, newAuthority } from './api-server.ts';

/** The members of etcd on the control planes `node-1`, `node-2`, …: each is an HTTPS server that answers as etcd's gateway. */
export interface UpgradeEtcd extends AsyncDisposable {
  /** Which of them answer. */
  readonly isUp: boolean[];
  /** How many requests came. */
  asked(): number;
  /** The manifest and the client certificate, as kubeadm writes them on a node. */
  filesOf(index: number): Readonly<Record<string, string>>;
  /** Has a member show this certificate to new clients. */
  shows(index: number, identity: Identity): void;
}

/** Starts a cluster of so many members. */
export async function startUpgradeEtcd(count: number, authority = newAuthority('etcd-ca')): Promise<UpgradeEtcd> {
  const server = authority.issue('etcd', ['127.0.0.1']);
  const client = authority.issue('kube-etcd-healthcheck-client');
  const isUp = Array.from({ length: count }, () => true);
  const servers: Server[] = [];
  const ports: number[] = [];
  let asked = 0;
  const url = (index: number): string => `https://127.0.0.1:${ports[index]}`;
  const peerUrl = (index: number): string => `https://10.0.0.${index + 1}:2380`;
  const answers: Readonly<Record<string, (index: number) => object>> = {
    '/v3/maintenance/status': (index) => ({ header: { member_id: `${index + 1}` }, dbSize: '4096' }),
    '/v3/cluster/member/list': () => ({
      members: isUp.map((_, index) => ({
        ...{ ID: `${index + 1}`, name: `node-${index + 1}` },
        ...{ peerURLs: [peerUrl(index)], clientURLs: [url(index)] },
      })),
    }),
  };
  for (let index = 0; index < count; index += 1) {
    const one = createServer(
      { cert: server.certificate, key: server.key, ca: authority.certificate, requestCert: true },
      (request, response) => {
        asked += 1;
        const answer = answers[request.url ?? '']?.(index);
        if (isUp[index] !== true) return void response.destroy();
        response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer ?? {}));
      },
    );
    servers.push(one);
    await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
    ports.push((one.address() as AddressInfo).port);
  }
  return {
    isUp,
    asked: () => asked,
    shows: (index, { certificate, key }) =>
      servers[index]?.setSecureContext({ cert: certificate, key, ca: authority.certificate }),
    filesOf: (index) => ({
      '/etc/kubernetes/manifests/etcd.yaml': etcdManifest({
        ...{ name: `node-${index + 1}`, clientUrl: url(index), peerUrl: peerUrl(index) },
      }),
      ...etcdCertificates(authority.certificate, client),
    }),
    async [Symbol.asyncDispose]() {
      for (const one of servers) {
        one.closeAllConnections();
        await new Promise((resolve) => one.close(resolve));
      }
    },
  };
}

/** The client certificate of a node, in kubeadm's files. */
export function etcdCertificates(
  authority: string,
  { certificate, key }: { readonly certificate: string; readonly key: string },
): Readonly<Record<string, string>> {
  const directory = '/etc/kubernetes/pki/etcd';
  return {
    [`${directory}/ca.crt`]: authority,
    [`${directory}/healthcheck-client.crt`]: certificate,
    [`${directory}/healthcheck-client.key`]: key,
  };
}

/** The static pod of a member, as kubeadm writes it. */
export function etcdManifest({
  name,
  clientUrl,
  peerUrl,
}: Readonly<Record<'name' | 'clientUrl' | 'peerUrl', string>>): string {
  const command = [
    'etcd',
    `--name=${name}`,
    `--listen-client-urls=${clientUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    '--cert-file=/etc/kubernetes/pki/etcd/server.crt',
    '--trusted-ca-file=/etc/kubernetes/pki/etcd/ca.crt',
  ];
  const image = 'registry.k8s.io/etcd:3.6.4-0';
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'Pod', spec: { containers: [{ name: 'etcd', image, command }] } })}\n`;
}
