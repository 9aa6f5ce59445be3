import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ClusterApi, installDefinitions } from './capi-managers.ts';
import { FakeCloud, type Hardware } from './fake-cloud.ts';
import { type KubeApiServer, startKubeApiServer } from './kube-apiserver.ts';
import { InstalledTranslator, type Manifest, type Replica, webhookClient } from './translator.ts';

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
  /** The only replica of our service. */
  readonly service: Replica;
  readonly #translator: InstalledTranslator;
  readonly #parts: readonly AsyncDisposable[];

  private constructor(
    server: KubeApiServer,
    cloud: FakeCloud,
    translator: InstalledTranslator,
    service: Replica,
    parts: readonly AsyncDisposable[],
  ) {
    this.server = server;
    this.cloud = cloud;
    this.#translator = translator;
    this.service = service;
    this.#parts = parts;
  }

  /**
   * @param namespaces that are to contain clusters
   * @param hardware   what boots; default: nothing does, and each machine is a Node of the management cluster
   * @param profiles   of the translator
   * @param updateImage machines are updated in place, with pods of this image
   */
  static async start(
    namespaces: readonly string[],
    {
      hardware,
      profiles,
      updateImage,
    }: { readonly hardware?: Hardware; readonly profiles?: string; readonly updateImage?: string } = {},
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
      const updates = updateImage === undefined ? [] : [`--update-image=${updateImage}`];
      const service = await translator.start('one', `--provider-user=${PROVIDER}`, '--bootstrap-provider', ...updates);
      if (updates.length > 0) await installUpdates(server, translator);
      parts.unshift(await ClusterApi.start(server, updates.length > 0 ? ['RuntimeSDK', 'InPlaceUpdates'] : []));
      const cloud = FakeCloud.start(server, hardware);
      parts.unshift(cloud);
      return new ManagementPlane(server, cloud, translator, service, parts);
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

  /** Replaces the profiles of the translator. */
  writeProfiles(text: string): void {
    this.#translator.writeProfiles(text);
  }

  async patch(path: string, body: object): Promise<void> {
    const type = 'application/merge-patch+json';
    assert.equal(await this.server.statusOf(this.server.admin, 'PATCH', path, type, JSON.stringify(body)), 200, path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.#parts) await part[Symbol.asyncDispose]();
  }
}

/** The rights and the ExtensionConfig of updates in place, as packaging/in-place-updates has them. */
async function installUpdates(server: KubeApiServer, translator: InstalledTranslator): Promise<void> {
  await server.until('/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs');
  await install(server, translator, 'in-place-updates', ['rbac.yaml', 'extension.yaml']);
}

async function install(
  server: KubeApiServer,
  translator: InstalledTranslator,
  directory: string,
  files: readonly string[],
): Promise<void> {
  for (const file of files)
    for (const document of parseAllDocuments(readFileSync(join(ROOT, 'packaging', directory, file), 'utf8'))) {
      const object = document.toJS() as Manifest;
      await server.ask('POST', `/apis/${object.apiVersion}/${object.kind.toLowerCase()}s`, translator.pointed(object));
    }
}

/** The definitions and rights of MachineadmConfigs, as packaging/bootstrap-provider has them. */
async function installProvider(
  server: KubeApiServer,
  translator: InstalledTranslator,
  namespaces: readonly string[],
): Promise<void> {
  await install(server, translator, 'bootstrap-provider', ['definitions.yaml', 'rbac.yaml', 'webhook.yaml']);
  const name = 'machineadm-bootstrap-namespace';
  for (const namespace of namespaces)
    await server.ask('POST', `${RBAC}/namespaces/${namespace}/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', namespace: 'machineadm-system', name: 'machineadm-translator' }],
    });
  await server.until('/apis/bootstrap.cluster.x-k8s.io/v1alpha1/machineadmconfigs');
}
