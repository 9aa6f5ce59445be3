import type { Place } from '@machineadm/document/diagnostics/index.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { UNIT_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { formatHandover } from '@machineadm/status/conditions.ts';
import type { NodeHandover } from '@machineadm/status/status.ts';
import type { Finding } from '../diagnosis/checks/finding.ts';
import { gatherFacts, openQueryHost } from '../host/index.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';
import type { Change, ChangeAction, FollowUp, Step } from '../step/index.ts';
import type { UpgradeOptions } from '../step/upgrade-order.ts';
import { documentIdOf, findConflicts, journalFor } from './asked.ts';
import { type FindSource, sourcesOf } from './change-source.ts';
import { type DocumentId, ownerOf } from './documents.ts';
import { imagePart } from './image.ts';
import { inBoot, instanceIdentity, type JournalState, withNotes, withoutRecords } from './journal.ts';
import type { OpenedDocument } from './load.ts';
import { stepsFor } from './pipeline.ts';
import { followUpId, pendingFollowUps, planStep } from './plan-step.ts';
import {
  findingsOf,
  type PreflightScope,
  type Requirements,
  refusalFinding,
  refusalFor,
  refuseUnlessRoot,
  requirements,
  type Unmet,
} from './preflight.ts';
import { readPrepared, usableNotes } from './prepared.ts';
import { journalForInstance, peekJournal } from './run-journal.ts';
import { stepRecord } from './step-record.ts';
import { documentChanged, refuseIfChanged, upgradeAsked, withUpgrade } from './upgrade.ts';

/** One thing that a run would do. */
export interface PlannedChange {
  readonly id: string;
  readonly step: string;
  readonly summary: string;
  /** `restart`: of a service, because of earlier changes. */
  readonly action: ChangeAction | 'restart';
  readonly scope: 'base' | 'node';
  readonly diff?: string;
  readonly commands?: readonly string[];
  readonly knownAfter?: string;
  /** True where the machine is rebooted after it. */
  readonly reboots?: true;
  /** The field of the document that causes it, with its place. */
  readonly field?: string;
  readonly position?: Place;
}

/** Remarks about a step for the operator, in addition to its changes. */
export interface PlanRemark {
  readonly step: string;
  readonly message: string;
}

export interface Plan {
  readonly changes: readonly PlannedChange[];
  readonly remarks: readonly PlanRemark[];
}

/** A problem that prevents a run, with its place in the document. */
export interface PlanProblem extends PlanRemark, Partial<Place> {
  readonly code: Reason;
  readonly hint: string;
  readonly path?: string;
}

/** A plan with the problems that would prevent the run. */
export interface PlanWithProblems extends Plan {
  /** Requirements of steps that are not met. */
  readonly problems: readonly PlanProblem[];
  /** All findings of the preflight, as in `doctor`: including warnings and checks that could not be made. */
  readonly findings: readonly Finding[];
  /** The error with which `provision` would be refused now; absent where it would start. */
  readonly refusal?: {
    readonly reason: Reason;
    readonly summary: string;
    readonly remedy: string;
    /** With which `provision` would exit, and `plan` does. */
    readonly exitCode: number;
  };
}

/**
 * The changes that a run of `document` would make to this machine, from a read-only host. Unmet requirements are part
 * of the plan, and so is the update of a node whose document only has another version of Kubernetes. Throws the run's other
 * refusals: not root, another platform, a changed document, a step whose inspection fails.
 *
 * @param upgrade of `machineadm upgrade`: its options; absent: `provision` is planned, which refuses an update
 */
export async function makePlan(
  document: OpenedDocument,
  scope: 'base' | 'all',
  upgrade?: UpgradeOptions,
): Promise<PlanWithProblems> {
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const known = await knownOf(document, scope, host, facts, {
    options: upgrade ?? PLANNED_UPGRADE,
    isAsked: upgrade !== undefined,
  });
  const { steps, journal, id, asked } = known;
  const { source = () => undefined } = asked;
  const required = await requirements(steps, asked);
  const { unmet, awaited } = required;
  const planned = await planSteps(steps, { ...asked, journal, awaited, unmet, source, id });
  const told = required.told.map(({ step, missing }) => ({ step: step.id, message: missing.what }));
  const plan = { ...planned, remarks: [...planned.remarks, ...told] };
  const { refusals } = document;
  const findings = [...refusals.map(refusalFinding), ...findingsOf(required)];
  const changed = upgrade === undefined ? known.changed : undefined;
  const error = refusals[0] ?? changed ?? (unmet.length === 0 ? undefined : refusalFor(unmet));
  if (error === undefined) return redactDeep({ ...plan, problems: [], findings });
  const { reason, message: summary, remedy, exit } = error;
  const refusal = { reason, summary, remedy, exitCode: exitCode(exit) };
  const ofWhole = [...refusals, ...(changed === undefined ? [] : [changed])];
  return redactDeep({ ...plan, problems: [...ofWhole.map(ofDocument), ...unmet.map(problemOf)], findings, refusal });
}

