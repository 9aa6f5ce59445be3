import type { Facts } from '../host/seam/facts.ts';
import type { FollowUp, Inventory, StepRecord } from '../steps/step.ts';
import { type InstanceIdentity, type JournalRecord, parseRecord, unreadable } from './journal-record.ts';

/** The steps that say `bootstraps`; a document asks one of them at most for something. A test holds this list to them. */
export const BOOTSTRAP_STEPS: readonly string[] = ['kubeadm', 'exec-bootstrapper'];
/** The step that comes only after readiness was proved, and leaves a note. */
const PROOF_STEP = 'sentinel';

/** What the lines of a journal amount to. */
export interface JournalState {
  readonly identity: InstanceIdentity;
  /** Runs so far. */
  readonly attempts: number;
  /** The last run, as long as it has no conclusion: it goes on, or was killed. */
  readonly open: OpenRun | undefined;
  /** Runs whose supervised commands may still be running: the last run, unless it ended them all by itself. */
  readonly unfinishedRuns: ReadonlySet<string>;
  /** How the last run ended; undefined while one is open, and before the first. */
  readonly ended: { readonly command: Command; readonly outcome: string } | undefined;
  /** What was ever begun here. */
  readonly commands: ReadonlySet<Command>;
  readonly steps: ReadonlyMap<string, StepMemory>;
  readonly owed: ReadonlySet<FollowUp>;
  /** `Facts.bootId` of the last run. */
  readonly bootId: string | undefined;
  /** Reboots by the step that needs them, until they served. */
  readonly reboots: ReadonlyMap<string, { readonly now: 'Owed' | 'Requested'; readonly bootId: string | undefined }>;
  readonly foreign: boolean;
  /** What was at each path before we wrote there for the first time, in that order. */
  readonly wrote: ReadonlyMap<string, 'absent' | 'present'>;
  /** Services that start at boot because of us. */
  readonly enabled: ReadonlySet<string>;
  /** What was there before a bootstrapper was first started; undefined where none is on record. */
  readonly inventory: Inventory | undefined;
  /** `LoadedDocument.lastingDigest` this instance was bootstrapped from; undefined before. */
  readonly bootstrappedFrom: string | undefined;
  /** Documents that were applied, by where they were read (`sourcesKey`): the last run of each that succeeded. */
  readonly applied: ReadonlyMap<string, AppliedDocument>;
  /** A `provision` of this instance once proved what its document asked for. Later failures do not unmake that. */
  readonly proven: boolean;
}

type Command = Extract<JournalRecord, { is: 'run' }>['command'];

type OpenRun = Pick<Extract<JournalRecord, { is: 'run' }>, 'run' | 'command' | 'lasting' | 'written' | 'sources'>;

interface StepMemory {
  readonly started: ReadonlySet<string>;
  readonly done: ReadonlySet<string>;
  readonly notes: ReadonlyMap<string, unknown>;
}

const NO_MEMORY: StepMemory = { started: new Set(), done: new Set(), notes: new Map() };

export function instanceIdentity(facts: Facts, uid: string | undefined): InstanceIdentity {
  return { uid, cloudInstanceId: facts.cloudInstanceId, machineId: facts.machineId };
}

/**
 * Whether a journal belongs to this instance: by the strongest sign that both know, which is the uid of the Machine,
 * then the cloud's instance id, then the machine-id.
 */
export function isSameInstance(a: InstanceIdentity, b: InstanceIdentity): boolean {
  if (a.uid !== undefined && b.uid !== undefined) return a.uid === b.uid;
  if (a.cloudInstanceId !== undefined && b.cloudInstanceId !== undefined)
    return a.cloudInstanceId === b.cloudInstanceId;
  return a.machineId === b.machineId;
}

/**
 * Memory of an instance that was never seen before.
 *
 * @param foreign another instance's journal was found
 * @param inventory what that journal says was there before its own bootstrap
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
    owed: new Set(),
    bootId: undefined,
    reboots: new Map(),
    foreign,
    wrote: new Map(),
    enabled: new Set(),
    inventory,
    bootstrappedFrom: undefined,
    applied: new Map(),
    proven: false,
  };
}

/** A document that was applied to this instance, which no later run of the same sources left half-done. */
export interface AppliedDocument {
  /** `LoadedDocument.writtenDigest`; undefined where an earlier version of machineadm did not record it. */
  readonly written: string | undefined;
  /** RFC 3339, UTC. */
  readonly at: string;
}

