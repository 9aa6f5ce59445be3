import { type Api, ApiError, type Request, type WatchEvent } from '@machineadm/translator/cluster/api.ts';
import * as z from 'zod';
import { newAuthority } from './api-server.ts';

/** Objects as the controllers of Cluster API write them. */

export const NAMESPACE = 'clusters';
export const PROVIDER = 'system:serviceaccount:capi-kubeadm-bootstrap-system:capi-kubeadm-bootstrap-manager';
export const ENABLED = { 'machineadm.dev/bootstrap': 'enabled' };
const CLUSTER = { 'cluster.x-k8s.io/cluster-name': 'prod-a' };

export const base64 = (text: string): string => Buffer.from(text).toString('base64');

type Stored = {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid?: string };
};

/** Paths of lists. */
const COLLECTION = /\/(?:machines|machinepools|kubeadmconfigs|machineadmconfigs|clusters|configmaps|secrets)$/;
type Anything = Record<string, unknown>;

const Named = z.looseObject({
  metadata: z.looseObject({ name: z.string().optional(), generateName: z.string().optional() }),
});
const Conditions = z.looseObject({
  status: z.looseObject({ conditions: z.array(z.looseObject({ type: z.string() })) }),
});

/** A management cluster in memory: it stores what is posted, applies conditions, and tells watchers. */
export class ManagementCluster implements Api {
  readonly certificateAuthority = newAuthority().certificate;
  readonly objects = new Map<string, Anything>();
  /** `METHOD path` of every request. */
  readonly calls: string[] = [];
  /** Answers that fail, by a part of `METHOD path`. */
  readonly failing = new Map<string, number>();
  /** The version of Cluster API that it serves. */
  serves = 'v1beta2';
  #revision = 0;
  readonly #watchers = new Set<{ readonly path: string; readonly receive: (event: WatchEvent) => void }>();

  /** Requests that change something. */
  get writes(): readonly string[] {
    return this.calls.filter((call) => !call.startsWith('GET ') && !call.endsWith('/token'));
  }

  get(path: string): Anything | undefined {
    return this.objects.get(path);
  }

  /** The conditions of an object, by type. */
  conditions(path: string): Readonly<Record<string, Anything>> {
    const { success, data } = Conditions.safeParse(this.objects.get(path));
    return success ? Object.fromEntries(data.status.conditions.map((one) => [one.type, one])) : {};
  }

  put(path: string, object: object): void {
    const isNew = !this.objects.has(path);
    this.#revision += 1;
    const { metadata } = Named.parse(object);
    const stored = { ...object, metadata: { ...metadata, resourceVersion: `${this.#revision}` } };
    this.objects.set(path, stored);
    this.#tell(isNew ? 'ADDED' : 'MODIFIED', path, stored);
  }

  remove(path: string): void {
    const object = this.objects.get(path);
    this.objects.delete(path);
    if (object !== undefined) this.#tell('DELETED', path, object);
  }

