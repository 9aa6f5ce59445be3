import { setTimeout as pause } from 'node:timers/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { lacksKubeadmArguments } from '../host/cluster/kubelet.ts';
import type { QueryHost, ServiceState } from '../host/seam/host.ts';
import { type UnitTrouble, unitTrouble } from '../host/services/unit-trouble.ts';

const UNIT = 'kubelet.service';
const LOOK_EVERY_MS = 2_000;
/** kubeadm, a hook or a package may restart the kubelet; that takes less than a second. */
const PERMANENT_AFTER_MS = 3_500;
/** A process that stopped it may be about to start it again. */
const STOPPED_AFTER_MS = 10_000;
/** This number of identical restarts is not a coincidence. */
const MOST_KILLS = 3;

/** True where the kubelet does not run, and systemd will not restart it. */
export function staysDown(trouble: UnitTrouble | undefined): trouble is UnitTrouble {
  return trouble !== undefined && (trouble.permanent || trouble.kind === 'stopped');
}

/**
 * Follows the kubelet's unit over several observations, and detects when waiting for it is futile. A kubelet that fails
 * and is restarted does not count: it does so until its configuration exists, or the API server answers.
 */
export class KubeletUnitWatch {
  #down: { readonly kind: UnitTrouble['kind']; readonly sinceMs: number } | undefined;
  readonly #kills = new Set<number>();

  /**
   *
   * @param nowMs of a monotonic clock
   * @returns the problem, once it is permanent
   */
  observe(state: ServiceState, nowMs: number): string | undefined {
    const trouble = unitTrouble(state);
    if (trouble?.kind === 'killed' || trouble?.kind === 'out-of-memory') this.#kills.add(state.unit?.restarts ?? 0);
    if (trouble !== undefined && this.#kills.size >= MOST_KILLS) return `${UNIT}: ${trouble.text}`;
    if (!staysDown(trouble)) {
      this.#down = undefined;
      return undefined;
    }
    if (this.#down?.kind !== trouble.kind) this.#down = { kind: trouble.kind, sinceMs: nowMs };
    const enoughMs = trouble.kind === 'stopped' || trouble.kind === 'ends' ? STOPPED_AFTER_MS : PERMANENT_AFTER_MS;
    return nowMs - this.#down.sinceMs >= enoughMs ? `${UNIT}: ${trouble.text}` : undefined;
  }
}

/**
 * Resolves with the problem that keeps the kubelet down, once it is permanent; with undefined when `signal` is aborted.
 */
export async function untilKubeletStaysDown(host: QueryHost, signal: AbortSignal): Promise<string | undefined> {
  const watch = new KubeletUnitWatch();
  while (!signal.aborted) {
    const why = watch.observe(await host.service('kubelet'), performance.now());
    if (why !== undefined) return why;
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

/**
 * Refuses to run kubeadm where the kubelet cannot start: a hook may have masked it, and without kubeadm's drop-in it
 * starts without its configuration. kubeadm itself would notice only after minutes of waiting.
 *
 * @throws MachineadmError `KubeletNotHealthy`; the verdict names the cause from the unit
 */
export async function requireStartableKubelet(host: QueryHost): Promise<void> {
  const state = await host.service('kubelet');
  const { unit } = state;
  const trouble = unitTrouble(state);
  const why =
    trouble !== undefined && ['masked', 'not-loadable', 'not-executable'].includes(trouble.kind)
      ? trouble.text
      : unit !== undefined && (await lacksKubeadmArguments(host, unit))
        ? `starts without kubeadm's drop-in: ${unit.command.join(' ')}`
        : undefined;
  if (why === undefined) return;
  throw new MachineadmError({
    reason: 'KubeletNotHealthy',
    exit: 'BootstrapperFailed',
    summary: 'The kubelet cannot start, so kubeadm was not run.',
    remedy: 'Correct the unit of the kubelet, and run machineadm provision again.',
    evidence: [{ source: 'service manager', text: `${UNIT}: ${why}` }],
    transcript: [{ source: 'service manager', text: `${UNIT}: ${why}` }],
  });
}
