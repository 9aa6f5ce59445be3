import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ClusterApi, installDefinitions } from './capi-managers.ts';
import { FakeCloud, type Hardware } from './fake-cloud.ts';
import { type KubeApiServer, startKubeApiServer } from './kube-apiserver.ts';
import { InstalledTranslator, type Manifest, webhookClient } from './translator.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** Who writes the Secrets of KubeadmConfigs. */
const PROVIDER = 'system:serviceaccount:capi-kubeadm-bootstrap-system:capi-kubeadm-bootstrap-manager';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

export interface Found {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly version?: string;
    readonly bootstrap?: { readonly dataSecretName?: string; readonly configRef?: { readonly kind: string } };
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
    readonly nodeRef?: { readonly name: string };
    readonly nodeRefs?: readonly object[];
  };
}

/**
 * A management cluster as its users have it: an API server, Cluster API's managers, and our service with its own manifests and
 * rights, for the translation and for MachineadmConfigs. A script is its infrastructure provider.
 */
export class ManagementPlane implements AsyncDisposable {
  readonly server: KubeApiServer;
  readonly cloud: FakeCloud;
  readonly #parts: readonly AsyncDisposable[];

  private constructor(server: KubeApiServer, cloud: FakeCloud, parts: readonly AsyncDisposable[]) {
    this.server = server;
    this.cloud = cloud;
    this.#parts = parts;
  }

  /**
   * @param namespaces that are to contain clusters
   * @param hardware   what boots; default: nothing does, and each machine is a Node of the management cluster
   * @param profiles   of the translator
   */
  static async start(
    namespaces: readonly string[],
    { hardware, profiles }: { readonly hardware?: Hardware; readonly profiles?: string } = {},
  ): Promise<ManagementPlane> {
    const parts: AsyncDisposable[] = [];
    try {
      const server = await startKubeApiServer(webhookClient());
      parts.unshift(server);
      for (const name of namespaces) await server.ask('POST', '/api/v1/namespaces', { metadata: { name } });
      await installDefinitions(server);
      const translator = await InstalledTranslator.install(server, namespaces);
      parts.unshift(translator);
      await installProvider(server, translator, namespaces);
      if (profiles !== undefined) translator.writeProfiles(profiles);
      await translator.start('one', `--provider-user=${PROVIDER}`, '--bootstrap-provider');
      parts.unshift(await ClusterApi.start(server));
      const cloud = FakeCloud.start(server, hardware);
      parts.unshift(cloud);
      return new ManagementPlane(server, cloud, parts);
    } catch (error) {
      for (const part of parts) await part[Symbol.asyncDispose]();
      throw error;
    }
  }

  async list(path: string): Promise<readonly Found[]> {
    return ((await this.server.ask('GET', path)) as { readonly items: readonly Found[] }).items;
  }

  /** The keys of a Secret, decoded. */
  async secret(namespace: string, name: string): Promise<Readonly<Record<string, string>>> {
    const { data } = (await this.server.ask('GET', `/api/v1/namespaces/${namespace}/secrets/${name}`)) as {
      readonly data: Readonly<Record<string, string>>;
    };
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  }

  async patch(path: string, body: object): Promise<void> {
    const type = 'application/merge-patch+json';
    assert.equal(await this.server.statusOf(this.server.admin, 'PATCH', path, type, JSON.stringify(body)), 200, path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.#parts) await part[Symbol.asyncDispose]();
  }
}

/** The definitions and rights of MachineadmConfigs, as packaging/bootstrap-provider has them. */
async function installProvider(
  server: KubeApiServer,
  translator: InstalledTranslator,
  namespaces: readonly string[],
): Promise<void> {
  for (const file of ['definitions.yaml', 'rbac.yaml', 'webhook.yaml'])
    for (const document of parseAllDocuments(readFileSync(join(ROOT, 'packaging/bootstrap-provider', file), 'utf8'))) {
      const object = document.toJS() as Manifest;
      await server.ask('POST', `/apis/${object.apiVersion}/${object.kind.toLowerCase()}s`, translator.pointed(object));
    }
  const name = 'machineadm-bootstrap-namespace';
  for (const namespace of namespaces)
    await server.ask('POST', `${RBAC}/namespaces/${namespace}/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', namespace: 'machineadm-system', name: 'machineadm-translator' }],
    });
  await server.until('/apis/bootstrap.cluster.x-k8s.io/v1alpha1/machineadmconfigs');
}
