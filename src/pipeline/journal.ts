import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { FollowUp, Inventory } from '../step/index.ts';
import type { Memory } from '../step/memory.ts';
import { type DocumentState, ownerOf, withAsked, withDocument, withoutDocument } from './documents.ts';
import { type InstanceIdentity, type JournalRecord, parseRecord, unreadable } from './journal-record.ts';
import { afterUpgradeRecord, type NodeVersion, nodeOf } from './journal-upgrade.ts';
import { acting, type ResourceMemory, rememberResource, sourcesKey } from './resource-memory.ts';
import { afterChange, NO_MEMORY, type StepMemory } from './step-memory.ts';

/** The steps with `bootstraps`; a document uses at most one of them. A test checks this list. */
export const BOOTSTRAP_STEPS: readonly string[] = ['kubeadm', 'exec-bootstrapper'] satisfies readonly StepId[];
/** The step that runs only after readiness was proved, and leaves a note. */
const PROOF_STEP: StepId = 'sentinel';

/** The state that the lines of a journal add up to. */
export interface JournalState extends ResourceMemory, NodeVersion {
  readonly identity: InstanceIdentity;
  /** The number of runs. */
  readonly attempts: number;
  /** The last run while it has no conclusion: it is active, or was killed. */
  readonly open: OpenRun | undefined;
  /** Runs whose supervised commands may still be running: the last run, unless it ended them itself. */
  readonly unfinishedRuns: ReadonlySet<string>;
  /** How the last run ended; undefined while it is active, and before the first. */
  readonly ended: { readonly command: Command; readonly outcome: string } | undefined;
  /** Everything that was ever begun on this machine. */
  readonly commands: ReadonlySet<Command>;
  readonly steps: ReadonlyMap<string, StepMemory>;
  /** Changes that the last run has done, by their ids. */
  readonly doneInRun: ReadonlySet<string>;
  readonly owed: ReadonlySet<FollowUp>;
  /** `Facts.bootId` of the last run. */
  readonly bootId: string | undefined;
  /** Pending reboots, by the step that needs them. */
  readonly reboots: ReadonlyMap<string, { readonly now: 'Owed' | 'Requested'; readonly bootId: string | undefined }>;
  readonly foreign: boolean;
  /** Every follow-up that a step ever owed, by step; and the last that a change owed, by its id. */
  readonly everOwed: Memory['everOwed'];
  /** A reset was begun and did not end. */
  readonly isResetting: boolean;
  readonly acted: Memory['acted'];
  /** `acted` of each document (`documentKey`). */
  readonly actedFor: ReadonlyMap<string, Memory['acted']>;
  /** The documents that were applied to this machine, or begun, by their keys. */
  readonly documents: ReadonlyMap<string, DocumentState>;
  /** The memories of the steps that run hooks, by document: each document has its own hooks. */
  readonly hooks: ReadonlyMap<string, ReadonlyMap<string, StepMemory>>;
  /** What existed before a bootstrapper first started; undefined without a record. */
  readonly inventory: Inventory | undefined;
  /** Applied documents by their sources (`sourcesKey`): the last successful run of each. */
  readonly applied: ReadonlyMap<string, AppliedDocument>;
  /** A `provision` of this instance once proved what its document requires. Later failures do not change that. */
  readonly proven: boolean;
}

type Command = Extract<JournalRecord, { is: 'run' }>['command'];

type OpenRun = Pick<
  Extract<JournalRecord, { is: 'run' }>,
  'run' | 'command' | 'lasting' | 'written' | 'sources' | 'name' | 'kubernetes' | 'kubelet' | 'controlPlane'
>;

export function instanceIdentity(facts: Facts, uid: string | undefined): InstanceIdentity {
  return { uid, cloudInstanceId: facts.cloudInstanceId, machineId: facts.machineId };
}

/**
 * The initial state of a new instance.
 *
 * @param foreign another instance's journal was found
 * @param inventory what existed before that instance's bootstrap
 */
export function newJournalState(identity: InstanceIdentity, foreign: boolean, inventory?: Inventory): JournalState {
  return {
    identity,
    attempts: 0,
    open: undefined,
    unfinishedRuns: new Set(),
    ended: undefined,
    commands: new Set(),
    steps: new Map(),
    doneInRun: new Set(),
    owed: new Set(),
    bootId: undefined,
    reboots: new Map(),
    foreign,
    before: new Map(),
    after: new Map(),
    owned: new Map(),
    everOwed: new Map(),
    isResetting: false,
    acted: new Map(),
    actedFor: new Map(),
    documents: new Map(),
    hooks: new Map(),
    inventory,
    upgrade: undefined,
    ...nodeOf(),
    applied: new Map(),
    proven: false,
  };
}

