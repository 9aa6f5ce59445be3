import type { Model } from '@machineadm/document/model/index.ts';
import type { Facts } from '../../src/host/seam/facts.ts';
import { type Change, EMPTY_RECORD, type Execution, type Step, type StepRecord } from '../../src/step/index.ts';
import { facts } from './facts.ts';
import type { MemoryHost } from './memory-host.ts';

/** What a change told the run around it. */
export interface Told extends Execution {
  readonly warnings: string[];
  readonly notes: unknown[];
  readonly lines: string[];
}

/** An execution that listens. */
export function told(signal: AbortSignal = new AbortController().signal): Told {
  const warnings: string[] = [];
  const notes: unknown[] = [];
  const lines: string[] = [];
  return {
    warnings,
    notes,
    lines,
    signal,
    waitingFor() {},
    output: (_source, line) => void lines.push(line),
    warn: (message) => void warnings.push(message),
    release: () => {},
    remember: (note) => void notes.push(note),
  };
}

/** Runs the phases of one step by hand, with the record that a test gives. */
export function bench<Desired, Actual, Payload>(
  step: Step<Desired, Actual, Payload>,
  host: MemoryHost,
  model: Model,
  different: Partial<Facts> = {},
) {
  const desired = step.desired(model, facts(different));
  const wanted = (): Desired => {
    if (desired === undefined) throw new Error(`the document asks nothing of ${step.id}`);
    return desired;
  };
  const plan = async (record: Partial<StepRecord> = {}): Promise<readonly Change<Payload>[]> =>
    step.plan(wanted(), await step.inspect(host, wanted(), { ...EMPTY_RECORD, ...record }));
  return {
    desired,
    plan,
    preflight: async () => (await step.preflight?.(host, wanted())) ?? [],
    /** Plans and applies all changes. */
    async apply(record: Partial<StepRecord> = {}, execution: Told = told()): Promise<Told> {
      for (const change of await plan(record)) await step.apply(host, change, execution);
      return execution;
    },
  };
}
