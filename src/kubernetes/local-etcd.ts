import { Secret } from '@machineadm/document/secrets/secret.ts';
import type { ApiServerManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import type { QueryHost } from '../host/seam/host.ts';
import type { EtcdPeers } from './etcd-members.ts';
import type { EtcdMember } from './etcd-ownership.ts';

/** How to ask the etcd of this machine, by its manifest. */
export interface LocalEtcd extends EtcdPeers {
  /** `--name` of its member. */
  readonly name: string | undefined;
}

/**
 * undefined with custom certificates, or for an etcd that kubeadm does not manage: only its health can be checked.
 */
export async function localEtcd(
  host: QueryHost,
  { command }: Pick<ApiServerManifest, 'command'>,
): Promise<LocalEtcd | undefined> {
  const authority = argumentOf(command, 'trusted-ca-file') ?? '/etc/kubernetes/pki/etcd/ca.crt';
  const directory = authority.slice(0, authority.lastIndexOf('/'));
  const [certificateAuthority, certificate, key] = await Promise.all(
    [authority, `${directory}/healthcheck-client.crt`, `${directory}/healthcheck-client.key`].map((path) =>
      host.readText(path),
    ),
  );
  const ownPeerUrl = argumentOf(command, 'initial-advertise-peer-urls');
  const endpoints = (argumentOf(command, 'listen-client-urls') ?? '')
    .split(',')
    .filter((url) => url.startsWith('https:'));
  if (certificateAuthority === undefined || certificate === undefined || key === undefined) return undefined;
  if (ownPeerUrl === undefined || endpoints.length === 0) return undefined;
  const name = argumentOf(command, 'name');
  return { endpoints, ownPeerUrl, certificateAuthority, certificate, key: new Secret(key), name };
}

/** This machine's member among those of its cluster. */
export function ownMember(
  members: readonly EtcdMember[],
  { ownPeerUrl, name }: Pick<LocalEtcd, 'ownPeerUrl' | 'name'>,
): EtcdMember | undefined {
  return (
    members.find(({ peerUrls }) => peerUrls.includes(ownPeerUrl)) ?? members.find((member) => member.name === name)
  );
}

/** `--name=value`; the last occurrence counts. */
export function argumentOf(command: readonly string[], name: string): string | undefined {
  return command.findLast((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3);
}