/** One word for where a document is read; the same for runs of earlier versions, which did not record it. */
export function sourcesKey(sources: readonly string[] | undefined): string {
  return JSON.stringify(sources ?? []);
}

/**
 * True for the journal of an image bake: nothing but `prepare` ever began there, so no node was ever made on this disk,
 * and what a machine booted from it finds is no other node's.
 */
export function isBake(state: JournalState): boolean {
  return !state.foreign && state.commands.has('prepare') && !state.commands.has('provision');
}

/** The same, with what an image bake noted for each step that has no note of its own. */
export function withNotes(state: JournalState, notes: readonly PreparedNote[]): JournalState {
  const steps = new Map(state.steps);
  for (const { step, change, note } of notes) {
    const memory = steps.get(step) ?? NO_MEMORY;
    if (!memory.notes.has(change)) steps.set(step, { ...memory, notes: new Map(memory.notes).set(change, note) });
  }
  return { ...state, steps };
}

/** What a step left for itself while an image was prepared; it holds on every machine that is booted from the image. */
export interface PreparedNote {
  readonly step: string;
  readonly change: string;
  readonly note: unknown;
}

/** Judges the lines of a journal; undefined for no lines. Throws `JournalUnreadable` for what machineadm did not write. */
export function readJournal(path: string, lines: readonly string[]): JournalState | undefined {
  const [first, ...rest] = lines.map((line, index) => parseRecord(path, line, index));
  if (first === undefined) return undefined;
  if (first.is !== 'instance') throw unreadable(path, 1);
  const wrote = new Map<string, 'absent' | 'present'>();
  let state: JournalState = { ...newJournalState(first.identity, first.foreign), wrote };
  for (const record of rest) {
    if (record.is === 'wrote') rememberWritten(wrote, record);
    else state = afterRecord(state, record);
  }
  return state;
}

/**
 * Adds a path to those written, in place: they come by the thousand, and copying the others for each of them costs more
 * than writing the files. What was there before the first time is what counts.
 */
export function rememberWritten(
  wrote: Map<string, 'absent' | 'present'>,
  { path, before }: Extract<JournalRecord, { is: 'wrote' }>,
): void {
  if (!wrote.has(path)) wrote.set(path, before);
}

/** The state after one more record. */
export function afterRecord(state: JournalState, record: JournalRecord): JournalState {
  switch (record.is) {
    case 'instance':
    case 'step':
      return state;
    case 'run': {
      const { run, command, lasting, written, sources, bootId } = record;
      const commands = new Set([...state.commands, command]);
      // Before it began it ended what earlier runs had left.
      const unfinishedRuns = new Set([run]);
      const origin = written === undefined || sources === undefined ? {} : { written, sources };
      const begun = { open: { run, command, lasting, ...origin }, unfinishedRuns, ended: undefined, commands };
      const applied = new Map(state.applied);
      if (command === 'provision') applied.delete(sourcesKey(sources));
      return { ...inBoot(state, bootId), attempts: state.attempts + 1, ...begun, applied };
    }
    case 'reset':
      return { ...state, unfinishedRuns: new Set([record.run]) };
    case 'owed':
      return { ...state, owed: new Set([...state.owed, ...record.followUps]) };
    case 'settled':
      return { ...state, owed: new Set([...state.owed].filter((followUp) => followUp !== record.followUp)) };
    case 'wrote': {
      const wrote = new Map(state.wrote);
      rememberWritten(wrote, record);
      return { ...state, wrote };
    }
    case 'reboot': {
      const reboots = new Map(state.reboots);
      if (record.now === 'Served') reboots.delete(record.step);
      else reboots.set(record.step, { now: record.now, bootId: state.bootId });
      return { ...state, reboots };
    }
    case 'enabled':
      return { ...state, enabled: new Set([...state.enabled, record.service]) };
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
      if (succeeded) applied.set(sourcesKey(state.open?.sources), { written: state.open?.written, at: record.at });
      return { ...state, open: undefined, unfinishedRuns, ended, applied, proven: state.proven || succeeded };
    }
  }
}

