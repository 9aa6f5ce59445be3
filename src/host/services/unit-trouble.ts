import type { ServiceState } from '../seam/host.ts';
import type { UnitFacts } from '../seam/services.ts';
import { EXIT_EXEC, signalName } from './unit-facts.ts';

/** A problem of a unit, as reported by the service manager. */
export interface UnitTrouble {
  readonly kind:
    | 'missing'
    | 'masked'
    | 'not-loadable'
    | 'not-executable'
    | 'out-of-memory'
    | 'killed'
    | 'given-up'
    | 'stopped'
    | 'ends';
  /** One line without the name of the unit: `killed by SIGKILL, 7 restarts`. The catalogue matches these texts. */
  readonly text: string;
  /** True where it cannot start without a change: waiting does not help. */
  readonly permanent: boolean;
}

const MIB = 1024 * 1024;

/**
 * What keeps a service from running, or undefined. A service that ended and will be restarted (systemd's auto-restart)
 * may still recover: the kubelet fails until kubeadm has written its configuration.
 */
export function unitTrouble(state: ServiceState): UnitTrouble | undefined {
  const { unit } = state;
  if (state.masked) return { kind: 'masked', text: 'masked', permanent: true };
  // Otherwise no service manager answered: the state is unknown.
  if (!state.exists) {
    return state.detail === 'not-found' ? { kind: 'missing', text: 'not installed', permanent: true } : undefined;
  }
  if (unit === undefined) {
    // OpenRC reports stopped or crashed, Windows Stopped; anything else is a transition.
    if (state.active || !/^(stopped|crashed|inactive)$/i.test(state.detail)) return undefined;
    return { kind: 'stopped', text: `stopped (${state.detail})`, permanent: false };
  }
  if (unit.loadState !== 'loaded' && unit.loadState !== '') {
    return { kind: 'not-loadable', text: `its unit cannot be loaded (${unit.loadState})`, permanent: true };
  }
  if (state.active) return undefined;
  return troubleOfEnd(unit);
}

function troubleOfEnd(unit: UnitFacts): UnitTrouble | undefined {
  const { result, ended, activeState, subState } = unit;
  const program = unit.command[0] ?? 'its program';
  const restarts = unit.restarts === 0 ? '' : `, ${unit.restarts} restarts`;
  const isDown = activeState === 'failed' || activeState === 'inactive';
  if (ended?.by === 'exit' && ended.status === EXIT_EXEC) {
    return { kind: 'not-executable', text: `cannot be executed: ${program} (203/EXEC)${restarts}`, permanent: true };
  }
  if (result === 'oom-kill') {
    const limit = unit.memoryMax === undefined ? '' : ` (MemoryMax=${Math.round(unit.memoryMax / MIB)}M)`;
    return { kind: 'out-of-memory', text: `killed for lack of memory${limit}${restarts}`, permanent: isDown };
  }
  if (result === 'start-limit-hit') {
    return {
      kind: 'given-up',
      text: `systemd gave up after its restarts (start-limit-hit)${lastEnd(ended)}`,
      permanent: true,
    };
  }
  if (result === 'signal' || result === 'core-dump') {
    const by = ended === undefined ? 'a signal' : signalName(ended.status);
    return { kind: 'killed', text: `killed by ${by}${restarts}`, permanent: isDown };
  }
  // A start or a stop in progress.
  if (result === 'success' && !isDown && subState !== 'auto-restart') return undefined;
  if (activeState === 'inactive' || (isDown && result === 'success')) {
    return { kind: 'stopped', text: `stopped (${activeState})`, permanent: false };
  }
  return { kind: 'ends', text: `ends by itself (${result})${lastEnd(ended)}${restarts}`, permanent: isDown };
}

function lastEnd(ended: UnitFacts['ended']): string {
  if (ended === undefined) return '';
  return ended.by === 'exit' ? `, last with exit status ${ended.status}` : `, last by ${signalName(ended.status)}`;
}
