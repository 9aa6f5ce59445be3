import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { LAB_DIRECTORY } from '../../scripts/lab/artefacts.ts';
import { requestOnce } from '../../src/host/http/request-once.ts';
import type { EtcdPeers } from '../../src/kubernetes/etcd-members.ts';
import { type Authority, type Identity, newAuthority } from './api-server.ts';

const PROGRAM = globSync(join(LAB_DIRECTORY, 'kubernetes-*/etcd/usr/bin/etcd'))[0];

export interface Member {
  readonly ID: string;
  readonly name?: string | undefined;
  readonly peerURLs: readonly string[];
  readonly clientURLs?: readonly string[];
}

/** Real etcd processes on addresses of loopback, with certificates for servers, peers and clients, as kubeadm has them. */
export interface EtcdCluster extends AsyncDisposable {
  readonly authority: Authority;
  readonly client: Identity;
  /** The members as one that runs lists them, without asking the others. */
  members(): Promise<readonly Member[]>;
  /** Announces a member, as kubeadm does, and returns it. */
  announce(address: string): Promise<Member>;
  /** Starts the etcd of an announced member. */
  start(name: string, address: string): Promise<void>;
  remove(id: string): Promise<void>;
  /** Ends the etcd at an address with SIGKILL. */
  stop(address: string): Promise<void>;
  dataDirectory(address: string): string;
  /** What leads a machine of this address to the others. */
  peersFor(address: string): EtcdPeers;
}

/**
 * Starts a cluster.
 *
 * @param founders name -> address
 */
export async function startEtcdCluster(founders: Readonly<Record<string, string>>): Promise<EtcdCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-etcd-'));
  const at = (name: string): string => join(directory, name);
  const authority = newAuthority('etcd-ca');
  const client = authority.issue('kube-etcd-healthcheck-client');
  const running = new Map<string, ChildProcess>();
  const names = new Map<string, string>();
  writeFileSync(at('ca.crt'), authority.certificate);

  const spawnEtcd = (name: string, address: string, initialCluster: string, state: 'new' | 'existing'): void => {
    const { certificate, key } = authority.issue(name, [address, '127.0.0.1']);
    const [crt, pem] = [at(`${address}.crt`), at(`${address}.key`)];
    writeFileSync(crt, certificate);
    writeFileSync(pem, key, { mode: 0o600 });
    const log = openSync(at(`${address}.log`), 'a');
    const args = [
      `--name=${name}`,
      `--data-dir=${at(address)}`,
      `--initial-cluster=${initialCluster}`,
      `--initial-cluster-state=${state}`,
      `--initial-advertise-peer-urls=https://${address}:2380`,
      `--listen-peer-urls=https://${address}:2380`,
      `--advertise-client-urls=https://${address}:2379`,
      `--listen-client-urls=https://${address}:2379`,
      '--client-cert-auth',
      '--peer-client-cert-auth',
      ...['', 'peer-'].flatMap((kind) => [
        `--${kind}cert-file=${crt}`,
        `--${kind}key-file=${pem}`,
        `--${kind}trusted-ca-file=${at('ca.crt')}`,
      ]),
      '--unsafe-no-fsync',
      // A lost quorum is told soon.
      '--heartbeat-interval=50',
      '--election-timeout=500',
    ];
    running.set(address, spawn(PROGRAM ?? '', args, { stdio: ['ignore', log, log], cwd: directory }));
    names.set(address, name);
  };
  const ask = async (path: string, body: object): Promise<unknown> => {
    const failures: string[] = [];
    for (const address of running.keys()) {
      try {
        const text = JSON.stringify(body);
        const answer = await requestOnce(new URL(path, `https://${address}:2379`), {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) },
          body: text,
          ca: authority.certificate,
          cert: client.certificate,
          key: client.key,
          signal: AbortSignal.timeout(10_000),
        });
        if (answer.status === 200) return JSON.parse(answer.body);
        failures.push(answer.body);
      } catch (error) {
        failures.push(String(error));
      }
    }
    throw new Error(`etcd does not answer ${path}: ${failures.join('; ')}\n${logs()}`);
  };
  const logs = (): string =>
    [...running.keys()].map((address) => readFileSync(at(`${address}.log`), 'utf8').slice(-2000)).join('\n---\n');
  const members = async (): Promise<readonly Member[]> => {
    const { members: list } = (await ask('/v3/cluster/member/list', {})) as { readonly members: readonly Member[] };
    return list.toSorted((a, b) => (a.peerURLs[0] ?? '').localeCompare(b.peerURLs[0] ?? ''));
  };
  /** Retried: right after a start, and after a change, a cluster refuses changes for a moment. */
  const change = async (path: string, body: object): Promise<unknown> => {
    const end = performance.now() + 60_000;
    for (;;) {
      try {
        return await ask(path, body);
      } catch (error) {
        if (performance.now() > end) throw error;
        await pause(200);
      }
    }
  };
  const untilStarted = async (count: number): Promise<void> => {
    const end = performance.now() + 60_000;
    for (;;) {
      const named = await members().then(
        (list) => list.filter(({ name }) => name !== undefined && name !== '').length,
        () => 0,
      );
      if (named >= count) return;
      if (performance.now() > end) throw new Error(`etcd did not start\n${logs()}`);
      await pause(200);
    }
  };

  const initial = Object.entries(founders).map(([name, address]) => `${name}=https://${address}:2380`);
  for (const [name, address] of Object.entries(founders)) spawnEtcd(name, address, initial.join(','), 'new');
  await untilStarted(initial.length);

  return {
    authority,
    client,
    members,
    async announce(address) {
      const answer = await change('/v3/cluster/member/add', { peerURLs: [`https://${address}:2380`] });
      return (answer as { readonly member: Member }).member;
    },
    async start(name, address) {
      const list = [...names].map(([known, other]) => `${other}=https://${known}:2380`);
      spawnEtcd(name, address, [...list, `${name}=https://${address}:2380`].join(','), 'existing');
      await untilStarted(names.size);
    },
    async remove(ID) {
      await change('/v3/cluster/member/remove', { ID });
    },
    async stop(address) {
      const process = running.get(address);
      running.delete(address);
      if (process === undefined || process.exitCode !== null) return;
      process.kill('SIGKILL');
      await once(process, 'exit');
    },
    dataDirectory: at,
    peersFor: (address) => ({
      endpoints: [...running.keys()].filter((other) => other !== address).map((other) => `https://${other}:2379`),
      ownPeerUrl: `https://${address}:2380`,
      certificateAuthority: authority.certificate,
      certificate: client.certificate,
      key: new Secret(client.key),
    }),
    async [Symbol.asyncDispose]() {
      await Promise.all(
        [...running.values()].map(async (process) => {
          if (process.exitCode !== null) return;
          process.kill('SIGKILL');
          await once(process, 'exit');
        }),
      );
      rmSync(directory, { recursive: true });
    },
  };
}
