import * as z from 'zod';
import { type Api, ApiError, isStatus } from '../cluster/api.ts';
import { decoded } from '../conversions/secret-data.ts';
import { NotReady } from './not-ready.ts';
import { type Workload, workloadOf } from './workload.ts';

const KubeconfigSecret = z.looseObject({
  metadata: z.looseObject({ uid: z.string().optional(), resourceVersion: z.string().optional() }),
  data: z.record(z.string(), z.string()).default({}),
});

/** A kubeconfig is read again after so long: it is rotated before its certificate ends. */
const KEPT_MS = 10_000;

/** The workload clusters of the management cluster, by the kubeconfigs that Cluster API stores beside the Clusters. */
export class Workloads {
  readonly #api: Api;
  readonly #connect: (kubeconfig: string) => Promise<Workload>;
  readonly #known = new Map<
    string,
    { readonly workload: Workload; readonly version: string; readonly until: number }
  >();

  constructor(api: Api, connect: (kubeconfig: string) => Promise<Workload> = workloadOf) {
    this.#api = api;
    this.#connect = connect;
  }

  /** The workload cluster of a Cluster. Throws `NotReady`. */
  async of(namespace: string, cluster: string, signal: AbortSignal): Promise<Workload> {
    const key = `${namespace}/${cluster}`;
    const known = this.#known.get(key);
    if (known !== undefined && known.until > performance.now()) return known.workload;
    const name = `${cluster}-kubeconfig`;
    let secret: z.infer<typeof KubeconfigSecret>;
    try {
      const path = `/api/v1/namespaces/${namespace}/secrets/${encodeURIComponent(name)}`;
      secret = KubeconfigSecret.parse(await this.#api.request({ path, signal }));
    } catch (error) {
      this.#known.delete(key);
      if (isStatus(error, 404)) throw new NotReady('WorkloadClusterUnreachable', `there is no Secret ${name}`);
      if (isStatus(error, 403)) throw new NotReady('WorkloadClusterUnreachable', mayNotRead(name));
      throw error;
    }
    const { uid = '', resourceVersion = '' } = secret.metadata;
    const version = `${uid} ${resourceVersion}`;
    const until = performance.now() + KEPT_MS;
    const workload =
      known?.version === version ? known.workload : await this.#connect(decoded(secret.data.value) ?? '');
    this.#known.set(key, { workload, version, until });
    return workload;
  }
}

/** What to say of a Secret that may not be read. */
export function mayNotRead(name: string): string {
  return `the controller may not read Secret ${name}: bind the ClusterRole machineadm-bootstrap-namespace in this namespace`;
}

/** A request to a workload cluster. Throws `NotReady`: nothing of its answer is shown but the status. */
export async function inWorkload<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new NotReady('WorkloadClusterUnreachable', `the API server of the Cluster ${whyUnreachable(error)}`);
  }
}

function whyUnreachable(error: unknown): string {
  if (error instanceof ApiError) return `answers with HTTP status ${error.status}`;
  return error instanceof z.ZodError ? 'answers with an unexpected object' : 'does not answer';
}
