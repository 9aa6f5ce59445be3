import { setTimeout as pause } from 'node:timers/promises';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { CONTAINERD_CONFIGURATION, PREVIOUS_SUFFIX } from '@machineadm/document/ownership/paths.ts';
import { findHealthProblem } from '../../container-runtime/health.ts';
import type { Host } from '../../host/seam/host.ts';
import { keptContainerd, restoreContainerd } from '../../kubernetes/upgrade/containerd-kept.ts';
import type { Execution, StepRecord } from '../../step/index.ts';
import { containerdUpgrade, type Upgrade } from '../../step/upgrade-order.ts';
import { CONTAINERD_CHANGE, numbersOf, runningContainerd } from './containerd-asked.ts';
import type { UpgradeDesired } from './desired.ts';

const SERVICE = 'containerd';
const HEALTHY_WITHIN_MS = 60_000;
const PAUSE_MS = 500;

/** What became of containerd in a run that failed. */
export interface ContainerdEnd {
  /** Whether it works, with its version of before or, proven, with the new one. */
  readonly isBack: boolean;
  readonly sentences: readonly string[];
  /** Whether the daemon runs with its configuration, so that no restart of it is pending. */
  readonly isSettled?: true;
}

/**
 * Puts the previous containerd back, as long as the new one is not proven, and waits until it works. undefined: it was not
 * touched.
 */
export async function endOfFailedContainerd(
  host: Host,
  failed: { readonly upgrade: Upgrade; record(step: string): StepRecord; isOurs(path: string): boolean },
  desired: UpgradeDesired,
  watch: Pick<Execution, 'signal' | 'waitingFor' | 'warn'>,
): Promise<ContainerdEnd | undefined> {
  const versions = containerdUpgrade(failed);
  if (versions === undefined) return undefined;
  if (failed.record('upgrade-containerd').done.has(CONTAINERD_CHANGE))
    return { isBack: true, sentences: [`containerd ${versions.to} is proven, and stays.`] };
  const kept = await keptContainerd(host);
  if (kept === undefined) return undefined;
  const { before } = kept;
  const { restored, left } = await restoreContainerd(host, kept, failed.isOurs);
  await host.removeFile(`${CONTAINERD_CONFIGURATION}${PREVIOUS_SUFFIX}`);
  if (restored.length > 0) watch.warn(`restored: ${restored.join(', ')}`);
  const isSameProcess = before.pid !== undefined && (await host.service(SERVICE)).pid === before.pid;
  if (isSameProcess && restored.length === 0 && left.length === 0) return undefined;
  const trouble = isSameProcess ? undefined : await restartContainerd(host, desired.socket, watch);
  const more = left.map((text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
  if (trouble !== undefined) {
    return {
      isBack: false,
      sentences: [`The previous containerd was restored, but it does not work: ${trouble}.`, ...more],
    };
  }
  const running = await runningContainerd(host, desired.socket);
  const version = running === undefined ? versions.from : numbersOf(running);
  const lost = await lostSince(host, desired.socket, before.containers);
  const containers =
    lost.length === 0 ? 'no container was lost' : `these containers do not run any longer: ${lost.join(', ')}`;
  return {
    isBack: true,
    isSettled: true,
    sentences: [`containerd ${version} runs with its previous configuration, and ${containers}.`, ...more],
  };
}

/** Restarts the daemon and waits until it is healthy. Returns why it is not. */
export async function restartContainerd(
  host: Host,
  socket: string,
  { signal, waitingFor }: Pick<Execution, 'signal' | 'waitingFor'>,
): Promise<string | undefined> {
  try {
    await host.services.reload();
    await host.services.restart(SERVICE);
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    return errorMessage(error);
  }
  const end = performance.now() + HEALTHY_WITHIN_MS;
  for (;;) {
    const illness = await findHealthProblem(host, socket);
    if (illness === undefined) return undefined;
    waitingFor(`containerd to work as before: ${illness}`);
    if (performance.now() > end) return illness;
    await pause(PAUSE_MS, undefined, { signal });
  }
}

/** The previous containers that neither run nor ended by themselves. */
async function lostSince(
  host: Host,
  socket: string,
  before: readonly { readonly id: string; readonly name: string }[],
): Promise<readonly string[]> {
  const cri = host.cri(socket);
  const running = new Set((await cri.workloads()).containers.map(({ id }) => id));
  const ended = new Set((await cri.exitedContainers()).filter(({ exitCode }) => exitCode === 0).map(({ id }) => id));
  return before.filter(({ id }) => !running.has(id) && !ended.has(id)).map(({ name }) => name);
}
