import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeApiServer, Method } from './kube-apiserver.ts';

/** What there is of a machine besides its objects. */
export interface Hardware {
  /** Boots a machine with its user data; its node gets the provider id. */
  boot(name: string, providerID: string, userData: string): Promise<void>;
  /** The machine is not there any more. */
  end(name: string): Promise<void>;
}

interface Found {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly deletionTimestamp?: string;
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
  };
  readonly spec?: {
    readonly bootstrap?: { readonly dataSecretName?: string };
    readonly providerID?: string;
    readonly providerIDList?: readonly string[];
    readonly replicas?: number;
    readonly template?: { readonly spec?: { readonly bootstrap?: { readonly dataSecretName?: string } } };
  };
  readonly status?: { readonly initialization?: { readonly provisioned?: boolean } };
}

/** As of a provider: an object stays until its machine is gone. */
const FINALIZER = 'machine.infrastructure.cluster.x-k8s.io';

/**
 * An infrastructure provider that does what Cluster API's contract demands: a cluster is provisioned at once, and a machine
 * or a pool of them when its bootstrap data is there. Without hardware, a machine that joins is a Node with its provider id.
 */
export class FakeCloud implements AsyncDisposable {
  readonly #server: KubeApiServer;
  readonly #hardware: Hardware | undefined;
  #running = true;
  #done: Promise<void> = Promise.resolve();
  /** The last thing that it could not do: it tries again, as controllers do. */
  lastError: unknown;

  private constructor(server: KubeApiServer, hardware: Hardware | undefined) {
    this.#server = server;
    this.#hardware = hardware;
  }

  static start(server: KubeApiServer, hardware?: Hardware): FakeCloud {
    const cloud = new FakeCloud(server, hardware);
    cloud.#done = cloud.#work();
    return cloud;
  }

  async #work(): Promise<void> {
    while (this.#running) {
      try {
        await this.#once();
      } catch (error) {
        this.lastError = error;
      }
      await sleep(300);
    }
  }

  async #once(): Promise<void> {
    for (const cluster of await this.#list('fakeclusters')) await this.#provisioned('fakeclusters', cluster);
    for (const machine of await this.#list('fakemachines')) await this.#keep(machine);
    for (const pool of await this.#list('fakemachinepools')) await this.#fill(pool);
  }

  /** Boots a machine once its bootstrap data is there, and ends it with its object. */
  async #keep(machine: Found): Promise<void> {
    const { metadata, spec } = machine;
    const path = pathOf('fakemachines', machine);
    if (metadata.deletionTimestamp !== undefined) {
      await this.#hardware?.end(metadata.name);
      return await this.#patch(path, { metadata: { finalizers: null } });
    }
    if (spec?.providerID === undefined) {
      const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'Machine')?.name;
      if (owner === undefined) return;
      const machines = `/apis/cluster.x-k8s.io/v1beta2/namespaces/${metadata.namespace}/machines/${owner}`;
      const owned = (await this.#server.ask('GET', machines)) as Found;
      const secret = owned.spec?.bootstrap?.dataSecretName;
      if (secret === undefined) return;
      const providerID = `fake://${metadata.name}`;
      if (this.#hardware === undefined) await this.#join(metadata.name, providerID);
      else {
        await this.#patch(path, { metadata: { finalizers: [FINALIZER] } });
        await this.#hardware.boot(metadata.name, providerID, await this.#userData(metadata.namespace, secret));
      }
      await this.#patch(path, { spec: { providerID } });
    }
    await this.#provisioned('fakemachines', machine);
  }

  async #userData(namespace: string, name: string): Promise<string> {
    const { data } = (await this.#server.ask('GET', `/api/v1/namespaces/${namespace}/secrets/${name}`)) as {
      readonly data: { readonly value: string };
    };
    return Buffer.from(data.value, 'base64').toString();
  }

  /** Makes the instances of a MachinePool that are missing. */
  async #fill(pool: Found): Promise<void> {
    const { metadata, spec } = pool;
    const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'MachinePool')?.name;
    if (owner === undefined) return;
    const path = `/apis/cluster.x-k8s.io/v1beta2/namespaces/${metadata.namespace}/machinepools/${owner}`;
    const { spec: wanted } = (await this.#server.ask('GET', path)) as Found;
    if (wanted?.template?.spec?.bootstrap?.dataSecretName === undefined) return;
    const names = Array.from({ length: wanted.replicas ?? 1 }, (_, index) => `${metadata.name}-${index}`);
    const present = spec?.providerIDList ?? [];
    for (const name of names.slice(present.length)) await this.#join(name, `fake://${name}`);
    if (present.length === names.length) return;
    await this.#patch(pathOf('fakemachinepools', pool), {
      spec: { providerIDList: names.map((name) => `fake://${name}`) },
    });
    // Cluster API 1.13 still asks a pool for `ready` of the contract before.
    const status = { ready: true, initialization: { provisioned: true }, replicas: names.length };
    await this.#patch(`${pathOf('fakemachinepools', pool)}/status`, { status });
  }

  /** A Node as the kubelet of the machine registers it. */
  async #join(name: string, providerID: string): Promise<void> {
    await this.#server.ask('POST', '/api/v1/nodes', { metadata: { name }, spec: { providerID } });
    await this.setReady(name, true);
  }

  /** Whether the Node of a machine is Ready. */
  async setReady(name: string, isReady: boolean): Promise<void> {
    const now = new Date().toISOString();
    const times = { lastHeartbeatTime: now, lastTransitionTime: now };
    const pressures = ['MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => {
      return { type, status: 'False', reason: 'KubeletHasNoPressure', ...times };
    });
    const reason = isReady ? 'KubeletReady' : 'KubeletNotReady';
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False', reason, ...times }, ...pressures];
    const nodeInfo = { kubeletVersion: 'v1.35.2' };
    await this.#patch(`/api/v1/nodes/${name}/status`, { status: { conditions, nodeInfo } });
  }

  /** The status, also of an object that `clusterctl move` brought without it. */
  async #provisioned(plural: string, object: Found): Promise<void> {
    if (object.status?.initialization?.provisioned === true) return;
    await this.#patch(`${pathOf(plural, object)}/status`, { status: { initialization: { provisioned: true } } });
  }

  async #list(plural: string): Promise<readonly Found[]> {
    return ((await this.#server.ask('GET', `${GROUP}/${plural}`)) as { items: readonly Found[] }).items;
  }

  async #patch(path: string, body: object): Promise<void> {
    const method: Method = 'PATCH';
    const type = 'application/merge-patch+json';
    const status = await this.#server.statusOf(this.#server.admin, method, path, type, JSON.stringify(body));
    if (status !== 200) throw new Error(`${path}: ${status}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#running = false;
    await this.#done;
  }
}

const GROUP = '/apis/infrastructure.cluster.x-k8s.io/v1';

function pathOf(plural: string, { metadata }: Found): string {
  return `${GROUP}/namespaces/${metadata.namespace}/${plural}/${metadata.name}`;
}
