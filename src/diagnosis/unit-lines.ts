import type { ObservedLine } from '@machineadm/failures/observed-line.ts';
import { lacksKubeadmArguments } from '../host/cluster/kubelet.ts';
import { executableTrouble } from '../host/processes/executable.ts';
import type { QueryHost, ServiceState } from '../host/seam/host.ts';
import { signalName } from '../host/services/unit-facts.ts';
import { unitTrouble } from '../host/services/unit-trouble.ts';

const ORIGIN = 'service manager';

/** After one kill a service may have recovered; this many are no accident. */
const LEAST_KILLS = 2;

/**
 * What the service manager says of a service now, one line for each thing: its state, a program that cannot be executed,
 * a kubelet without kubeadm's drop-in. The texts are those of `catalogue/units.ts`.
 */
export async function unitLines(host: QueryHost, service: string, now: number): Promise<readonly ObservedLine[]> {
  const state = await host.service(service);
  const texts = [describeState(state, now)];
  const { unit } = state;
  const trouble = unitTrouble(state);
  if (unit !== undefined && (trouble?.kind === 'not-executable' || trouble?.kind === 'killed')) {
    const why = await executableTrouble(host, unit.command[0] ?? '');
    if (why !== undefined) texts.push(`cannot be executed: ${why}`);
  }
  if (unit !== undefined && /^kubelet/.test(service) && (await lacksKubeadmArguments(host, unit))) {
    texts.push(`starts without kubeadm's drop-in: ${unit.command.join(' ')}`);
  }
  return texts.map((text): ObservedLine => ({ source: 'unit', origin: ORIGIN, text: `${service}: ${text}` }));
}

function describeState(state: ServiceState, now: number): string {
  const trouble = unitTrouble(state);
  if (trouble !== undefined) return trouble.text;
  if (!state.active) return state.detail;
  const seconds = state.startedAtMs === undefined ? 0 : Math.max(0, Math.round((now - state.startedAtMs) / 1000));
  return `active (running) for ${seconds} s`;
}

/**
 * Services whose main process was killed again and again, by what systemd wrote into the journal: between two kills the
 * unit itself looks well. systemd logs the end of a service that it stopped with another message.
 */
export function killedRepeatedly(lines: readonly ObservedLine[]): readonly ObservedLine[] {
  const kills = new Map<string, { count: number; signal: number }>();
  for (const { source, text } of lines) {
    if (source !== 'systemd') continue;
    const match = /^(\S+\.service): Main process exited, code=(?:killed|dumped), status=(\d+)\//.exec(text);
    const service = match?.[1];
    if (service === undefined) continue;
    kills.set(service, { count: (kills.get(service)?.count ?? 0) + 1, signal: Number(match?.[2]) });
  }
  return [...kills]
    .filter(([, { count }]) => count >= LEAST_KILLS)
    .map(([service, { count, signal }]) => ({
      source: 'unit',
      origin: ORIGIN,
      text: `${service}: killed by ${signalName(signal)} ${count} times since the run began`,
    }));
}
