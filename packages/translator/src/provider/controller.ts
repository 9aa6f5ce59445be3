import { type Api, isStatus } from '../cluster/api.ts';
import { type FollowOptions, follow } from '../cluster/follow.ts';
import { pause } from '../cluster/leader.ts';
import { configNameOf, keyOf, ObjectStore, objectOf } from '../cluster/object-store.ts';
import { CORE_GROUP, type KubernetesObject } from '../cluster/objects.ts';
import { collectionPath, owningMachine, type ServedVersions } from '../cluster/related.ts';
import type { Conversions } from '../conversions/pool.ts';
import type { Profiles } from '../handover/profiles.ts';
import { errorText, type Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { bootstrapData } from './bootstrap-data.ts';
import { NotReady } from './not-ready.ts';
import { CONFIGS, type Config, configOf, KIND } from './objects.ts';
import { type Known, READY, writeStatus } from './status.ts';
import { Workloads } from './workloads.ts';

/** Attempts at the same time. */
const ATTEMPTS = 4;
/** One attempt: requests to two API servers, and a rendering. */
const ATTEMPT_MS = 30_000;

export interface ProviderContext {
  readonly api: Api;
  readonly versions: ServedVersions;
  readonly profiles: () => Promise<Profiles>;
  readonly conversions: Conversions;
  readonly version: string;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The workload cluster of a kubeconfig; a test has one in memory. */
  readonly workloads?: Workloads;
}

export interface ProviderOptions extends FollowOptions {
  /** Namespaces whose machines may report. */
  readonly reportNamespaces: readonly string[];
  /** Between two looks at what nobody tells: another cluster, and what a MachineadmConfig refers to. */
  readonly checkIntervalMs: number;
}

/**
 * The bootstrap provider of MachineadmConfig (cluster-api docs, contract rules for BootstrapConfig, v1beta2). Runs on the
 * leader, until the signal ends it. Never throws.
 */
export async function provideBootstrap(
  context: ProviderContext,
  options: ProviderOptions,
  signal: AbortSignal,
): Promise<void> {
  await new Provider(context, options).run(signal);
}

class Provider {
  readonly #context: ProviderContext;
  readonly #options: ProviderOptions;
  readonly #workloads: Workloads;
  readonly #configs = new Map<string, Config>();
  readonly #machines = new ObjectStore();
  /** Configs with nothing left to do until they, or their Machines, change. */
  readonly #settled = new Set<string>();
  readonly #waiting = new Set<string>();
  readonly #inWork = new Set<string>();
  #unseen = new Set<string>();
  #sleeping: (() => void)[] = [];

  constructor(context: ProviderContext, options: ProviderOptions) {
    this.#context = context;
    this.#options = options;
    this.#workloads = context.workloads ?? new Workloads(context.api);
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wakeAll(), { once: true });
    const attempts = Array.from({ length: ATTEMPTS }, () => this.#work(signal));
    await Promise.all([
      this.#followConfigs(signal),
      this.#followMachines(signal),
      ...attempts,
      this.#lookAgain(signal),
    ]);
  }

  #followConfigs(signal: AbortSignal): Promise<void> {
    const { api, log } = this.#context;
    // One object that is not as its definition says, which another version may have stored, does not stop all others.
    const each = (item: unknown, use: (config: Config) => void): void => {
      try {
        use(configOf(item));
      } catch (error) {
        log('warn', 'cannot be read', { kind: KIND, error: errorText(error) });
      }
    };
    const put = (config: Config): void => {
      const key = keyOf(config.metadata);
      this.#unseen.delete(key);
      // Of its own writes it learns nothing.
      const before = this.#configs.get(key);
      this.#configs.set(key, config);
      const isNews = before === undefined || newsOf(before) !== newsOf(config);
      if (isNews) this.#enqueue(key);
    };
    return follow(
      api,
      {
        path: async () => {
          this.#unseen = new Set(this.#configs.keys());
          return `${CONFIGS}/machineadmconfigs`;
        },
        page: (items) => {
          for (const item of items) each(item, put);
        },
        listed: () => {
          for (const key of this.#unseen) this.#forget(key);
        },
        changed: (type, item) =>
          each(item, (config) => (type === 'DELETED' ? this.#forget(keyOf(config.metadata)) : put(config))),
        failed: (error) => log('warn', 'cannot be followed', { kind: KIND, error: errorText(error) }),
      },
      this.#options,
      signal,
    );
  }

  #forget(key: string): void {
    this.#configs.delete(key);
    this.#settled.delete(key);
  }

  #followMachines(signal: AbortSignal): Promise<void> {
    const { api, versions, log } = this.#context;
    let apiVersion = '';
    const put = (machine: KubernetesObject): void => {
      this.#machines.put(machine);
      const { namespace = '' } = machine.metadata;
      const config = configNameOf(machine, KIND);
      if (config !== undefined) this.#enqueue(`${namespace}/${config}`);
    };
    return follow(
      api,
      {
        path: async () => {
          const version = await versions.of(CORE_GROUP);
          apiVersion = `${CORE_GROUP}/${version}`;
          this.#machines.beginList();
          return collectionPath('Machine', version);
        },
        forget: () => versions.forget(CORE_GROUP),
        page: (items) => items.map((item) => objectOf(item, 'Machine', apiVersion)).forEach(put),
        listed: () => this.#machines.endList(),
        changed: (type, item) => {
          const machine = objectOf(item, 'Machine', apiVersion);
          if (type === 'DELETED') this.#machines.remove(machine);
          else put(machine);
        },
        failed: (error) => log('warn', 'cannot be followed', { kind: 'Machine', error: errorText(error) }),
      },
      this.#options,
      signal,
    );
  }

  #enqueue(key: string): void {
    this.#settled.delete(key);
    this.#waiting.add(key);
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#sleeping.splice(0)) wake();
  }

  async #work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const key = this.#next();
      if (key === undefined) {
        await new Promise<void>((resolve) => this.#sleeping.push(resolve));
        continue;
      }
      this.#waiting.delete(key);
      this.#inWork.add(key);
      await this.#attempt(key, AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)]), signal);
      this.#inWork.delete(key);
      if (this.#waiting.size > 0) this.#wakeAll();
    }
  }

  /** A config that nobody works on, lest it gets two tokens. Clusters of one namespace that do not answer never delay all. */
  #next(): string | undefined {
    const busy = [...this.#inWork].map(namespaceOf);
    for (const key of this.#waiting) {
      const isFree = busy.filter((one) => one === namespaceOf(key)).length < ATTEMPTS - 1;
      if (isFree && !this.#inWork.has(key)) return key;
    }
    return undefined;
  }

  async #lookAgain(signal: AbortSignal): Promise<void> {
    for (;;) {
      await pause(this.#options.checkIntervalMs, signal);
      if (signal.aborted) return;
      for (const key of this.#configs.keys()) if (!this.#settled.has(key)) this.#waiting.add(key);
      this.#wakeAll();
    }
  }

  async #attempt(key: string, signal: AbortSignal, stopping: AbortSignal): Promise<void> {
    const config = this.#configs.get(key);
    if (config === undefined || config.metadata.deletionTimestamp !== undefined) return;
    try {
      await this.#provide(key, config, signal);
    } catch (error) {
      // An object that is gone, or was changed meanwhile, is looked at again when that is known.
      if (stopping.aborted || isStatus(error, 404) || isStatus(error, 409)) return;
      this.#context.metrics.checkErrors.inc();
      this.#context.log('warn', 'MachineadmConfig not provided', { config: key, error: errorText(error) });
    }
  }

  async #provide(key: string, config: Config, signal: AbortSignal): Promise<void> {
    const owner = await owningMachine(this.#context, this.#machines, config, signal);
    // Cluster API sets the owner; without one there is nothing to do.
    if (owner === undefined) return;
    const { api, log } = this.#context;
    const tell = async (known: Known): Promise<void> => {
      if (!(await writeStatus(api, config, known, signal)) || known.isPaused) return;
      const { isReady, reason, message } = known;
      log(isReady ? 'info' : 'warn', 'told', { kind: KIND, config: key, type: READY, reason, detail: message });
    };
    try {
      const { reportNamespaces } = this.#options;
      const context = { ...this.#context, reportNamespaces };
      const result = await bootstrapData(context, this.#workloads, config, owner, signal);
      if (result === 'paused') return await tell({ isPaused: true });
      const { secret, isSettled } = result;
      await tell({ isReady: true, secret, reason: 'DataSecretCreated', message: `Secret ${secret} is stored.` });
      if (isSettled) this.#settled.add(key);
    } catch (error) {
      if (!(error instanceof NotReady)) throw error;
      const { reason, message } = error;
      await tell({ isReady: false, secret: config.status?.dataSecretName, reason, message });
    }
  }
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

/** What an attempt depends on. */
function newsOf({ metadata, status }: Config): string {
  const { generation, ownerReferences, annotations, labels, deletionTimestamp } = metadata;
  return JSON.stringify([generation, ownerReferences, annotations, labels, deletionTimestamp, status?.dataSecretName]);
}