  async request({ method = 'GET', path, body, contentType, signal }: Request): Promise<unknown> {
    signal?.throwIfAborted();
    const call = `${method} ${path}`;
    this.calls.push(call);
    for (const [part, status] of this.failing) {
      if (call.includes(part)) throw new ApiError(status, `${call}: refused`);
    }
    if (/^\/apis\/[^/]+$/.test(path)) return { preferredVersion: { version: this.serves } };
    if (method === 'GET') {
      const object = this.objects.get(path);
      if (object !== undefined) return object;
      if (!COLLECTION.test(path)) throw new ApiError(404, `${path}: not found`);
      return { metadata: { resourceVersion: `${this.#revision}` }, items: this.#under(path) };
    }
    if (path.endsWith('/token')) return { status: { token: `token-of-${path.split('/').at(-2)}` } };
    if (method === 'PATCH' && contentType === 'application/apply-patch+yaml') return this.#apply(path, body);
    const { metadata } = Named.parse(body);
    const target = `${path}/${metadata.name ?? `${metadata.generateName}${this.#revision}`}`;
    if (method === 'POST' && this.objects.has(target)) throw new ApiError(409, `${target}: exists`);
    this.put(method === 'POST' ? target : path, z.looseObject({}).parse(body));
    return this.objects.get(target);
  }

  async watch(
    path: string,
    _query: Readonly<Record<string, string>>,
    receive: (event: WatchEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const watcher = { path, receive };
    this.#watchers.add(watcher);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    this.#watchers.delete(watcher);
  }

  /** Whether somebody watches these. */
  isWatched(path: string): boolean {
    return [...this.#watchers].some((one) => one.path === path);
  }

  #apply(path: string, body: unknown): unknown {
    const target = path.replace(/\/status$/, '');
    const object = this.objects.get(target);
    if (object === undefined) throw new ApiError(404, `${target}: not found`);
    const before = Object.values(this.conditions(target));
    const { conditions: applied, ...more } = Conditions.parse(body).status;
    const kept = before.filter(({ type }) => !applied.some((one) => one.type === type));
    this.put(target, {
      ...object,
      status: { ...z.looseObject({}).parse(object.status ?? {}), ...more, conditions: [...kept, ...applied] },
    });
    return this.objects.get(target);
  }

  #under(path: string): readonly object[] {
    return [...this.objects].flatMap(([key, object]) => (isIn(key, path) ? [object] : []));
  }

  #tell(type: string, path: string, object: object): void {
    for (const watcher of this.#watchers) if (isIn(path, watcher.path)) watcher.receive({ type, object });
  }

  /** A machine with its KubeadmConfig, before its bootstrap data exists. */
  addMachine(name: string, change: MachineChange = {}): AddedMachine {
    const namespace = change.namespace ?? NAMESPACE;
    const kind = change.kind ?? 'Machine';
    const plural = `${kind.toLowerCase()}s`;
    const machinePath = `/apis/cluster.x-k8s.io/v1beta2/namespaces/${namespace}/${plural}/${name}`;
    const configPath = `/apis/bootstrap.cluster.x-k8s.io/v1beta2/namespaces/${namespace}/kubeadmconfigs/${name}`;
    const uid = uidOf(`${namespace}/${name}`);
    const configUid = uidOf(`config ${namespace}/${name}`);
    const spec = {
      version: 'v1.35.2',
      clusterName: 'prod-a',
      bootstrap: { configRef: { kind: 'KubeadmConfig', name }, dataSecretName: change.dataSecretName },
      providerID: change.providerID,
    };
    this.put(machinePath, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind,
      metadata: {
        name,
        namespace,
        uid,
        generation: 1,
        labels: { ...CLUSTER, ...(change.labels ?? ENABLED) },
        annotations: change.annotations ?? {},
      },
      spec: kind === 'Machine' ? spec : { clusterName: 'prod-a', template: { spec } },
    });
    const owner = { apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2', kind: 'KubeadmConfig', name, uid: configUid };
    const config = {
      apiVersion: owner.apiVersion,
      kind: owner.kind,
      metadata: {
        name,
        namespace,
        uid: configUid,
        generation: 1,
        labels: CLUSTER,
        ownerReferences: [{ apiVersion: 'cluster.x-k8s.io/v1beta2', kind, name, uid }],
      },
    };
    this.put(configPath, config);
    const secret = (userData: string) => ({
      metadata: { name, namespace, labels: CLUSTER, ownerReferences: [owner] },
      type: 'cluster.x-k8s.io/secret',
      data: { value: base64(userData), format: base64('cloud-config') },
    });
    const secretPath = `/api/v1/namespaces/${namespace}/secrets/${name}`;
    return {
      name,
      namespace,
      uid,
      machinePath,
      configPath,
      secretPath,
      secret,
      store: (stored) => {
        this.put(secretPath, stored);
        this.put(configPath, { ...config, status: { dataSecretName: name } });
      },
    };
  }

  addCluster(namespace = NAMESPACE): void {
    this.put(`/apis/cluster.x-k8s.io/v1beta2/namespaces/${namespace}/clusters/prod-a`, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name: 'prod-a', namespace, uid: uidOf(`cluster ${namespace}`) },
      spec: { controlPlaneEndpoint: { host: 'api.prod-a.example', port: 6443 } },
    });
  }
}

export interface MachineChange {
  readonly namespace?: string;
  readonly kind?: 'Machine' | 'MachinePool';
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly providerID?: string;
  readonly dataSecretName?: string;
}

export interface AddedMachine {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly machinePath: string;
  readonly configPath: string;
  readonly secretPath: string;
  /** The Secret as the provider writes it. */
  secret(userData: string): SecretOfProvider;
  /** The Secret is stored, and the KubeadmConfig says so. */
  store(secret: object): void;
}

export type SecretOfProvider = Stored & {
  readonly type: string;
  readonly data: Readonly<Record<string, string>>;
};

/** A uid that depends on the name only. */
function uidOf(name: string): string {
  const hex = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 0xffffffff, 7).toString(16);
  return `${hex.padStart(8, '0')}-1111-4222-8333-444444444444`;
}

function isIn(path: string, collection: string): boolean {
  const [group = '', plural = ''] = [collection.slice(0, collection.lastIndexOf('/')), collection.split('/').at(-1)];
  if (path.startsWith(`${collection}/`)) return true;
  // All namespaces.
  return path.startsWith(`${group}/namespaces/`) && path.split('/').at(-2) === plural;
}

/** An AdmissionReview of the API server about a Secret. */
export function reviewOf(object: object, change: object = {}): string {
  return JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u1',
      operation: 'CREATE',
      namespace: NAMESPACE,
      userInfo: { username: PROVIDER },
      object,
      ...change,
    },
  });
}

const Answered = z.object({
  response: z.object({ uid: z.string(), allowed: z.literal(true), patch: z.string().optional() }),
});
interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** The patch of an answer. */
export function patchOf(answer: unknown): readonly Operation[] {
  const { patch } = Answered.parse(answer).response;
  return patch === undefined ? [] : JSON.parse(Buffer.from(patch, 'base64').toString());
}

/** The Secret that the API server stores after an answer. */
export function patched(secret: SecretOfProvider, answer: unknown): SecretOfProvider & Stored {
  const result: { metadata: Anything; data: Record<string, string> } = structuredClone({
    ...secret,
    metadata: { ...secret.metadata },
    data: { ...secret.data },
  });
  for (const { op, path, value } of patchOf(answer)) {
    if (path === '/data/value') result.data.value = String(value);
    else if (path === '/metadata/annotations') result.metadata.annotations = value;
    else {
      const annotations = z.record(z.string(), z.string()).parse(result.metadata.annotations);
      const name = path.slice('/metadata/annotations/'.length).replace('~1', '/');
      if (op === 'remove') delete annotations[name];
      else annotations[name] = String(value);
      result.metadata.annotations = annotations;
    }
  }
  return { ...secret, ...result, metadata: { ...secret.metadata, ...result.metadata } };
}
