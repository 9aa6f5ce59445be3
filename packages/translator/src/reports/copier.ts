import * as z from 'zod';
import type { Api } from '../cluster/api.ts';
import { KubernetesObject } from '../cluster/objects.ts';
import { readObject, type ServedVersions } from '../cluster/related.ts';
import { pause } from '../service/leader.ts';
import { errorText, type Log } from '../service/log.ts';
import type { Metrics } from '../service/metrics.ts';
import { reportedConditions } from './conditions.ts';
import { REPORT_LABEL, REPORT_PREFIX } from './mint.ts';
import { writeConditions } from './write-conditions.ts';

/** Who owns the conditions of machines. The same as in packaging/management-cluster/copy-conditions.sh, which it replaces. */
const MANAGER = 'machineadm-conditions';

const ReportMap = z.looseObject({
  metadata: KubernetesObject.shape.metadata,
  data: z.record(z.string(), z.string()).nullish(),
});
type ReportMap = z.infer<typeof ReportMap>;

const List = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string().optional(), continue: z.string().optional() }),
  items: z.array(ReportMap),
});
const BootstrapReference = z.looseObject({
  spec: z.looseObject({
    bootstrap: z
      .looseObject({
        configRef: z.looseObject({ kind: z.string(), name: z.string() }).nullish(),
      })
      .nullish(),
  }),
});

export interface CopierOptions {
  readonly namespaces: readonly string[];
  /** Everything is looked at again after so long, in case a write was lost. */
  readonly resyncMs: number;
  /** Before a failed watch or copy is tried again. */
  readonly retryMs: number;
}

const PAGE = '200';
const LONGEST_RETRY_MS = 300_000;

/**
 * Copies what machines report in their ConfigMaps to the conditions of their Machines and KubeadmConfigs, until the signal
 * ends it. Keeps no report in memory longer than it is copied. Never throws.
 */
export async function copyConditions(
  api: Api,
  versions: ServedVersions,
  options: CopierOptions,
  signal: AbortSignal,
  log: Log,
  metrics: Metrics,
): Promise<void> {
  await Promise.all(
    options.namespaces.map((namespace) => new Copier(api, versions, namespace, options, log, metrics).run(signal)),
  );
}

class Copier {
  readonly #api: Api;
  readonly #versions: ServedVersions;
  readonly #namespace: string;
  readonly #options: CopierOptions;
  readonly #log: Log;
  readonly #metrics: Metrics;
  /** The latest report of each ConfigMap that waits; a newer one replaces it. */
  readonly #waiting = new Map<string, ReportMap>();
  #isCopying = false;

  constructor(
    api: Api,
    versions: ServedVersions,
    namespace: string,
    options: CopierOptions,
    log: Log,
    metrics: Metrics,
  ) {
    this.#api = api;
    this.#versions = versions;
    this.#namespace = namespace;
    this.#options = options;
    this.#log = log;
    this.#metrics = metrics;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { resyncMs, retryMs } = this.#options;
    while (!signal.aborted) {
      const round = AbortSignal.any([signal, AbortSignal.timeout(resyncMs)]);
      try {
        const resourceVersion = await this.#list(round);
        await this.#follow(resourceVersion, round);
      } catch (error) {
        if (signal.aborted) return;
        this.#log('warn', 'reports cannot be listed', { namespace: this.#namespace, error: errorText(error) });
        await pause(retryMs, signal);
      }
    }
  }