/** A document that was applied to this instance, unless a later run of the same sources did not complete. */
export interface AppliedDocument {
  /** `LoadedDocument.writtenDigest`; undefined if written by an earlier version of machineadm. */
  readonly written: string | undefined;
  /** RFC 3339, UTC. */
  readonly at: string;
  /** Its key in `documents`. */
  readonly document: string;
}

/**
 * True for the journal of an image bake: only `prepare` has run, so this disk was never a node, and leftovers on
 * machines booted from it are not another node's.
 */
export function isBake(state: JournalState): boolean {
  return !state.foreign && state.commands.has('prepare') && !state.commands.has('provision');
}

/** The same state, with the notes of an image bake for steps that have none. */
export function withNotes(state: JournalState, notes: readonly PreparedNote[]): JournalState {
  const steps = new Map(state.steps);
  for (const { step, change, note } of notes) {
    const memory = steps.get(step) ?? NO_MEMORY;
    if (!memory.notes.has(change)) steps.set(step, { ...memory, notes: new Map(memory.notes).set(change, note) });
  }
  return { ...state, steps };
}

/** A note that a step recorded while preparing an image; valid on every machine booted from it. */
export interface PreparedNote {
  readonly step: string;
  readonly change: string;
  readonly note: unknown;
}

/**
 * Interprets the lines of a journal; undefined for no lines. Throws `JournalUnreadable` for lines that machineadm did
 * not write.
 */
export function readJournal(path: string, lines: readonly string[]): JournalState | undefined {
  const [first, ...rest] = lines.map((line, index) => parseRecord(path, line, index));
  if (first === undefined) return undefined;
  if (first.is !== 'instance') throw unreadable(path, 1);
  return rest.reduce(afterRecord, newJournalState(first.identity, first.foreign));
}

/** The state after one more record. */
export function afterRecord(state: JournalState, record: JournalRecord): JournalState {
  switch (record.is) {
    case 'instance':
      return state;
    case 'step':
      return acting(state, ownerOf(state.open), record.step, record.changes);
    case 'run': {
      const { run, command, lasting, written, sources, name, kubernetes, kubelet, controlPlane, bootId } = record;
      const commands = new Set([...state.commands, command]);
      // The run ended leftover commands of earlier runs before it began.
      const unfinishedRuns = new Set([run]);
      const named = omitUndefined({ name, kubernetes, kubelet, controlPlane });
      const origin = written === undefined || sources === undefined ? named : { ...named, written, sources };
      const begun = { open: { run, command, lasting, ...origin }, unfinishedRuns, ended: undefined, commands };
      const applied = new Map(state.applied);
      if (command === 'provision') applied.delete(sourcesKey(sources));
      const seen = withDocument(inBoot(state, bootId), record, record.at);
      // A node of an earlier version of machineadm, whose document has not changed.
      const isSame = lasting !== undefined && lasting === state.bootstrappedFrom;
      const bootstrappedKubelet = isSame ? (kubelet ?? state.bootstrappedKubelet) : state.bootstrappedKubelet;
      const bootstrappedControlPlane = (isSame ? controlPlane : undefined) ?? state.bootstrappedControlPlane;
      const again = { attempts: state.attempts + 1, doneInRun: new Set<string>() };
      return { ...seen, ...again, ...begun, applied, bootstrappedKubelet, bootstrappedControlPlane };
    }
    case 'upgrade':
      return afterUpgradeRecord(state, record);
    case 'document': {
      const { is: _is, ...asked } = record;
      return withAsked(state, ownerOf(state.open), asked);
    }
    case 'forgotten':
      return withoutDocument(state, record.document);
    case 'reset':
      return { ...state, unfinishedRuns: new Set([record.run]), isResetting: true };
    case 'owed': {
      const { step, followUps } = record;
      const ever = new Set([...(state.everOwed.get(step) ?? []), ...followUps]);
      const everOwed = new Map(state.everOwed).set(step, ever).set(record.change, new Set(followUps));
      return { ...state, owed: new Set([...state.owed, ...followUps]), everOwed };
    }
    case 'settled':
      return { ...state, owed: new Set([...state.owed].filter((followUp) => followUp !== record.followUp)) };
    case 'before':
    case 'after':
    case 'wrote':
    case 'enabled':
    case 'owned':
    case 'released':
      rememberResource(state, ownerOf(state.open), record);
      return state;
    case 'reboot': {
      const reboots = new Map(state.reboots);
      if (record.now === 'Served') reboots.delete(record.step);
      else reboots.set(record.step, { now: record.now, bootId: state.bootId });
      return { ...state, reboots };
    }
    case 'inventory':
      return { ...state, inventory: record.entries };
    case 'started':
    case 'note':
    case 'done':
      return afterStepRecord(state, record);
    case 'concluded': {
      const command = state.open?.command;
      const succeeded = record.outcome === 'Succeeded' && command === 'provision';
      const ended = command === undefined ? undefined : { command, outcome: record.outcome };
      const unfinishedRuns = record.commandsLeft === true ? state.unfinishedRuns : new Set<string>();
      const applied = new Map(state.applied);
      const document = ownerOf(state.open);
      if (succeeded)
        applied.set(sourcesKey(state.open?.sources), { written: state.open?.written, at: record.at, document });
      const known = state.documents.get(document);
      const documents = new Map(state.documents);
      if (known !== undefined) documents.set(document, { ...known, outcome: record.outcome, at: record.at });
      const proven = state.proven || succeeded;
      return { ...state, open: undefined, unfinishedRuns, ended, applied, documents, proven };
    }
  }
}

