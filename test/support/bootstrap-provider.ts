import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

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
