import { dirname } from 'node:path/posix';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Host } from '../../host/seam/host.ts';
import { keptContainerd } from '../../kubernetes/upgrade/containerd-kept.ts';
import type { Execution } from '../../step/index.ts';
import { CONFIGURATION_PATH, ORIGINAL_PATH, PREVIOUS_PATH, writerOf } from './configuration.ts';
import { waitUntilHealthy } from './health.ts';
import type { ContainerdActual, ContainerdDesired } from './inspect.ts';

const SERVICE = 'containerd';

/** Time limit for the runtime in milliseconds: tests shorten it. */
export interface ContainerdTimes {
  readonly healthyWithin: number;
  readonly healthyAgainWithin: number;
}

/** Activates a checked configuration, and keeps the previous one until this one has proved itself. */
export async function putConfiguration(host: Host, actual: ContainerdActual): Promise<void> {
  const { wanted, current, originalKept } = actual;
  const put = async (path: string, { text, mode }: { readonly text: string; readonly mode: number }): Promise<void> => {
    await host.writeFile({ path, content: text, mode });
    await host.sync(path);
  };
  if (current !== undefined && !originalKept && writerOf(current.text) === undefined) await put(ORIGINAL_PATH, current);
  // An existing backup is from a run that was killed before its configuration proved itself: it is the good one.
  if ((await host.stat(PREVIOUS_PATH)) === undefined)
    await put(PREVIOUS_PATH, current ?? { text: NOTHING_BEFORE, mode: 0o644 });
  await put(CONFIGURATION_PATH, wanted);
}

const NOTHING_BEFORE = '# Written by machineadm: there was no configuration before.\n';

/**
 * Performs `action` and waits until the daemon is healthy. On failure after a new configuration the previous one is
 * restored, so that the machine is no worse than before; on success it is removed.
 */
export async function proveHealthy(
  host: Host,
  desired: ContainerdDesired,
  times: ContainerdTimes,
  execution: Execution,
  action: () => Promise<void>,
): Promise<void> {
  try {
    await action();
    await waitUntilHealthy(host, desired.socket, times.healthyWithin, execution);
  } catch (error) {
    // An interrupted run is resumed: its configuration has not failed.
    if (execution.signal.aborted) throw error;
    // Its end restores this configuration together with the programs.
    if ((await keptContainerd(host)) !== undefined) throw failedUpgrade(error);
    const previous = await host.readText(PREVIOUS_PATH);
    if (previous === undefined) throw error;
    throw await putBack(host, desired, previous, times, execution, error);
  }
  if ((await host.stat(PREVIOUS_PATH)) !== undefined) await host.removeFile(PREVIOUS_PATH);
}

function failedUpgrade(cause: unknown): MachineadmError {
  const failed = cause instanceof MachineadmError ? cause : undefined;
  return new MachineadmError({
    reason: 'ContainerdUnhealthy',
    summary: `The new containerd does not work: ${errorMessage(cause)}`,
    remedy: 'Read the journal of containerd (the evidence has its last lines), then run machineadm upgrade again.',
    evidence: failed?.evidence ?? [],
    transcript: failed?.transcript ?? [],
    cause,
  });
}

async function putBack(
  host: Host,
  desired: ContainerdDesired,
  previous: string,
  times: ContainerdTimes,
  execution: Execution,
  cause: unknown,
): Promise<MachineadmError> {
  const mode = (await host.stat(PREVIOUS_PATH))?.mode ?? 0o644;
  if (previous === NOTHING_BEFORE) await host.removeFile(CONFIGURATION_PATH);
  else await host.writeFile({ path: CONFIGURATION_PATH, content: previous, mode });
  await host.removeFile(PREVIOUS_PATH);
  await host.sync(dirname(CONFIGURATION_PATH));

  const isWorking = await worksAgain(host, desired, times, execution);
  const failed = cause instanceof MachineadmError ? cause : undefined;
  return new MachineadmError({
    reason: 'ContainerdUnhealthy',
    summary: `containerd does not work with the generated configuration: ${errorMessage(cause)}`,
    remedy: isWorking
      ? 'Correct containerRuntime.containerd in the document (the evidence names the plug-in or key). The previous configuration was restored, and containerd runs with it.'
      : 'Read `journalctl -u containerd`. The previous configuration was restored, but containerd does not work with it either: perhaps the document is not the cause.',
    evidence: failed?.evidence ?? [],
    transcript: failed?.transcript ?? [],
    cause,
  });
}

/** Whether containerd works with the previous configuration. */
async function worksAgain(
  host: Host,
  desired: ContainerdDesired,
  times: ContainerdTimes,
  execution: Execution,
): Promise<boolean> {
  try {
    await host.services.restart(SERVICE);
    await waitUntilHealthy(host, desired.socket, times.healthyAgainWithin, execution);
    return true;
  } catch {
    return false;
  }
}
