import type { Model } from '@machineadm/document/model/index.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import type { Change, Explanation, FollowUp, Step, StepRecord } from '../step/index.ts';
import type { StepObserver } from './run-options.ts';

/**
 * What the document asks of a step that has work: one that the document or the journal gives something to do.
 * undefined: the step is not part of the run.
 */
export function desiredOf(step: Step, model: Model, facts: Facts, record: (step: string) => StepRecord): unknown {
  const desired = step.desired(model, facts);
  return desired !== undefined && step.idle?.(desired, record(step.id)) === true ? undefined : desired;
}

/** What a step would do now; shared by `plan` and a run. */
export async function planStep(
  step: Step,
  desired: unknown,
  host: QueryHost,
  record: StepRecord,
  scope: 'base' | 'all',
  told: Partial<Pick<StepObserver, 'warn' | 'handover'>> = {},
): Promise<readonly Change[]> {
  const actual = await step.inspect(host, desired, record);
  for (const remark of step.remarks?.(desired, record, actual) ?? []) {
    if (typeof remark === 'string') told.warn?.(remark);
    else told.handover?.(remark);
  }
  return step.plan(desired, actual).filter((change) => scope === 'all' || change.scope === 'base');
}

/** Why changes have no effect. The failure is reported also where its cause cannot be found out. */
export async function explanationOf(
  step: Step,
  desired: unknown,
  left: readonly Change[],
  host: Host,
): Promise<Explanation | undefined> {
  try {
    return await step.whyNotEffective?.(host, desired, left);
  } catch {
    return undefined;
  }
}

/** The follow-ups of a step in execution order: units are reloaded before a service restarts. */
export function pendingFollowUps(step: Step, desired: unknown, owed: ReadonlySet<FollowUp>): FollowUp[] {
  const { followUps } = step;
  return [...(followUps?.settles ?? []), ...(followUps?.settlesFor?.(desired, owed) ?? [])]
    .filter((followUp) => owed.has(followUp))
    .sort((a, b) => Number(b === 'daemon-reload') - Number(a === 'daemon-reload'));
}

/** The name of a follow-up among the changes of a step. */
export function followUpId(followUp: FollowUp): string {
  return `follow-up/${followUp}`;
}
