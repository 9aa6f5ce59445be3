import assert from 'node:assert/strict';
import type { Model } from '@machineadm/document/model/index.ts';
import { PIPELINE } from '../../src/pipeline/pipeline.ts';
import { type Plan, planSteps } from '../../src/pipeline/plan.ts';
import { requirements } from '../../src/pipeline/preflight.ts';
import { runSteps } from '../../src/pipeline/runner.ts';
import { type MemoryJournal, runBench } from '../unit/pipeline/fake-steps.ts';
import { facts } from './facts.ts';
import { fakeClock } from './fake-clock.ts';
import type { MemoryHost } from './memory-host.ts';

/** The host part of a run in memory. */
export interface HostRun {
  readonly machine: MemoryHost;
  readonly journal: MemoryJournal;
  readonly model: Model;
  /** Steps that are left out. */
  readonly without?: readonly string[];
}

const FACTS = facts({ kubeadm: undefined, kubelet: undefined });

/** The clock is that of this machine, and a plan does not compare what commands of hooks leave. */
function stepsOf({ without = [] }: HostRun) {
  return PIPELINE.host.filter(({ id }) => ![...without, 'clock', 'hooks-early'].includes(id));
}

/** Brings the machine to what the document says. */
export async function runHost(run: HostRun): Promise<void> {
  const { machine: host, journal, model } = run;
  using clock = fakeClock();
  await clock.until(runSteps(stepsOf(run), { ...runBench({ host, journal }), model, facts: FACTS }));
}

/** The ids of what a run would change, without what follows from it. A run would begin. */
export async function planHost(run: HostRun): Promise<readonly string[]> {
  const { changes } = await wholePlan(run);
  return changes.map(({ id }) => id).filter((id) => !id.startsWith('follow-up/'));
}

/** What a run would change. A run would begin. */
export async function wholePlan(run: HostRun): Promise<Plan> {
  const { machine: host, journal, model } = run;
  const asked = { model, facts: FACTS, host, scope: 'all', record: journal.record } as const;
  const { unmet } = await requirements(stepsOf(run), asked);
  assert.deepEqual(
    unmet.map(({ step, missing }) => `${step.id}: ${missing.what}`),
    [],
    'nothing is in the way of a run',
  );
  const options = { model, facts: FACTS, host, journal: journal.state(), scope: 'all' } as const;
  return await planSteps(stepsOf(run), options);
}
