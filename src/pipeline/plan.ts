import type { Place } from '@machineadm/document/diagnostics.ts';
import { MachineadmError } from '@machineadm/document/errors.ts';
import type { LoadedDocument } from '@machineadm/document/load.ts';
import type { Model } from '@machineadm/document/model.ts';
import type { Reason } from '@machineadm/document/reasons.ts';
import { redactDeep } from '@machineadm/document/redaction.ts';
import type { Finding } from '../diagnosis/checks/finding.ts';
import { gatherFacts, openQueryHost } from '../host/index.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';
import type { Change, ChangeAction, FollowUp, Step } from '../steps/step.ts';
import { type FindSource, sourcesOf } from './change-source.ts';
import { imagePart } from './image.ts';
import { afterRecord, inBoot, instanceIdentity, type JournalState, stepRecord, withNotes } from './journal.ts';
import { stepsFor } from './pipeline.ts';
import { hostWithout } from './planned-host.ts';
import { findingsOf, type Requirements, refusalFor, refuseUnlessRoot, requirements, type Unmet } from './preflight.ts';
import { readPrepared, usableNotes } from './prepared.ts';
import { journalForInstance, peekJournal } from './run-journal.ts';
import { followUpId, pendingFollowUps, planStep } from './runner.ts';

/** One thing that a run would do. */
export interface PlannedChange {
  readonly id: string;
  readonly step: string;
  readonly summary: string;
  /** `restart`: of a service, for changes before it. */
  readonly action: ChangeAction | 'restart';
  readonly scope: 'base' | 'node';
  readonly diff?: string;
  /** Of hooks. */
  readonly commands?: readonly string[];
  readonly knownAfter?: string;
  /** True where the machine is rebooted after it. */
  readonly reboots?: true;
  /** The field of the document that asks for it, and its place. */
  readonly field?: string;
  readonly position?: Place;
}

/** What an operator should know of a step, beside its changes. */
export interface PlanRemark {
  readonly step: string;
  readonly message: string;
}

export interface Plan {
  readonly changes: readonly PlannedChange[];
  readonly remarks: readonly PlanRemark[];
}

/** Something that stands in the way of a run, with its place in the document. */
export interface PlanProblem extends PlanRemark, Partial<Place> {
  readonly code: Reason;
  readonly hint: string;
  /** The field. */
  readonly path?: string;
}

/** A plan with what stands in its way: a run would refuse to begin. */
export interface PlanWithProblems extends Plan {
  /** What steps need and do not find, or would fail over. */
  readonly problems: readonly PlanProblem[];
  /** Everything that the preflight found, as `doctor` tells it: with warnings, and what could not be checked. */
  readonly findings: readonly Finding[];
  /** What `provision` would refuse with now; absent where it would begin. */
  readonly refusal?: { readonly reason: Reason; readonly summary: string; readonly remedy: string };
}

/**
 * What a run of `document` would do to this machine, with a host that can only be asked. What steps lack is part of the
 * plan. Throws what the run would refuse for other reasons: not root, another platform, a changed document, a step whose
 * inspection fails.
 */
export async function makePlan(document: LoadedDocument, scope: 'base' | 'all'): Promise<PlanWithProblems> {
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const { model } = scope === 'base' ? imagePart(document) : document;
  const found = await peekJournal(host);
  const identity = instanceIdentity(facts, model.metadata.uid);
  const seen = inBoot(journalForInstance(found, identity), facts.bootId);
  const journal = withNotes(seen, usableNotes(await readPrepared(host), found, identity));
  refuseIfChanged(journal, document);
  const steps = stepsFor(scope, model.host.platform);
  const source = sourcesOf({ ...document, model });
  const asked = { model, facts, host, scope, source, record: (step: string) => stepRecord(journal, step) };
  const required = await requirements(steps, asked);
  const { unmet, awaited } = required;
  const planned = await planSteps(steps, { model, facts, host, journal, scope, awaited, unmet, source });
  const told = required.told.map(({ step, missing }) => ({ step: step.id, message: missing.what }));
  const plan = { ...planned, remarks: [...planned.remarks, ...told] };
  const findings = findingsOf(required);
  if (unmet.length === 0) return redactDeep({ ...plan, problems: [], findings });
  const { reason, message: summary, remedy } = refusalFor(unmet);
  return redactDeep({ ...plan, problems: unmet.map(problemOf), findings, refusal: { reason, summary, remedy } });
}

