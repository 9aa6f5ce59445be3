import { setTimeout as pause } from 'node:timers/promises';
import type { Evidence } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import type { Host, ServiceState } from '../../host/seam/host.ts';
import { LINES_TO_SEARCH, lastErrors } from '../../host/services/last-errors.ts';
import { unitTrouble } from '../../host/services/unit-trouble.ts';
import type { Explanation } from '../../step/index.ts';

const JOURNAL_LINES = 20;
const LOOK_EVERY_MS = 100;

/**
 * Waits until services that were just started have run for a while, or have ended. A service manager reports a service
 * of Type=simple as started before it knows whether the program will stay (systemd.service(5)).
 */
export async function untilSteady(
  host: Pick<Host, 'service'>,
  names: readonly string[],
  steadyMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (const name of names) {
    const end = performance.now() + steadyMs;
    while (performance.now() < end) {
      const state = await host.service(name);
      // Without a time of its start it has no process: a unit that did its work and stays active.
      if (!state.active || state.startedAtMs === undefined || Date.now() - state.startedAtMs >= steadyMs) break;
      await pause(LOOK_EVERY_MS, undefined, { signal });
    }
  }
}

/** Why services that were started do not run: how they ended, and their last journal lines. */
export async function explainStopped(
  host: Pick<Host, 'service' | 'services'>,
  names: readonly string[],
): Promise<Explanation | undefined> {
  const found: { readonly name: string; readonly state: ServiceState; readonly text: string }[] = [];
  for (const name of names) {
    const state = await host.service(name);
    if (state.active) continue;
    found.push({ name, state, text: endedWell(state) ?? unitTrouble(state)?.text ?? `its state is ${state.detail}` });
  }
  const [first] = found;
  if (first === undefined) return undefined;
  const evidence: Evidence[] = [];
  for (const { name, text } of found) {
    evidence.push({ source: `state of ${name}`, text });
    // The journal is evidence; that it cannot be read must not hide the failure itself.
    const log = await host.services.logs(name, LINES_TO_SEARCH).catch(() => []);
    const lines = lastErrors(log, JOURNAL_LINES);
    evidence.push(...lines.map((line) => ({ source: `journal of ${name}`, text: redact(line) })));
  }
  return {
    summary: `${found.map(({ name, text }) => `${name} was started but does not run: ${text}`).join('; ')}.`,
    remedy:
      endedWell(first.state) === undefined
        ? `Correct what its journal names ("journalctl -u ${first.name} -b"), then run again.`
        : `A unit that does its work and ends is never Started: give its unit RemainAfterExit=yes, or remove "state: Started" of ${first.name} from host.services.`,
    evidence,
    retryable: endedWell(first.state) === undefined,
  };
}

function endedWell({ unit }: ServiceState): string | undefined {
  const isWell = unit?.result === 'success' && unit.ended?.by === 'exit' && unit.ended.status === 0;
  return isWell ? 'it ended by itself with exit status 0' : undefined;
}
