import { ApiError, type Request } from '@machineadm/translator/cluster/api.ts';
import type { WorkloadApi } from '@machineadm/translator/provider/workload-api.ts';
import * as z from 'zod';

const Named = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  status: z.looseObject({}).optional(),
});
const Operations = z.array(
  z.object({ op: z.enum(['add', 'remove']), path: z.string(), value: z.unknown().optional() }),
);
const Eviction = z.looseObject({ metadata: z.object({ name: z.string(), namespace: z.string() }) });

/** A workload cluster in memory with one node, its pods and Secrets, as far as an update in place uses them. */
export class WorkloadNode implements WorkloadApi {
  readonly node: {
    metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
    spec: { unschedulable?: boolean };
    status: { nodeInfo: { kubeletVersion: string } };
  };
  /** By `NAMESPACE/NAME`. */
  readonly pods = new Map<string, z.infer<typeof Named>>();
  readonly secrets = new Map<string, z.infer<typeof Named>>();
  /** Pods that a PodDisruptionBudget protects, by `NAMESPACE/NAME`. */
  readonly protected = new Set<string>();
  readonly calls: string[] = [];
  /** Pods in one page of a list. */
  page = 100;

  constructor(name: string, kubeletVersion: string) {
    this.node = {
      metadata: { name, labels: { 'kubernetes.io/os': 'linux' } },
      spec: {},
      status: { nodeInfo: { kubeletVersion } },
    };
  }

  addPod(name: string, metadata: object = {}): void {
    this.pods.set(`default/${name}`, { metadata: { name, namespace: 'default', uid: `uid-${name}`, ...metadata } });
  }

  /** Ends the container of a pod of kube-system. */
  end(pod: string, exitCode: number, message = '', finishedAt = new Date()): void {
    const phase = exitCode === 0 ? 'Succeeded' : 'Failed';
    const terminated = { exitCode, message, finishedAt: finishedAt.toISOString() };
    this.say(pod, { phase, containerStatuses: [{ state: { terminated } }] });
  }

  say(pod: string, status: object): void {
    const key = `kube-system/${pod}`;
    const found = this.pods.get(key);
    if (found === undefined) throw new Error(`there is no pod ${pod}, but ${[...this.pods.keys()].join(', ')}`);
    this.pods.set(key, { ...found, status: { ...status } });
  }

  async request({ method = 'GET', path, body }: Request): Promise<unknown> {
    this.calls.push(`${method} ${path}`);
    const [, namespace = '', plural = '', name, sub] =
      /^\/api\/v1(?:\/namespaces\/([^/]+))?\/(nodes|pods|secrets)(?:\/([^/?]+))?(?:\/(\w+))?/.exec(path) ?? [];
    if (plural === 'nodes') return this.#node(method, body);
    if (sub === 'eviction') return this.#evict(Eviction.parse(body).metadata);
    const objects = plural === 'secrets' ? this.secrets : this.pods;
    if (method === 'GET' && name === undefined) return this.#list(path);
    if (method === 'POST') {
      const object = Named.parse(body);
      const key = `${namespace}/${object.metadata.name}`;
      if (objects.has(key)) throw new ApiError(409, 'exists');
      objects.set(key, { ...object, metadata: { ...object.metadata, namespace, uid: `uid-${object.metadata.name}` } });
      return object;
    }
    const key = `${namespace}/${name}`;
    const found = objects.get(key);
    if (found === undefined) throw new ApiError(404, 'not found');
    if (method === 'PUT') objects.set(key, Named.parse(body));
    if (method === 'DELETE') objects.delete(key);
    return found;
  }

  #node(method: string, body: unknown): unknown {
    if (method === 'GET') return structuredClone(this.node);
    for (const { op, path, value } of Operations.parse(body)) {
      const [, ...names] = path.split('/').map((one) => one.replaceAll('~1', '/'));
      const last = names.pop() ?? '';
      let at: Record<string, unknown> = this.node as never;
      for (const one of names) {
        const below = at[one];
        if (typeof below !== 'object' || below === null) throw new ApiError(422, `${path}: no such place`);
        at = below as Record<string, unknown>;
      }
      if (op === 'add') at[last] = value;
      else if (last in at) delete at[last];
      else throw new ApiError(422, `${path}: nothing to remove`);
    }
    return this.node;
  }

  #evict({ name, namespace }: { readonly name: string; readonly namespace: string }): unknown {
    const key = `${namespace}/${name}`;
    if (this.protected.has(key)) throw new ApiError(429, 'Cannot evict pod as it would violate the budget SECRET');
    if (!this.pods.delete(key)) throw new ApiError(404, 'not found');
    return {};
  }

  #list(path: string): unknown {
    const from = Number(/continue=(\d+)/.exec(path)?.[1] ?? 0);
    const all = [...this.pods.values()];
    const next = from + this.page < all.length ? `${from + this.page}` : '';
    return { metadata: { continue: next }, items: all.slice(from, from + this.page) };
  }
}
