import { dirname } from 'node:path/posix';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Evidence, errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { findHealthProblem } from '../../container-runtime/health.ts';
import type { Host } from '../../host/seam/host.ts';
import { LINES_TO_SEARCH, lastErrors } from '../../host/services/last-errors.ts';
import { unitTrouble } from '../../host/services/unit-trouble.ts';
import { keptContainerd } from '../../kubernetes/upgrade/containerd-kept.ts';
import type { Execution } from '../../step/index.ts';
import { CONFIGURATION_PATH, ORIGINAL_PATH, PREVIOUS_PATH, writerOf } from './configuration.ts';
import type { ContainerdActual, ContainerdDesired } from './inspect.ts';

const SERVICE = 'containerd';

const POLL_MS = 250;
/** A restart in progress passes through states that look final. */
const PERMANENT_AFTER_MS = 3_000;

/** Lines of containerd's journal that explain why it does not serve CRI. */
const TELLING = /load required plugin|failed to load plugin|Failure unmarshaling|level=(error|fatal)|containerd: /;

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

/** Waits until the runtime is healthy. Throws `ContainerdUnhealthy` with lines of its journal. */
async function waitUntilHealthy(host: Host, socket: string, timeoutMs: number, execution: Execution): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let downSince: number | undefined;
  try {
    for (;;) {
      const illness = await findHealthProblem(host, socket);
      if (illness === undefined) return;
      const trouble = unitTrouble(await host.service('containerd'));
      if (trouble?.permanent !== true) downSince = undefined;
      else downSince ??= performance.now();
      if (trouble !== undefined && downSince !== undefined && performance.now() - downSince >= PERMANENT_AFTER_MS)
        throw await down(host, trouble.text);
      if (performance.now() >= deadline) throw await unhealthy(host, illness, timeoutMs);
      execution.waitingFor(`containerd to answer over CRI (${illness})`);
      execution.signal.throwIfAborted();
      await sleep(POLL_MS);
    }
  } finally {
    execution.waitingFor(undefined);
  }
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

/** The last relevant lines of containerd's journal, or else the last ones. */
async function journalEvidence(host: Host): Promise<readonly Evidence[]> {
  const lines = await host.services.logs('containerd', LINES_TO_SEARCH).catch(() => []);
  const telling = lines.filter((line) => TELLING.test(line));
  return lastErrors(telling.length > 0 ? telling : lines, 5).map((text) => ({ source: 'journal of containerd', text }));
}

/** It cannot start without a change; the verdict names the cause from the unit. */
async function down(host: Host, why: string): Promise<MachineadmError> {
  return new MachineadmError({
    reason: 'ContainerdUnhealthy',
    summary: `containerd does not run and does not restart: containerd.service: ${why}`,
    remedy:
      'Read `systemctl status containerd` and `journalctl -u containerd`, and correct what keeps it from running.',
    evidence: [{ source: 'service manager', text: `containerd.service: ${why}` }, ...(await journalEvidence(host))],
    retryable: true,
  });
}

async function unhealthy(host: Host, illness: string, timeoutMs: number): Promise<MachineadmError> {
  return new MachineadmError({
    reason: 'ContainerdUnhealthy',
    summary: `containerd was not ready within ${Math.round(timeoutMs / 1000)} s: ${illness}`,
    remedy: 'Read `journalctl -u containerd`; a plug-in that failed to load is named there.',
    evidence: await journalEvidence(host),
    retryable: true,
  });
}
