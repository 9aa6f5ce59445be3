import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { errorText, type Log } from '../telemetry/log.ts';
import { type Api, isStatus } from './api.ts';

export interface LeaseOptions {
  readonly namespace: string;
  readonly name: string;
  /** Of this replica. */
  readonly identity: string;
  /** Another replica takes over when the lease was not renewed for so long. */
  readonly durationMs: number;
  /** Between renewals, and between attempts to acquire it. */
  readonly retryMs: number;
}

const Lease = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string() }),
  spec: z
    .looseObject({
      holderIdentity: z.string().nullish(),
      renewTime: z.string().nullish(),
      acquireTime: z.string().nullish(),
      leaseTransitions: z.number().nullish(),
    })
    .nullish(),
});
type Lease = z.infer<typeof Lease>;

/**
 * Runs `lead` on one replica at a time, by a Lease (coordination.k8s.io/v1), as client-go's leaderelection does: a lease is
 * free when *this* replica has seen no renewal for its duration, so that clocks need not agree. `lead` is aborted
 * when the lease could not be renewed in time, and runs again when it is acquired again. Ends with `signal`, and then gives the
 * lease up at once. Never throws.
 */
export async function electLeader(
  api: Api,
  options: LeaseOptions,
  lead: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  const election = new Election(api, options);
  while (!signal.aborted) {
    if (!(await attempt(() => election.acquire(), log))) {
      await pause(options.retryMs, signal);
      continue;
    }
    log('info', 'leader', { identity: options.identity });
    const term = new AbortController();
    const led = lead(AbortSignal.any([signal, term.signal])).catch((error: unknown) =>
      log('error', 'leading ended', { error: errorText(error) }),
    );
    let renewedAt = performance.now();
    while (!signal.aborted) {
      await pause(options.retryMs, signal);
      if (signal.aborted) break;
      if (await attempt(() => election.acquire(), log)) renewedAt = performance.now();
      // A margin for the replica that takes over: it must not begin before this one ended.
      else if (election.isLost || performance.now() - renewedAt > options.durationMs * 0.66) break;
    }
    term.abort();
    await led;
    log('info', 'no longer leader', { identity: options.identity });
  }
  await attempt(() => election.release(), log);
}

async function attempt(work: () => Promise<boolean>, log: Log): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    log('warn', 'lease', { error: errorText(error) });
    return false;
  }
}

/** Waits; ends early, without an error, by the signal. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}

class Election {
  readonly #api: Api;
  readonly #options: LeaseOptions;
  /** The last renewal of another replica, and when this one saw it first. */
  #seen: { readonly renewal: string; readonly at: number } | undefined;
  #isHeld = false;
  /** True: another replica holds the lease. */
  isLost = false;

  constructor(api: Api, options: LeaseOptions) {
    this.#api = api;
    this.#options = options;
  }

  get #path(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${this.#options.namespace}/leases`;
  }

  /** Acquires or renews the lease; false where another replica holds it. */
  async acquire(): Promise<boolean> {
    const { identity, durationMs } = this.#options;
    const lease = await this.#read();
    const spec = lease?.spec;
    const holder = spec?.holderIdentity ?? '';
    this.isLost = this.#isHeld && holder !== identity;
    if (this.isLost) this.#isHeld = false;
    if (holder !== '' && holder !== identity) {
      const renewal = `${holder} ${spec?.renewTime ?? ''}`;
      if (this.#seen?.renewal !== renewal) this.#seen = { renewal, at: performance.now() };
      if (performance.now() - this.#seen.at < durationMs) return false;
    }
    const now = microTime();
    const isOwn = holder === identity;
    this.#isHeld = await this.#write(lease, {
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.ceil(durationMs / 1000)),
      acquireTime: isOwn ? (spec?.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (spec?.leaseTransitions ?? 0) + (isOwn || lease === undefined ? 0 : 1),
    });
    return this.#isHeld;
  }

  /** Gives the lease up, where it is held. */
  async release(): Promise<boolean> {
    const lease = await this.#read();
    if (lease?.spec?.holderIdentity !== this.#options.identity) return false;
    return await this.#write(lease, {
      ...lease.spec,
      holderIdentity: '',
      leaseDurationSeconds: 1,
      renewTime: microTime(),
    });
  }

  async #read(): Promise<Lease | undefined> {
    try {
      return Lease.parse(await this.#api.request({ path: `${this.#path}/${this.#options.name}` }));
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  }

  /** False where another replica wrote it since it was read. */
  async #write(lease: Lease | undefined, spec: object): Promise<boolean> {
    const { namespace, name } = this.#options;
    const resourceVersion = lease?.metadata.resourceVersion;
    const body = { metadata: { name, namespace, ...(resourceVersion === undefined ? {} : { resourceVersion }) }, spec };
    try {
      if (lease === undefined) await this.#api.request({ method: 'POST', path: this.#path, body });
      else await this.#api.request({ method: 'PUT', path: `${this.#path}/${name}`, body });
      return true;
    } catch (error) {
      if (isStatus(error, 409)) return false;
      throw error;
    }
  }
}

/** MicroTime of the Kubernetes API. */
function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z');
}
