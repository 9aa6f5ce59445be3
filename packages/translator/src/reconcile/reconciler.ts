import { type Api, isStatus } from '../cluster/api.ts';
import { type FollowOptions, follow } from '../cluster/follow.ts';
import { pause } from '../cluster/leader.ts';
import {
  configNameOf,
  dataSecretOf,
  generationOf,
  hasInstance,
  keyOf,
  ObjectStore,
  objectOf,
} from '../cluster/object-store.ts';
import {
  BOOTSTRAP_GROUP,
  CLUSTER_LABEL,
  CORE_GROUP,
  type KubernetesObject,
  ownerOf,
  SecretObject,
} from '../cluster/objects.ts';
import { collectionPath, configOwner, owningMachine, readObject, type ServedVersions } from '../cluster/related.ts';
import { storedState } from '../handover/mark.ts';
import { hasBootstrapData, isOptedIn } from '../handover/opt-in.ts';
import { type Profiles, profileFor } from '../handover/profiles.ts';
import type { Judged } from '../reports/conditions.ts';
import { prepareReport } from '../reports/prepare.ts';
import { presentConditions, writeConditions } from '../reports/write-conditions.ts';
import { errorText, type Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { eventOf, TRANSLATED_CONDITION, verdictOn } from './verdict.ts';

const MANAGER = 'machineadm-translator';
/** Concurrent checks. */
const CHECKS = 4;
/** A Secret may be written again shortly after it was stored first; after so long nobody does. */
const SETTLED_MS = 600_000;
const CLUSTER_KEPT_MS = 10_000;

export interface ReconcilerOptions extends FollowOptions {
  /** Namespaces whose machines may report. */
  readonly reportNamespaces: readonly string[];
  readonly checkIntervalMs: number;
}

export interface Reconciled {
  readonly api: Api;
  readonly versions: ServedVersions;
  readonly profiles: () => Promise<Profiles>;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** What was checked of a KubeadmConfig: nothing is read again while this stays the same. */
interface Checked {
  readonly state: string;
  readonly firstAt: number;
}

/**
 * Compares what is stored with what should be: for every machine that opted in, the condition says what its Secret really
 * contains, however it came there; and a machine that is to report gets its objects before it boots. Runs on the leader, until
 * the signal ends it. Never throws.
 */
export async function reconcile(context: Reconciled, options: ReconcilerOptions, signal: AbortSignal): Promise<void> {
  await new Reconciler(context, options).run(signal);
}

class Reconciler {
  readonly #context: Reconciled;
  readonly #options: ReconcilerOptions;
  readonly #machines = new ObjectStore();
  readonly #configs = new ObjectStore();
  readonly #clusters = new Map<string, { readonly object: KubernetesObject | undefined; readonly until: number }>();
  readonly #checked = new Map<string, Checked>();
  readonly #prepared = new Map<string, string | undefined>();
  /** The last verdict on each object: the store learns of a written condition a moment later. */
  readonly #told = new Map<string, string>();
  /** Machines to prepare, and KubeadmConfigs to check; each once. */
  readonly #unprepared = new Set<string>();
  readonly #unchecked = new Set<string>();
  #sleeping: (() => void)[] = [];

  constructor(context: Reconciled, options: ReconcilerOptions) {
    this.#context = context;
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const following = [
      this.#follow('Machine', CORE_GROUP, this.#machines, (machine) => this.#machineChanged(machine), signal),
      this.#follow(
        'KubeadmConfig',
        BOOTSTRAP_GROUP,
        this.#configs,
        (config) => this.#enqueue(this.#unchecked, keyOf(config.metadata)),
        signal,
      ),
    ];
    signal.addEventListener('abort', () => this.#wakeAll(), { once: true });
    const checking = Array.from({ length: CHECKS }, () => this.#work(signal));
    await Promise.all([...following, ...checking, this.#checkAgain(signal)]);
  }

  #follow(
    kind: 'Machine' | 'KubeadmConfig',
    group: string,
    store: ObjectStore,
    changed: (object: KubernetesObject) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { api, versions, log } = this.#context;
    let apiVersion = '';
    const read = (item: unknown) => objectOf(item, kind, apiVersion);
    const put = (object: KubernetesObject): void => {
      store.put(object);
      changed(object);
    };
    return follow(
      api,
      {
        path: async () => {
          const version = await versions.of(group);
          apiVersion = `${group}/${version}`;
          store.beginList();
          return collectionPath(kind, version);
        },
        forget: () => versions.forget(group),
        page: (items) => items.map(read).forEach(put),
        listed: () => store.endList(),
        changed: (type, item) => {
          const object = read(item);
          if (type !== 'DELETED') return put(object);
          store.remove(object);
          this.#told.delete(object.metadata.uid ?? '');
          (kind === 'Machine' ? this.#prepared : this.#checked).delete(keyOf(object.metadata));
        },
        failed: (error) => log('warn', 'cannot be followed', { kind, error: errorText(error) }),
      },
      this.#options,
      signal,
    );
  }

  #enqueue(waiting: Set<string>, key: string): void {
    waiting.add(key);
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#sleeping.splice(0)) wake();
  }

  async #work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // A machine may boot at any moment: its report comes first.
      const [machine] = this.#unprepared;
      const [config] = this.#unchecked;
      if (machine !== undefined) {
        this.#unprepared.delete(machine);
        await this.#prepare(machine, signal);
      } else if (config !== undefined) {
        this.#unchecked.delete(config);
        await this.#attempt(config, false, signal);
      } else await new Promise<void>((resolve) => this.#sleeping.push(resolve));
    }
  }

  /** What may have changed without a change of the KubeadmConfig, and what failed. */
  async #checkAgain(signal: AbortSignal): Promise<void> {
    for (;;) {
      await pause(this.#options.checkIntervalMs, signal);
      if (signal.aborted) return;
      for (const key of this.#configs.keys()) {
        if (signal.aborted) return;
        if (this.#mayChange(key)) await this.#attempt(key, true, signal);
      }
      for (const key of this.#machines.keys()) await this.#prepare(key, signal);
    }
  }

  #mayChange(key: string): boolean {
    const config = this.#configs.get(key);
    if (config === undefined || dataSecretOf(config) === undefined) return false;
    if (ownerOf(config, CORE_GROUP, 'MachinePool') !== undefined) return true;
    const checked = this.#checked.get(key);
    return checked === undefined || performance.now() - checked.firstAt < SETTLED_MS;
  }

  async #attempt(key: string, isAgain: boolean, signal: AbortSignal): Promise<void> {
    const config = this.#configs.get(key);
    if (config === undefined) return;
    try {
      await this.#check(key, config, isAgain, signal);
    } catch (error) {
      if (signal.aborted) return;
      // An object that is gone needs no condition.
      if (isStatus(error, 404) || isStatus(error, 409)) return;
      this.#checked.delete(key);
      this.#context.metrics.checkErrors.inc();
      this.#context.log('warn', 'Secret not checked', { config: key, error: errorText(error) });
    }
  }

  async #check(key: string, config: KubernetesObject, isAgain: boolean, signal: AbortSignal): Promise<void> {
    const { api } = this.#context;
    const secretName = dataSecretOf(config);
    const { namespace = '' } = config.metadata;
    if (secretName === undefined) return;
    const machine = await owningMachine(this.#context, this.#machines, config, signal);
    if (machine === undefined) return;
    if (!isOptedIn([machine, config, await this.#clusterOf(config, signal)])) return;
    const state = JSON.stringify([
      secretName,
      config.metadata.uid,
      generationOf(config),
      machine.metadata.uid,
      generationOf(machine),
      hasInstance(machine),
    ]);
    const checked = this.#checked.get(key);
    if (!isAgain && checked?.state === state) return;
    this.#checked.set(key, { state, firstAt: checked?.firstAt ?? performance.now() });
    const path = `/api/v1/namespaces/${namespace}/secrets/${encodeURIComponent(secretName)}`;
    const verdict = await verdictAt(api, path, config, signal);
    if (verdict !== undefined) await this.#tell(config, machine, verdict, signal);
  }

  async #clusterOf({ metadata }: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const { api, versions } = this.#context;
    const { namespace = '' } = metadata;
    const name = metadata.labels?.[CLUSTER_LABEL];
    if (name === undefined) return undefined;
    const key = `${namespace}/${name}`;
    const known = this.#clusters.get(key);
    if (known !== undefined && known.until > performance.now()) return known.object;
    const object = await readObject(api, versions, 'Cluster', namespace, name, signal);
    this.#clusters.set(key, { object, until: performance.now() + CLUSTER_KEPT_MS });
    return object;
  }

  /** The condition on both objects, and an Event on each whose condition changes. */
  async #tell(
    config: KubernetesObject,
    machine: KubernetesObject,
    verdict: Judged,
    signal: AbortSignal,
  ): Promise<void> {
    const { api, log } = this.#context;
    const targets = machine.kind === 'Machine' ? [config, machine] : [config];
    for (const object of targets) {
      const kind = object.kind === 'Machine' ? 'Machine' : 'KubeadmConfig';
      const before = presentConditions(object).find(({ type }) => type === TRANSLATED_CONDITION);
      const wanted = { ...verdict, observedGeneration: generationOf(object) };
      if (!(await writeConditions(api, kind, object, [wanted], MANAGER))) continue;
      const verdictText = `${verdict.reason} ${verdict.message}`;
      const wasTold = this.#told.get(object.metadata.uid ?? '') ?? `${before?.reason} ${before?.message}`;
      this.#told.set(object.metadata.uid ?? '', verdictText);
      if (wasTold === verdictText) continue;
      const { namespace = '' } = object.metadata;
      const path = `/api/v1/namespaces/${namespace}/events`;
      await api.request({ method: 'POST', path, body: eventOf(object, verdict, new Date()), signal });
      log(verdict.status === 'True' ? 'info' : 'warn', 'told', {
        kind,
        namespace,
        name: object.metadata.name,
        reason: verdict.reason,
      });
    }
  }

  #machineChanged(machine: KubernetesObject): void {
    const { namespace = '' } = machine.metadata;
    const config = configNameOf(machine);
    if (config !== undefined) this.#enqueue(this.#unchecked, `${namespace}/${config}`);
    if (this.#mayReport(machine)) this.#enqueue(this.#unprepared, keyOf(machine.metadata));
  }

  #mayReport(machine: KubernetesObject): boolean {
    const { namespace = '', uid } = machine.metadata;
    if (!this.#options.reportNamespaces.includes(namespace) || hasBootstrapData(machine)) return false;
    return this.#prepared.get(keyOf(machine.metadata)) !== uid;
  }

  /** Creates the objects of a report, once, for a machine that has no bootstrap data yet. */
  async #prepare(key: string, signal: AbortSignal): Promise<void> {
    const machine = this.#machines.get(key);
    if (machine === undefined || !this.#mayReport(machine)) return;
    const { api, log, metrics, profiles, versions } = this.#context;
    const { namespace = '', uid } = machine.metadata;
    this.#prepared.set(key, uid);
    try {
      const name = configNameOf(machine);
      // Its annotations may choose the profile; the Machine may be seen first.
      const config =
        name === undefined
          ? undefined
          : (this.#configs.get(`${namespace}/${name}`) ??
            (await readObject(api, versions, 'KubeadmConfig', namespace, name, signal)));
      const objects = [machine, config, await this.#clusterOf(machine, signal)];
      if (!isOptedIn(objects)) {
        this.#prepared.delete(key);
        return;
      }
      if (profileFor(objects, await profiles()).profile.report !== undefined) await prepareReport(api, machine, signal);
    } catch (error) {
      this.#prepared.delete(key);
      if (signal.aborted) return;
      metrics.checkErrors.inc();
      log('warn', 'report not prepared', { machine: key, error: errorText(error) });
    }
  }
}

/** What the Secret at a path means for its KubeadmConfig; undefined = it is gone, or belongs to another one. */
async function verdictAt(
  api: Api,
  path: string,
  config: KubernetesObject,
  signal: AbortSignal,
): Promise<Judged | undefined> {
  try {
    const secret = SecretObject.parse(await api.request({ path, signal }));
    return configOwner(secret)?.uid === config.metadata.uid ? verdictOn(storedState(secret)) : undefined;
  } catch (error) {
    if (isStatus(error, 403)) return verdictOn('unreadable');
    if (isStatus(error, 404)) return undefined;
    throw error;
  }
}
