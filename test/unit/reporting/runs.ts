import type { Failure } from '@machineadm/document/outcomes/errors.ts';
import { advance, begin, type Moment, type Transition } from '@machineadm/status/run-state.ts';
import type { RunStatus } from '@machineadm/status/status.ts';

export const BEGAN = Date.parse('2026-11-20T10:00:00Z');

export const IDENTITY = {
  command: 'provision',
  runId: 'run-1',
  agentVersion: '0.1.0',
  host: { machineId: 'm1', bootId: 'b1', hostname: 'node-1' },
  process: { pid: 4242, startTicks: 777 },
} as const;

export const FAILURE: Failure = {
  reason: 'SwapEnabled',
  summary: 'Swap is on.',
  evidence: [{ source: 'journal of kubelet', text: 'running with swap on is not supported' }],
  remedy: 'Set host.swap to Disabled.',
  retryable: false,
  step: 'kubeadm',
};

/** A moment so many seconds after the run began; the machine was 12 s old then. */
export function at(seconds: number): Moment {
  return { time: BEGAN + seconds * 1000, sinceBootMs: 12_000 + seconds * 1000 };
}

/** The status after these transitions, one second apart. */
export function statusAfter(...transitions: readonly Transition[]): RunStatus {
  return transitions.reduce(
    (status, transition, index) => advance(status, transition, at(index + 1)),
    begin(IDENTITY, at(0)),
  );
}