  get #path(): string {
    return `/api/v1/namespaces/${this.#namespace}/configmaps`;
  }

  /** Copies every report once, page by page; gives the version from which to watch. */
  async #list(signal: AbortSignal): Promise<string | undefined> {
    let next = '';
    let version: string | undefined;
    do {
      const query = { labelSelector: `${REPORT_LABEL}=true`, limit: PAGE, ...(next === '' ? {} : { continue: next }) };
      const { metadata, items } = List.parse(await this.#api.request({ path: this.#path, query, signal }));
      for (const item of items) this.#waiting.set(item.metadata.name, item);
      await this.#copyWaiting(signal);
      version ??= metadata.resourceVersion;
      next = metadata.continue ?? '';
    } while (next !== '' && !signal.aborted);
    return version;
  }

  /** Watches until the resync is due, or a watch says that the version is too old. */
  async #follow(from: string | undefined, signal: AbortSignal): Promise<void> {
    let version = from;
    while (!signal.aborted && version !== undefined) {
      const query = { labelSelector: `${REPORT_LABEL}=true`, resourceVersion: version, allowWatchBookmarks: 'true' };
      let isExpired = false;
      const beganAt = performance.now();
      await this.#api.watch(
        this.#path,
        query,
        ({ type, object }) => {
          const { success, data } = ReportMap.safeParse(object);
          if (type === 'ERROR' || !success) {
            isExpired = true;
            return;
          }
          version = data.metadata.resourceVersion ?? version;
          if (type !== 'ADDED' && type !== 'MODIFIED') return;
          this.#waiting.set(data.metadata.name, data);
          void this.#copyWaiting(signal);
        },
        signal,
      );
      if (isExpired) return;
      // A server that ends each watch at once is not asked all the time.
      if (performance.now() - beganAt < this.#options.retryMs) await pause(this.#options.retryMs, signal);
    }
  }

  /** Copies what waits, one after the other; whoever comes while it runs leaves it to that run. */
  async #copyWaiting(signal: AbortSignal): Promise<void> {
    if (this.#isCopying) return;
    this.#isCopying = true;
    try {
      for (const [name, report] of this.#waiting) {
        if (signal.aborted) return;
        this.#waiting.delete(name);
        await this.#copy(report, 0, signal);
      }
    } finally {
      this.#isCopying = false;
    }
  }

  async #copy(report: ReportMap, attempts: number, signal: AbortSignal): Promise<void> {
    const { name } = report.metadata;
    try {
      if (!(await this.#copyOnce(report, signal))) return;
      this.#metrics.conditionsCopied.inc();
      this.#log('info', 'conditions copied', { namespace: this.#namespace, report: name });
    } catch (error) {
      this.#metrics.copyErrors.inc();
      this.#log('warn', 'conditions not copied', { namespace: this.#namespace, report: name, error: errorText(error) });
      const wait = Math.min(this.#options.retryMs * 2 ** attempts, LONGEST_RETRY_MS);
      // The other reports do not wait for it.
      void pause(wait, signal).then(async () => {
        if (!signal.aborted && !this.#waiting.has(name)) await this.#copy(report, attempts + 1, signal);
      });
    }
  }

  /** Whether anything was written. The name of the ConfigMap says whose report it is: a machine cannot change it. */
  async #copyOnce({ metadata, data }: ReportMap, signal: AbortSignal): Promise<boolean> {
    const conditions = reportedConditions(data);
    if (conditions.length === 0 || !metadata.name.startsWith(REPORT_PREFIX)) return false;
    const machineName = metadata.name.slice(REPORT_PREFIX.length);
    const machine = await readObject(this.#api, this.#versions, 'Machine', this.#namespace, machineName, signal);
    // A report of an earlier Machine of this name says nothing about this one.
    const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'Machine');
    if (machine === undefined || (owner !== undefined && owner.uid !== machine.metadata.uid)) return false;
    const written = await writeConditions(this.#api, 'Machine', machine, conditions, MANAGER);
    const reference = BootstrapReference.safeParse(machine).data?.spec.bootstrap?.configRef;
    if (reference?.kind !== 'KubeadmConfig') return written;
    const config = await readObject(
      this.#api,
      this.#versions,
      'KubeadmConfig',
      this.#namespace,
      reference.name,
      signal,
    );
    if (config === undefined) return written;
    return (await writeConditions(this.#api, 'KubeadmConfig', config, conditions, MANAGER)) || written;
  }
}