/** Whether each document has records of its own of a step. */
export function isOfHooks(step: string): boolean {
  return step.startsWith('hooks-');
}

/**
 * The same state for this boot: a reboot that was pending in an earlier boot has happened, or becomes pending again.
 */
export function inBoot(state: JournalState, bootId: string): JournalState {
  const lasting = [...state.reboots].filter(([, reboot]) => reboot.now === 'Requested' || reboot.bootId === bootId);
  return { ...state, bootId, reboots: new Map(lasting) };
}

/**
 * Whether this machine's success in what `document` requires was, or may have been, reported: then a later failed run
 * does not turn it into a failed machine. A document that could not be loaded requires nothing new.
 */
export function isBootstrapped(
  state: JournalState,
  document: { readonly lastingDigest: string | undefined } | undefined,
): boolean {
  return state.proven && (document?.lastingDigest === undefined || state.bootstrappedFrom !== undefined);
}

function afterStepRecord(
  state: JournalState,
  record: Extract<JournalRecord, { is: 'started' | 'note' | 'done' }>,
): JournalState {
  const document = ownerOf(state.open);
  const known = isOfHooks(record.step) ? state.hooks.get(document) : state.steps;
  const memories = new Map(known).set(record.step, afterChange(known?.get(record.step) ?? NO_MEMORY, record));
  const steps = isOfHooks(record.step) ? new Map(state.steps) : memories;
  const hooks = new Map(state.hooks);
  if (isOfHooks(record.step)) hooks.set(document, memories);
  const memory = memories.get(record.step) ?? NO_MEMORY;
  const acted = acting({ ...state, steps, hooks }, document, record.step, [record.change]);
  if (record.is === 'note') return { ...acted, proven: state.proven || record.step === PROOF_STEP };
  if (record.is === 'started') return acted;
  const doneInRun = new Set([...state.doneInRun, record.change]);
  const done = { ...state, steps, hooks, doneInRun };
  const undone = record.undoes ?? [];
  if (undone.length > 0) return withoutRecords(done, document, undone);
  if (!BOOTSTRAP_STEPS.includes(record.step) || memory.started.size > 0) return done;
  // An earlier proof, of a host without Kubernetes, does not cover this.
  return { ...done, ...nodeOf(state.open), proven: false };
}

/**
 * The state after a change that makes the records of these steps invalid.
 *
 * @param document whose hooks are meant (`documentKey`)
 */
export function withoutRecords(state: JournalState, document: string, undone: readonly string[]): JournalState {
  const without = (memories: JournalState['steps'] | undefined) =>
    new Map([...(memories ?? [])].filter(([step]) => !undone.includes(step)));
  const hooks = new Map(state.hooks).set(document, without(state.hooks.get(document)));
  const left = { ...state, steps: without(state.steps), hooks };
  if (!BOOTSTRAP_STEPS.some((step) => undone.includes(step))) return left;
  return { ...left, upgrade: undefined, ...nodeOf(), foreign: false, proven: false };
}
