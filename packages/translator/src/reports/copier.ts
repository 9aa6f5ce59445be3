import * as z from 'zod';
import { type Api, isStatus } from '../cluster/api.ts';
import { type FollowOptions, follow } from '../cluster/follow.ts';
import { pause } from '../cluster/leader.ts';
import { KubernetesObject } from '../cluster/objects.ts';
import { readObject, type ServedVersions } from '../cluster/related.ts';
import { errorText, type Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { reportedConditions } from './conditions.ts';
import { isOwnedBy, REPORT_LABEL, REPORT_PREFIX } from './objects.ts';
import { writeConditions } from './write-conditions.ts';

/** Who owns the conditions of machines. The same as in packaging/management-cluster/copy-conditions.sh, which it replaces. */
const MANAGER = 'machineadm-conditions';

const ReportMap = z.looseObject({
  metadata: KubernetesObject.shape.metadata,
  data: z.record(z.string(), z.string()).nullish(),
});
type ReportMap = z.infer<typeof ReportMap>;

const Account = z.looseObject({ metadata: KubernetesObject.shape.metadata });
const BootstrapReference = z.looseObject({
  spec: z.looseObject({
    bootstrap: z
      .looseObject({
        configRef: z.looseObject({ kind: z.string(), name: z.string() }).nullish(),
      })
      .nullish(),
  }),
});

export interface CopierOptions extends FollowOptions {
  readonly namespaces: readonly string[];
}

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
    const collection = {
      path: async () => `/api/v1/namespaces/${this.#namespace}/configmaps`,
      query: { labelSelector: `${REPORT_LABEL}=true` },
      page: async (items: readonly unknown[]) => {
        for (const item of z.array(ReportMap).parse(items)) this.#waiting.set(item.metadata.name, item);
        await this.#copyWaiting(signal);
      },
      changed: (type: string, object: unknown) => {
        const report = ReportMap.parse(object);
        if (type === 'DELETED') return;
        this.#waiting.set(report.metadata.name, report);
        void this.#copyWaiting(signal);
      },
      failed: (error: unknown) =>
        this.#log('warn', 'reports cannot be listed', { namespace: this.#namespace, error: errorText(error) }),
    };
    await follow(this.#api, collection, this.#options, signal);
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

  /**
   * Whether anything was written. A report counts only if its ConfigMap has the name of a Machine, belongs to this very
   * Machine, and the only account that may write it does so, too. A ConfigMap that somebody else made is no report.
   */
  async #copyOnce(report: ReportMap, signal: AbortSignal): Promise<boolean> {
    const { metadata, data } = report;
    const conditions = reportedConditions(data);
    if (conditions.length === 0 || !metadata.name.startsWith(REPORT_PREFIX)) return false;
    const machineName = metadata.name.slice(REPORT_PREFIX.length);
    const machine = await readObject(this.#api, this.#versions, 'Machine', this.#namespace, machineName, signal);
    if (machine === undefined) return false;
    const account = isOwnedBy(report, machine) ? await this.#account(metadata.name, signal) : undefined;
    if (account === undefined || !isOwnedBy(account, machine)) {
      this.#metrics.foreignReports.inc();
      const fields = { namespace: this.#namespace, report: metadata.name };
      this.#log('warn', 'no report of its Machine: the ConfigMap or its ServiceAccount has another owner', fields);
      return false;
    }
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

  /** The account whose token may write this report. */
  async #account(name: string, signal: AbortSignal): Promise<z.infer<typeof Account> | undefined> {
    try {
      const path = `/api/v1/namespaces/${this.#namespace}/serviceaccounts/${name}`;
      return Account.parse(await this.#api.request({ path, signal }));
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  }
}
