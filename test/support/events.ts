import type { Failure } from '@machineadm/document/outcomes/errors.ts';
import { type ReportEvent, reportEvent } from '@machineadm/status/event.ts';
import { advance, begin, type Moment, type Transition } from '@machineadm/status/run-state.ts';

const SWAP_ON: Failure = {
  reason: 'SwapEnabled',
  summary: 'Swap is on.',
  evidence: [
    { source: 'journal of kubelet', text: 'running with swap on is not supported, \ufffe\uffff "ünïcode" 😀' },
  ],
  remedy: 'Set host.swap to Disabled.',
  retryable: false,
  step: 'kubeadm',
};

let runs = 0;

export interface EventWish {
  /** Default: Failed. */
  readonly outcome?: 'Succeeded' | 'Failed' | 'Interrupted';
  /** Evidence that makes the event at least so large. */
  readonly bytes?: number;
  readonly attempt?: number;
  /** When the run began; default: now. */
  readonly beganMs?: number;
  readonly bootstrapped?: boolean;
}

/** By what the message of a concluded event, which says that it failed, can be filtered. */
export const attributesOf = ({ id }: ReportEvent) => ({
  id,
  type: 'concluded',
  machine: 'prod-a-md-0',
  cluster: 'prod-a',
  outcome: 'Failed',
  reason: 'SwapEnabled',
});

/** The last event of a run of its own, with steps, conditions and a timeline. */
export function concludedEvent(wish: EventWish = {}): ReportEvent {
  runs += 1;
  const { outcome = 'Failed', bytes = 0, beganMs = Date.now() } = wish;
  const at = (seconds: number): Moment => ({ time: beganMs + seconds * 1000, sinceBootMs: 12_000 + seconds * 1000 });
  const evidence = [...SWAP_ON.evidence, ...(bytes > 0 ? [{ source: 'much', text: 'x'.repeat(bytes) }] : [])];
  const failure = outcome === 'Succeeded' ? {} : { failure: { ...SWAP_ON, evidence } };
  const transitions: readonly Transition[] = [
    {
      kind: 'identified',
      subject: {
        machine: { name: 'prod-a-md-0', namespace: 'clusters', cluster: 'prod-a', uid: 'u-1' },
        documentSha256: 'd'.repeat(64),
        attempt: wish.attempt ?? 1,
        bootstrapped: wish.bootstrapped ?? false,
      },
    },
    {
      kind: 'timeline',
      entries: [
        { name: 'kernel', sinceBootMs: 0, durationMs: 2_000 },
        { name: 'userspace', sinceBootMs: 2_000, durationMs: 9_000 },
      ],
    },
    { kind: 'planned', steps: ['sysctl', 'kubeadm', 'ready'] },
    { kind: 'stepStarted', step: 'sysctl' },
    {
      kind: 'stepDone',
      step: 'sysctl',
      end: { state: 'Succeeded', changes: ['sysctl/a', 'sysctl/b'], durationMs: 400 },
    },
    { kind: 'stepStarted', step: 'kubeadm' },
    {
      kind: 'stepDone',
      step: 'kubeadm',
      end: { state: outcome === 'Succeeded' ? 'Succeeded' : 'Failed', changes: [], durationMs: 700 },
    },
    { kind: 'concluded', conclusion: { outcome, exitCode: outcome === 'Succeeded' ? 0 : 11, ...failure } },
  ];
  const identity = {
    command: 'provision',
    runId: `run-${runs}-${process.pid}`,
    agentVersion: '0.1.0',
    host: { machineId: 'm1', bootId: 'b1', hostname: 'node-1' },
    process: { pid: 4242, startTicks: 777 },
  } as const;
  const status = transitions.reduce(
    (before, transition, index) => advance(before, transition, at(index + 1)),
    begin(identity, at(0)),
  );
  return reportEvent({ kind: 'concluded', status }, 9, at(transitions.length));
}