/** The same, seen from this boot: a reboot that was only owed in another one has happened, or is owed anew. */
export function inBoot(state: JournalState, bootId: string): JournalState {
  const lasting = [...state.reboots].filter(([, reboot]) => reboot.now === 'Requested' || reboot.bootId === bootId);
  return { ...state, bootId, reboots: new Map(lasting) };
}

/**
 * Whether the world was, or may have been, told that this machine succeeded in what `document` asks of it: then a later
 * run that fails does not make it a machine that failed. A document that could not be loaded asks for nothing new.
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
  const memory = afterChange(state.steps.get(record.step) ?? NO_MEMORY, record);
  const steps = new Map(state.steps).set(record.step, memory);
  if (record.is === 'note') return { ...state, steps, proven: state.proven || record.step === PROOF_STEP };
  if (record.is === 'started') return { ...state, steps };
  for (const undone of record.undoes ?? []) steps.delete(undone);
  if (BOOTSTRAP_STEPS.some((step) => record.undoes?.includes(step) === true)) {
    return { ...state, steps, foreign: false, bootstrappedFrom: undefined, proven: false };
  }
  if (!BOOTSTRAP_STEPS.includes(record.step) || memory.started.size > 0) return { ...state, steps };
  // What was proved before, of a host without Kubernetes, says nothing of this.
  return { ...state, steps, bootstrappedFrom: state.open?.lasting, proven: false };
}

function afterChange(
  memory: StepMemory,
  record: Extract<JournalRecord, { is: 'started' | 'note' | 'done' }>,
): StepMemory {
  const { change } = record;
  switch (record.is) {
    case 'started':
      return { ...memory, started: new Set([...memory.started, change]) };
    case 'note':
      return { ...memory, notes: new Map(memory.notes).set(change, record.note) };
    case 'done':
      return {
        ...memory,
        started: new Set([...memory.started].filter((started) => started !== change)),
        done: new Set([...memory.done, change]),
      };
  }
}

/** What the journal tells one step. */
export function stepRecord(state: JournalState | undefined, step: string): StepRecord {
  const memory = state?.steps.get(step) ?? NO_MEMORY;
  const bootstrap = BOOTSTRAP_STEPS.map((id) => state?.steps.get(id) ?? NO_MEMORY);
  return {
    interrupted: memory.started,
    done: memory.done,
    notes: memory.notes,
    hookEdits: hookEditsIn(state),
    foreignLeftovers: state?.foreign ?? false,
    bootstrap: bootstrap.some(({ started }) => started.size > 0)
      ? 'attempted'
      : bootstrap.some(({ done }) => done.size > 0)
        ? 'done'
        : 'none',
    attempts: bootstrap.flatMap(attemptNotes),
    inventory: state?.inventory,
    wrote: state?.wrote ?? new Map(),
    owed: state?.owed ?? new Set(),
    reboot: rebootOf(state, step),
  };
}

/** How the note of a hook begins about a file that it changed; its path follows. */
export const HOOK_EDIT = 'edited:';

/** Kept with the memory of the hooks: where they run again, so that they find the files as the document has them. */
function hookEditsIn(state: JournalState | undefined): ReadonlyMap<string, unknown> {
  const edits = new Map<string, unknown>();
  for (const { notes } of state?.steps.values() ?? []) {
    for (const [change, note] of notes) {
      if (change.startsWith(HOOK_EDIT)) edits.set(change.slice(HOOK_EDIT.length), note);
    }
  }
  return edits;
}

function attemptNotes({ started, done, notes }: StepMemory): readonly unknown[] {
  return [...(started.size > 0 ? started : done)].map((change) => notes.get(change));
}

function rebootOf(state: JournalState | undefined, step: string): StepRecord['reboot'] {
  const reboot = state?.reboots.get(step);
  if (reboot === undefined) return 'none';
  return reboot.bootId === state?.bootId ? 'owed' : 'done';
}