/** How `plan` shows an update: as `machineadm upgrade` without options does it. */
const PLANNED_UPGRADE: UpgradeOptions = { drain: { by: 'machineadm' } };

/**
 * The document and what the journal of this machine knows, as `plan` and `doctor` ask the steps about them: the same as a
 * run does. Throws `DocumentChanged`, and what `imagePart` throws.
 *
 * @param update how an update of the node is done, and whether the command is one; absent: it is refused
 */
export async function knownOf(
  document: OpenedDocument,
  scope: 'base' | 'all',
  host: QueryHost,
  facts: Facts,
  update?: { readonly options: UpgradeOptions; readonly isAsked: boolean },
): Promise<{
  /** Why `provision` refuses the document, which is an update of this node. */
  readonly changed?: MachineadmError;
  readonly steps: readonly Step[];
  readonly journal: JournalState;
  readonly id: DocumentId;
  readonly asked: PreflightScope;
}> {
  const { model } = scope === 'base' ? imagePart(document) : document;
  const found = await peekJournal(host);
  const identity = instanceIdentity(facts, model.metadata.uid);
  const seen = inBoot(journalForInstance(found, identity), facts.bootId);
  const known = withNotes(seen, usableNotes(await readPrepared(host), found, identity));
  const mayUpgrade = known.bootstrappedFrom !== undefined && document.lastingDigest !== undefined;
  const isAsked = update !== undefined && (update.isAsked || (mayUpgrade && model.kubernetes?.exec === undefined));
  const versions = isAsked ? await upgradeAsked(host, known, document, update.isAsked) : undefined;
  if (versions === undefined) await refuseIfChanged(host, known, document);
  const changed = versions === undefined ? undefined : await documentChanged(host, known, document);
  const begun = update === undefined ? known : withUpgrade(known, versions, update.options);
  const { sources, agentVersion } = document;
  const id = documentIdOf({ command: scope === 'base' ? 'prepare' : 'provision', sources }, document);
  const own = { ...document, model };
  // A plan stands for a run of its own.
  const journal = { ...(await journalFor(host, begun, id, own, agentVersion)), doneInRun: new Set<string>() };
  const record = (step: string) => stepRecord(journal, step, id);
  const conflicts = () => findConflicts(host, own, agentVersion, journal, id);
  const source = sourcesOf(own);
  return {
    ...(changed === undefined ? {} : { changed }),
    steps: stepsFor(scope, model.host.platform),
    journal,
    id,
    asked: { model, facts, host, scope, source, record, conflicts },
  };
}

/** The document itself is refused, because of who can read or change it. */
function ofDocument({ reason: code, message, remedy: hint }: MachineadmError): PlanProblem {
  return { step: 'document', message, code, hint };
}

function problemOf({ step, missing: { what: message, reason: code, remedy: hint }, source }: Unmet): PlanProblem {
  const at = source === undefined ? {} : { path: source.field, ...source.position };
  return { step: step.id, message, code, hint, ...at };
}

/** The inputs for planning a run. */
export interface PlanOptions {
  readonly model: Model;
  readonly facts: Facts;
  readonly host: QueryHost;
  readonly journal: JournalState;
  readonly scope: 'base' | 'all';
  /** Requirements that earlier steps may still provide: the steps are planned after them. */
  readonly awaited?: Requirements['awaited'];
  /** Requirements that nothing provides: what depends on them is unknown. */
  readonly unmet?: Requirements['unmet'];
  /** The document; absent: that of the run that goes on. */
  readonly id?: DocumentId;
  /** Where the document asks for a change. */
  readonly source?: FindSource;
}