function problemOf({ step, missing: { what: message, reason: code, remedy: hint }, source }: Unmet): PlanProblem {
  const at = source === undefined ? {} : { path: source.field, ...source.position };
  return { step: step.id, message, code, hint, ...at };
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
  /** What nothing is going to bring: what depends on it is not known. */
  readonly unmet?: Requirements['unmet'];
  /** Where the document asks for a change. */
  readonly source?: FindSource;
}

/** The changes of these steps in their order, follow-ups included: with the ids that `runSteps` makes. Redacted. */
export async function planSteps(steps: readonly Step[], options: PlanOptions): Promise<Plan> {
  const { model, facts, scope } = options;
  // What an earlier change forgets or deletes is forgotten and gone for the steps behind it.
  let { host, journal } = options;
  const changes: PlannedChange[] = [];
  const remarks: PlanRemark[] = [];
  const owed = new Set<FollowUp>(journal.owed);
  for (const step of steps) {
    const desired = step.desired(model, facts);
    if (desired === undefined) continue;
    const awaited = options.awaited?.filter((one) => one.step === step) ?? [];
    if (awaited.some(({ missing }) => missing.change === undefined)) {
      changes.push(knownAfterHooks(step, awaited));
      continue;
    }
    const record = stepRecord(journal, step.id);
    for (const message of step.remarks?.(desired, record) ?? []) remarks.push({ step: step.id, message });
    const planned = await planStep(step, desired, host, record, scope).catch((error: unknown) => {
      const lacking = options.unmet ?? [];
      if (!(error instanceof MachineadmError) || lacking.length === 0) throw error;
      const own = lacking.filter((one) => one.step === step);
      return own.length > 0 ? own.map(({ missing }) => missing.what) : [error.message];
    });
    for (const change of planned) {
      if (typeof change === 'string') {
        remarks.push({ step: step.id, message: `not known yet: ${change}` });
        continue;
      }
      const hooks = awaited.find(({ missing }) => missing.change === change.id)?.hooks;
      changes.push({
        ...plannedChange(step.id, change),
        ...(hooks === undefined ? {} : { knownAfter: hooks.id }),
        ...options.source?.(step.id, change.id),
      });
      for (const followUp of change.owes ?? []) owed.add(followUp);
      const { undoes, removes } = change;
      if (undoes !== undefined)
        journal = afterRecord(journal, { is: 'done', step: step.id, change: change.id, undoes });
      host = hostWithout(host, removes ?? []);
    }
    for (const followUp of pendingFollowUps(step, desired, owed)) {
      owed.delete(followUp);
      changes.push({
        id: followUpId(followUp),
        step: step.id,
        summary: followUpSummary(followUp),
        action: followUp.startsWith('restart:') ? 'restart' : 'run',
        scope: 'base',
      });
    }
  }
  return redactDeep({ changes, remarks });
}

/** A step that lacks something before the hooks: what it will change depends on what they install. */
function knownAfterHooks(step: Step, awaited: Requirements['awaited']): PlannedChange {
  const what = awaited.map(({ missing }) => missing.what).join('; ');
  const summary = `${step.title}: not known yet (${what})`;
  return {
    id: step.id,
    step: step.id,
    summary,
    action: 'change',
    scope: 'node',
    knownAfter: awaited[0]?.hooks.id ?? '',
  };
}

function plannedChange(step: string, change: Change): PlannedChange {
  return {
    id: change.id,
    step,
    summary: change.summary,
    action: change.action ?? shownAction(change),
    scope: change.scope,
    ...(change.diff === undefined ? {} : { diff: change.diff }),
    ...(change.commands === undefined ? {} : { commands: change.commands }),
    ...(change.needsReboot === undefined ? {} : { reboots: change.needsReboot }),
    ...(change.knownAfter === undefined ? {} : { knownAfter: change.knownAfter }),
  };
}

/** What a change does, by what it says of itself. */
function shownAction({ diff, removes, repeatable }: Change): ChangeAction {
  const lines = diff?.split('\n') ?? [];
  const [adds, takes] = [lines.some((line) => line.startsWith('+')), lines.some((line) => line.startsWith('-'))];
  if (adds || takes) return !takes && lines[0]?.startsWith('@@ -0,0 ') === true ? 'add' : adds ? 'change' : 'remove';
  if (removes !== undefined && removes.length > 0) return 'remove';
  return repeatable === false ? 'run' : 'change';
}

function followUpSummary(followUp: FollowUp): string {
  if (followUp === 'update-ca-certificates') return "refresh the system's store of trusted certificates";
  return followUp === 'daemon-reload'
    ? 'reload the units of the service manager'
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
