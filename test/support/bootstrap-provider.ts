import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { goldenUserData } from './capi.ts';

const PAGE = join(import.meta.dirname, '../../docs/bootstrap-provider.md');

/** The commands of docs/bootstrap-provider.md that make a second Secret, for the Machine that they name. */
export const MACHINE = 'prod-b-md-0-x7k2p';
export const NAMESPACE = 'clusters';

export function shownCommands(language: 'shell' | 'sh'): string {
  const [, commands] =
    new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(readFileSync(PAGE, 'utf8')) ?? [];
  assert.ok(commands, `docs/bootstrap-provider.md has no block of ${language}`);
  return commands;
}

/** What Cluster API has of a machine that is to boot: as the provider leaves it, with user data of its own. */
export function providerObjects(userData: string, version: string) {
  const labels = { 'cluster.x-k8s.io/cluster-name': 'prod-b' };
  const metadata = { name: MACHINE, namespace: NAMESPACE, labels };
  const bootstrap = 'bootstrap.cluster.x-k8s.io/v1beta1';
  return {
    config: {
      apiVersion: bootstrap,
      kind: 'KubeadmConfig',
      metadata,
      spec: { joinConfiguration: {} },
      status: { ready: true, dataSecretName: MACHINE },
    },
    machine: {
      apiVersion: 'cluster.x-k8s.io/v1beta1',
      kind: 'Machine',
      metadata,
      spec: {
        clusterName: 'prod-b',
        version,
        bootstrap: {
          configRef: { apiVersion: bootstrap, kind: 'KubeadmConfig', name: MACHINE, namespace: NAMESPACE },
          dataSecretName: MACHINE,
        },
      },
    },
    /** `owner`: the uid of the KubeadmConfig. */
    secret: (owner: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'cluster.x-k8s.io/secret',
      metadata: {
        ...metadata,
        ownerReferences: [
          { apiVersion: bootstrap, kind: 'KubeadmConfig', name: MACHINE, uid: owner, controller: true },
        ],
      },
      data: {
        value: Buffer.from(userData).toString('base64'),
        format: Buffer.from('cloud-config').toString('base64'),
      },
    }),
  } as const;
}

/**
 * What the provider makes of the worker of the examples, to join a cluster of kubeadm 1.20.
 * @param endpoint host and port of the API server
 * @param caHash `sha256:` and the digest of its authority's public key
 */
export function userDataOfWorker(endpoint: string, caHash: string, token: string): string {
  const discovery = { apiServerEndpoint: endpoint, caCertHashes: [caHash], token };
  const changes: readonly (readonly [RegExp, string])[] = [
    // kubeadm 1.20 takes no credential plug-in in a discovery file: discovery by token, as the provider makes it by default.
    [/^- {3}path: \/etc\/kubernetes\/discovery\.conf\n(?: .*\n)*/m, ''],
    [/^( +)file:\n +kubeConfigPath: .*$/m, `$1bootstrapToken: ${JSON.stringify(discovery)}`],
    // The lab has no proxy: its API server is reached without one, as every command of the script sees it.
    [/^( +- "export HTTPS_PROXY=[^" ]+)"$/m, `$1 NO_PROXY=${endpoint.split(':')[0]}"`],
    // The kernel of a nested machine has no configuration that kubeadm could read.
    [/^( +)- HTTPProxyCIDR$/m, '$&\n$1- SystemVerification'],
  ];
  let userData = goldenUserData('02-worker-registry-mirrors', 'join-worker');
  for (const [from, to] of changes) {
    assert.match(userData, from);
    userData = userData.replace(from, to);
  }
  return userData;
}
