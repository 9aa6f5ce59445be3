import { setTimeout as sleep } from 'node:timers/promises';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { findHealthProblem } from '../../container-runtime/health.ts';
import type { Host } from '../../host/seam/host.ts';
import { LINES_TO_SEARCH, lastErrors } from '../../host/services/last-errors.ts';
import { unitTrouble } from '../../host/services/unit-trouble.ts';
import type { Execution } from '../../step/index.ts';

const POLL_MS = 250;
/** A restart in progress passes through states that look final. */
const PERMANENT_AFTER_MS = 3_000;

/** Lines of containerd's journal that explain why it does not serve CRI. */
const TELLING = /load required plugin|failed to load plugin|Failure unmarshaling|level=(error|fatal)|containerd: /;

/** Waits until the runtime is healthy. Throws `ContainerdUnhealthy` with lines of its journal. */
export async function waitUntilHealthy(
  host: Host,
  socket: string,
  timeoutMs: number,
  execution: Execution,
): Promise<void> {
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
