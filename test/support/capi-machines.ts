import type { KubeApiServer } from './kube-apiserver.ts';

/** Objects of Cluster API as its controllers create them before they write the bootstrap data Secret. */

export const NAMESPACE = 'clusters';
const CLUSTER = 'prod-a';

export interface MachineWish {
  readonly name: string;
  /** Which controller creates it: it decides about owners and labels. */
  readonly owner: 'KubeadmControlPlane' | 'MachineDeployment' | 'MachinePool';
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Of the KubeadmConfig. */
  readonly configAnnotations?: Readonly<Record<string, string>>;
  readonly version?: string;
}

export interface CreatedMachine {
  readonly name: string;
  readonly uid: string;
  readonly path: string;
  readonly configPath: string;
  readonly configUid: string;
  /** Creates the Secret and names it in the status, as the kubeadm provider does (storeBootstrapData); gives what was stored. */
  createSecret(format: 'cloud-config' | 'ignition', userData: string, query?: string): Promise<StoredSecret>;
}

export interface StoredSecret {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly type: string;
  readonly data: Readonly<Record<string, string>>;
}

export interface WithConditions {
  readonly metadata: { readonly uid: string };
  readonly status?: {
    readonly conditions?: readonly Reported[];
    readonly v1beta2?: { readonly conditions?: readonly Reported[] };
  };
}

export interface Reported {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/** The user data of a Secret. */
export function userDataOf({ data }: StoredSecret): string {
  return Buffer.from(data.value ?? '', 'base64').toString();
}

const UID = '00000000-1111-2222-3333-444444444444';

/** Creates machines of one cluster in an API server with the definitions of one version. */
export class Machines {
  readonly #server: KubeApiServer;
  readonly #version: string;
  readonly #namespace: string;

  constructor(server: KubeApiServer, version: 'v1beta1' | 'v1beta2', namespace = NAMESPACE) {
    this.#server = server;
    this.#version = version;
    this.#namespace = namespace;
  }

  path(kind: 'machines' | 'machinepools' | 'kubeadmconfigs' | 'clusters', name = ''): string {
    const group = kind === 'kubeadmconfigs' ? 'bootstrap.cluster.x-k8s.io' : 'cluster.x-k8s.io';
    const suffix = name === '' ? '' : `/${name}`;
    return `/apis/${group}/${this.#version}/namespaces/${this.#namespace}/${kind}${suffix}`;
  }

  async createCluster(annotations: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#server.ask('POST', this.path('clusters'), {
      apiVersion: `cluster.x-k8s.io/${this.#version}`,
      kind: 'Cluster',
      metadata: { name: CLUSTER, annotations },
      spec: { controlPlaneEndpoint: { host: 'api.prod-a.example', port: 6443 } },
    });
  }

  async create(wish: MachineWish): Promise<CreatedMachine> {
    const { name, owner, version = 'v1.35.2' } = wish;
    const cluster = { 'cluster.x-k8s.io/cluster-name': CLUSTER };
    const controller =
      owner === 'KubeadmControlPlane'
        ? { apiVersion: `controlplane.cluster.x-k8s.io/${this.#version}`, kind: owner, name: CLUSTER }
        : { apiVersion: `cluster.x-k8s.io/${this.#version}`, kind: 'MachineSet', name: `${CLUSTER}-md-0` };
    const role =
      owner === 'KubeadmControlPlane'
        ? { 'cluster.x-k8s.io/control-plane': '' }
        : { 'cluster.x-k8s.io/deployment-name': `${CLUSTER}-md-0` };
    const kind = owner === 'MachinePool' ? 'MachinePool' : 'Machine';
    const plural = owner === 'MachinePool' ? 'machinepools' : 'machines';
    const ofConfig =
      this.#version === 'v1beta1'
        ? { apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta1' }
        : { apiGroup: 'bootstrap.cluster.x-k8s.io' };
    const spec = {
      clusterName: CLUSTER,
      version,
      bootstrap: { configRef: { ...ofConfig, kind: 'KubeadmConfig', name } },
    };
    const machine = (await this.#server.ask('POST', this.path(plural), {
      apiVersion: `cluster.x-k8s.io/${this.#version}`,
      kind,
      metadata: {
        name,
        labels: { ...cluster, ...role, ...wish.labels },
        annotations: wish.annotations ?? {},
        ownerReferences: [{ ...controller, uid: UID, controller: true, blockOwnerDeletion: true }],
      },
      spec: kind === 'Machine' ? spec : { clusterName: CLUSTER, replicas: 3, template: { spec } },
    })) as WithConditions;
    const config = (await this.#server.ask('POST', this.path('kubeadmconfigs'), {
      apiVersion: `bootstrap.cluster.x-k8s.io/${this.#version}`,
      kind: 'KubeadmConfig',
      metadata: {
        name,
        labels: cluster,
        annotations: wish.configAnnotations ?? {},
        ownerReferences: [
          { ...controller, uid: UID },
          { apiVersion: `cluster.x-k8s.io/${this.#version}`, kind, name, uid: machine.metadata.uid, controller: true },
        ],
      },
      spec: {},
    })) as WithConditions;
    const server = this.#server;
    const namespace = this.#namespace;
    const configPath = this.path('kubeadmconfigs', name);
    const configOwner = {
      apiVersion: `bootstrap.cluster.x-k8s.io/${this.#version}`,
      kind: 'KubeadmConfig',
      name,
      uid: config.metadata.uid,
      controller: true,
    };
    return {
      name,
      uid: machine.metadata.uid,
      path: this.path(plural, name),
      configPath,
      configUid: config.metadata.uid,
      async createSecret(format, userData, query = '') {
        const base64 = (value: string) => Buffer.from(value).toString('base64');
        const stored = (await server.ask('POST', `/api/v1/namespaces/${namespace}/secrets${query}`, {
          metadata: { name, labels: cluster, ownerReferences: [configOwner] },
          type: 'cluster.x-k8s.io/secret',
          data: { value: base64(userData), format: base64(format) },
        })) as StoredSecret;
        if (query !== '') return stored;
        const status = await server.statusOf(
          server.admin,
          'PATCH',
          `${configPath}/status`,
          'application/merge-patch+json',
          JSON.stringify({ status: { dataSecretName: name } }),
        );
        if (status !== 200) throw new Error(`the status of the KubeadmConfig: ${status}`);
        return stored;
      },
    };
  }
}