/** The changes of these steps in order, including follow-ups, with the same ids as in `runSteps`. Redacted. */
export async function planSteps(steps: readonly Step[], options: PlanOptions): Promise<Plan> {
  const { facts, scope } = options;
  let { model } = options;
  // Later steps are planned as if earlier changes had already removed records and files.
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
    const record = stepRecord(journal, step.id, options.id);
    if (step.idle?.(desired, { ...record, owed }) === true) continue;
    const warn = (message: string): number => remarks.push({ step: step.id, message });
    const handover = (one: NodeHandover) => formatHandover(one).forEach(warn);
    const planned = await planStep(step, desired, host, record, scope, { warn, handover }).catch((error: unknown) => {
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
      const after = awaited.find(({ missing }) => missing.change === change.id)?.after;
      changes.push({
        ...plannedChange(step.id, change),
        ...(after === undefined ? {} : { knownAfter: after.id }),
        ...options.source?.(step.id, change.id),
      });
      for (const followUp of change.owes ?? []) owed.add(followUp);
      const { undoes, removes } = change;
      if (undoes !== undefined) journal = withoutRecords(journal, ownerOf(options.id ?? journal.open), undoes);
      host = hostWithout(host, removes ?? []);
    }
    model = (await step.resolves?.(host, desired, model, record)) ?? model;
    for (const followUp of pendingFollowUps(step, desired, owed)) {
      owed.delete(followUp);
      changes.push({
        id: followUpId(followUp),
        step: step.id,
        summary: followUpSummary(followUp),
        action: /^re(?:start|load):/.test(followUp) ? 'restart' : 'run',
        scope: 'base',
      });
    }
  }
  return redactDeep({ changes, remarks });
}

/**
 * The machine as it will be once these paths, and everything below them, are removed: for planning later steps. Other
 * queries go to the actual machine. A unit is stopped and disabled before its file is removed (`undo/removals/unit-files.ts`).
 */
export function hostWithout(host: QueryHost, removed: readonly string[]): QueryHost {
  if (removed.length === 0) return host;
  const isGone = (path: string) => removed.some((gone) => path === gone || path.startsWith(`${gone}/`));
  const unlessGone =
    <Rest extends readonly unknown[], Found>(ask: (path: string, ...rest: Rest) => Promise<Found | undefined>) =>
    async (path: string, ...rest: Rest): Promise<Found | undefined> =>
      isGone(path) ? undefined : await ask(path, ...rest);
  return {
    ...host,
    readFile: unlessGone((path) => host.readFile(path)),
    readText: unlessGone((path) => host.readText(path)),
    readRange: unlessGone((path, offset: number, length: number) => host.readRange(path, offset, length)),
    openFile: unlessGone((path) => host.openFile(path)),
    stat: unlessGone((path) => host.stat(path)),
    readLink: unlessGone((path) => host.readLink(path)),
    list: unlessGone((path) => host.list(path)),
    sha256: unlessGone((path) => host.sha256(path)),
    async service(name) {
      const state = await host.service(name);
      const unit = /\.[a-z]+$/.test(name) ? name : `${name}.service`;
      return isGone(`${UNIT_DIRECTORY}/${unit}`) ? { ...state, active: false, enabled: false } : state;
    },
  };
}

/** A requirement is missing until hooks provide it: the step's changes depend on what they install. */
function knownAfterHooks(step: Step, awaited: Requirements['awaited']): PlannedChange {
  const what = awaited.map(({ missing }) => missing.what).join('; ');
  const summary = `${stepTitle(step.id)}: not known yet (${what})`;
  return {
    id: step.id,
    step: step.id,
    summary,
    action: 'change',
    scope: 'node',
    knownAfter: awaited[0]?.after.id ?? '',
  };
}

function plannedChange(step: string, change: Change): PlannedChange {
  return {
    id: change.id,
    step,
    summary: change.summary,
    action: change.action ?? shownAction(change),
    scope: change.scope,
    ...omitUndefined({
      diff: change.diff,
      commands: change.commands,
      reboots: change.needsReboot,
      knownAfter: change.knownAfter,
    }),
  };
}

/** The kind of a change, from its description. */
function shownAction({ diff, removes, repeatable }: Change): ChangeAction {
  const lines = diff?.split('\n') ?? [];
  const [adds, takes] = [lines.some((line) => line.startsWith('+')), lines.some((line) => line.startsWith('-'))];
  if (adds || takes) return !takes && lines[0]?.startsWith('@@ -0,0 ') === true ? 'add' : adds ? 'change' : 'remove';
  if (removes !== undefined && removes.length > 0) return 'remove';
  return repeatable === false ? 'run' : 'change';
}

function followUpSummary(followUp: FollowUp): string {
  if (followUp === 'update-ca-certificates') return "refresh the system's store of trusted certificates";
  if (followUp === 'daemon-reload') return 'reload the units of the service manager';
  return `${followUp.replace(':', ' ')}, for the changes above`;
}
