import { MachineadmError } from '@machineadm/document/errors.ts';
import type { LoadedDocument } from '@machineadm/document/load.ts';
import type { Model } from '@machineadm/document/model.ts';
import { redactDeep } from '@machineadm/document/redaction.ts';
import { gatherFacts, openQueryHost } from '../host/index.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';
import type { Change, FollowUp, Step } from '../steps/step.ts';
import { imagePart } from './image.ts';
import { afterRecord, inBoot, instanceIdentity, type JournalState, stepRecord, withNotes } from './journal.ts';
import { stepsFor } from './pipeline.ts';
import { hostWithout } from './planned-host.ts';
import { preflight, type Requirements, refuseUnlessRoot } from './preflight.ts';
import { readPrepared, usableNotes } from './prepared.ts';
import { asSeenBy, peekJournal } from './run-journal.ts';
import { followUpId, owedHere, planStep } from './runner.ts';

/** One thing that a run would do. */
export interface PlannedChange {
  readonly id: string;
  readonly step: string;
  readonly summary: string;
  readonly scope: 'base' | 'node';
  readonly diff?: string;
  readonly knownAfter?: string;
}

export interface Plan {
  readonly changes: readonly PlannedChange[];
}

/**
 * What a run of `document` would do to this machine, with a host that can only be asked. Throws what the run would
 * refuse: not root, a missing tool, a changed document, a step whose inspection fails.
 */
export async function makePlan(document: LoadedDocument, scope: 'base' | 'all'): Promise<Plan> {
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const { model } = scope === 'base' ? imagePart(document) : document;
  const found = await peekJournal(host);
  const identity = instanceIdentity(facts, model.metadata.uid);
  const seen = inBoot(asSeenBy(found, identity), facts.bootId);
  const journal = withNotes(seen, usableNotes(await readPrepared(host), found, identity));
  refuseIfChanged(journal, document);
  const steps = stepsFor(scope, model.host.platform);
  const awaited = await preflight(steps, { model, facts, host, scope, record: (step) => stepRecord(journal, step) });
  return planSteps(steps, { model, facts, host, journal, scope, awaited });
}

/** What a run needs to know to be planned. */
export interface PlanOptions {
  readonly model: Model;
  readonly facts: Facts;
  readonly host: QueryHost;
  readonly journal: JournalState;
  readonly scope: 'base' | 'all';
  /** What hooks may still bring: the steps that need it are planned after them. */
  readonly awaited?: Requirements['awaited'];
}

/** The changes of these steps in their order, follow-ups included: with the ids that `runSteps` makes. Redacted. */
export async function planSteps(steps: readonly Step[], options: PlanOptions): Promise<Plan> {
  const { model, facts, scope } = options;
  // What an earlier change forgets or deletes is forgotten and gone for the steps behind it.
  let { host, journal } = options;
  const changes: PlannedChange[] = [];
  const owed = new Set<FollowUp>(journal.owed);
  for (const step of steps) {
    const desired = step.desired(model, facts);
    if (desired === undefined) continue;
    const awaited = options.awaited?.filter((one) => one.step === step) ?? [];
    if (awaited.length > 0) {
      changes.push(knownAfterHooks(step, awaited));
      continue;
    }
    const planned = await planStep(step, desired, host, stepRecord(journal, step.id), scope);
    for (const change of planned) {
      changes.push(plannedChange(step.id, change));
      for (const followUp of change.owes ?? []) owed.add(followUp);
      const { undoes, removes } = change;
      if (undoes !== undefined)
        journal = afterRecord(journal, { is: 'done', step: step.id, change: change.id, undoes });
      host = hostWithout(host, removes ?? []);
    }
    for (const followUp of owedHere(step, desired, owed)) {
      owed.delete(followUp);
      changes.push({ id: followUpId(followUp), step: step.id, summary: followUpSummary(followUp), scope: 'base' });
    }
  }
  return redactDeep({ changes });
}

/** A step that lacks something before the hooks: what it will change depends on what they install. */
function knownAfterHooks(step: Step, awaited: Requirements['awaited']): PlannedChange {
  const what = awaited.map(({ missing }) => missing.what).join('; ');
  const summary = `${step.title}: not known yet (${what})`;
  return { id: step.id, step: step.id, summary, scope: 'node', knownAfter: awaited[0]?.hooks.id ?? '' };
}

function plannedChange(step: string, change: Change): PlannedChange {
  return {
    id: change.id,
    step,
    summary: change.summary,
    scope: change.scope,
    ...(change.diff === undefined ? {} : { diff: change.diff }),
    ...(change.knownAfter === undefined ? {} : { knownAfter: change.knownAfter }),
  };
}

function followUpSummary(followUp: FollowUp): string {
  if (followUp === 'update-ca-certificates') return "make the system's store of trusted certificates anew";
  return followUp === 'daemon-reload'
    ? 'let the service manager read its units again'
    : `restart ${followUp.slice('restart:'.length)}, for the changes above`;
}

/** A machine that was bootstrapped from another `kubernetes` section is not silently left as it is. */
export function refuseIfChanged(journal: JournalState, document: LoadedDocument): void {
  const { bootstrappedFrom } = journal;
  if (bootstrappedFrom === undefined || document.lastingDigest === undefined) return;
  if (bootstrappedFrom === document.lastingDigest) return;
  throw new MachineadmError({
    reason: 'DocumentChanged',
    summary: 'this machine was already bootstrapped from another "kubernetes" section',
    remedy:
      'Replace the machine, or give the document it was bootstrapped with; other sections, and the arguments and files of its API server, may change freely.',
  });
}
