import { createHash, randomUUID } from 'node:crypto';
import { MachineadmError } from '../document/errors.ts';
import type { HookGroup, Model } from '../document/model.ts';
import type { Host } from '../host/host.ts';
import { hookFailed, hookTimedOut } from './hook-errors.ts';
import {
  completedEntries,
  driverArguments,
  hookScript,
  MARKER_DESCRIPTOR,
  parseMarker,
  recordExit,
  removeHookScript,
  sealState,
  writeHookScript,
} from './hook-script.ts';
import type { Change, Execution, Step } from './step.ts';

export type HookPhase = 'early' | 'beforeBootstrap' | 'afterBootstrap';

export interface HooksDesired {
  readonly phase: HookPhase;
  readonly group: HookGroup;
  /** True where an early hook of the same document may still install the shell. */
  readonly afterEarlyHooks: boolean;
}

export interface HooksActual {
  readonly done: boolean;
  /** What an earlier run of the same commands left unfinished. */
  readonly unfinished: UnfinishedHook | undefined;
}

export interface UnfinishedHook {
  readonly token: string;
  readonly completed: number;
}

export interface HooksPayload extends HooksDesired {
  readonly unfinished: UnfinishedHook | undefined;
}

const LINES_KEPT = 10;

/** Before anything else is changed. */
export const earlyHooks = hooksStep('hooks-early', 'early hooks', 'early');
/** After the files under /run/kubeadm are laid; may edit them. */
export const beforeBootstrapHooks = hooksStep(
  'hooks-before-bootstrap',
  'hooks before the bootstrap',
  'beforeBootstrap',
);
/** After proven success only: the pipeline never comes here after a failure. */
export const afterBootstrapHooks = hooksStep('hooks-after-bootstrap', 'hooks after the bootstrap', 'afterBootstrap');

/**
 * A group of commands, run once on an instance, in one shell. A run that is killed in the group goes on with the entry
 * it was killed in, with the exports and the working directory of the entries before: an entry that was interrupted
 * runs again, one that ended does not. Commands that were changed in between start the group anew. The commands are
 * never arguments, and their standard input is empty.
 */
function hooksStep(id: string, title: string, phase: HookPhase): Step<HooksDesired, HooksActual, HooksPayload> {
  const script = hookScript(id);
  const changeId = `${id}/run`;
  return {
    id,
    title,

    desired(model: Model) {
      const group = model.host.hooks[phase];
      if (group === undefined || group.commands.length === 0) return undefined;
      return { phase, group, afterEarlyHooks: phase !== 'early' && model.host.hooks.early !== undefined };
    },

    async preflight(host, desired) {
      const { shell } = desired.group;
      if (desired.afterEarlyHooks || (await host.which(shell)) !== undefined) return [];
      const remedy = `Install ${shell}, or choose another shell under host.hooks.${phase}.shell.`;
      return [
        {
          reason: 'HookFailed',
          what: `${shell}, the shell of host.hooks.${phase}, is not installed`,
          remedy,
          scope: 'node',
        },
      ];
    },

    async inspect(host, desired, record) {
      const note = parseNote(record.notes.get(changeId));
      if (record.done.has(changeId) || note === undefined)
        return { done: record.done.has(changeId), unfinished: undefined };
      const completed = await completedEntries(host, script, note.token);
      const same = note.commands.slice(0, completed).every((digest, index) => digest === digests(desired.group)[index]);
      return { done: false, unfinished: completed > 0 && same ? { token: note.token, completed } : undefined };
    },

    plan(desired, actual) {
      if (actual.done) return [];
      const count = desired.group.commands.length;
      const begun = actual.unfinished?.completed ?? 0;
      const what =
        begun === 0
          ? `run ${count === 1 ? '1 command' : `${count} commands`} with ${desired.group.shell}`
          : `go on behind command ${begun} of ${count}, where an earlier run ended`;
      const payload = { ...desired, unfinished: actual.unfinished };
      return [
        { id: changeId, summary: what, scope: 'node', repeatable: false, payload } satisfies Change<HooksPayload>,
      ];
    },

    async apply(host, change, execution) {
      const { group, unfinished } = change.payload;
      const token = unfinished?.token ?? randomUUID();
      execution.remember({ token, commands: digests(group) });
      await runScript(host, { id, token, ...change.payload }, execution);
      await sealState(host, script, token, group.commands.length);
    },

    async settled(host) {
      // Only now, when the journal holds that the group is done.
      await host.removeFile(script.state);
    },
  };
}

interface Group extends Pick<HooksPayload, 'phase' | 'group' | 'unfinished'> {
  readonly id: string;
  readonly token: string;
}

/**
 * Runs a group from its first entry to its last, whatever became of it before, and leaves nothing behind. Throws
 * `HookFailed` or `HookTimedOut`.
 *
 * @param id under which its commands and its state lie meanwhile
 */
export async function runHookGroup(
  host: Host,
  id: string,
  phase: HookPhase,
  group: HookGroup,
  execution: Execution,
): Promise<void> {
  const script = hookScript(id);
  // Exports of a group that was killed may hold secrets.
  await host.removeFile(script.state);
  try {
    await runScript(host, { id, token: randomUUID(), phase, group, unfinished: undefined }, execution);
  } finally {
    await host.removeFile(script.state);
  }
}

async function runScript(host: Host, running: Group, execution: Execution): Promise<void> {
  const script = hookScript(running.id);
  await writeHookScript(host, script, running.group);
  try {
    await runGroup(host, running, execution);
  } finally {
    execution.waitingFor(undefined);
    await removeHookScript(host, script);
  }
}

/** Runs shells until all entries are done: one, unless an entry ends its shell by `exit`. */
async function runGroup(host: Host, running: Group, execution: Execution): Promise<void> {
  const { group, phase } = running;
  const until = performance.now() + group.timeoutMs;
  let next = (running.unfinished?.completed ?? 0) + 1;
  while (next <= group.commands.length) {
    const shell = await runShell(host, running, next, until - performance.now(), execution);
    if (shell.timedOut) {
      const failure = hookTimedOut(phase, group, shell.entry, shell.lines);
      if (group.onError === 'Fail') throw failure;
      execution.warn(`${failure.message} onError is Continue: the run goes on without the rest of this hook.`);
      return;
    }
    if (shell.status !== 0) {
      const failure = hookFailed(phase, group, shell.entry, shell.status, shell.lines);
      if (group.onError === 'Fail' || !shell.insideEntry) throw failure;
      execution.warn(`${failure.message} onError is Continue: the run goes on.`);
    }
    if (!shell.insideEntry) return;
    await recordExit(host, hookScript(running.id), running.token, shell.entry);
    next = shell.entry + 1;
  }
}

interface EndedShell {
  /** The entry it was in, or ended last. */
  readonly entry: number;
  /** True when it ended before it could say how the entry ended: by `exit`, `set -e`, a syntax error or a signal. */
  readonly insideEntry: boolean;
  readonly status: number;
  readonly timedOut: boolean;
  /** The last lines it printed, redacted. */
  readonly lines: readonly string[];
}

async function runShell(
  host: Host,
  running: Group,
  first: number,
  timeoutMs: number,
  execution: Execution,
): Promise<EndedShell> {
  const { id, phase, group, token } = running;
  const lines: string[] = [];
  let [entry, begunAt, insideEntry] = [first, performance.now(), false];
  const onMarker = (line: string): void => {
    const marker = parseMarker(line);
    if (marker === undefined) return;
    entry = marker.entry;
    const name = `entry ${entry} of ${group.commands.length}`;
    if (marker.kind === 'unsaved') {
      execution.warn(
        `${id}: how far the hook came could not be saved after ${name}; a run after a kill would repeat it`,
      );
    } else if (marker.kind === 'begin') {
      [begunAt, insideEntry] = [performance.now(), true];
      execution.waitingFor(`${name} of the hook ${phase}`);
    } else {
      insideEntry = false;
      const seconds = ((performance.now() - begunAt) / 1000).toFixed(1);
      execution.output(id, `${name} ended with status ${marker.status} after ${seconds} s`);
      if (marker.status !== 0 && group.onError === 'Continue') {
        const failure = hookFailed(phase, group, entry, marker.status, []);
        execution.warn(`${failure.message} onError is Continue: the run goes on.`);
      }
    }
  };
  const result = await host.run({
    program: group.shell,
    args: driverArguments(hookScript(id), token, first, group),
    env: { MACHINEADM_PHASE: phase },
    cwd: '/',
    timeoutMs: Math.max(1, timeoutMs),
    signal: execution.signal,
    supervised: true,
    onDescriptorLine: { descriptor: MARKER_DESCRIPTOR, line: onMarker },
    onLine: (_stream, line) => {
      execution.output(id, line);
      lines.push(line);
      if (lines.length > LINES_KEPT) lines.shift();
    },
  });
  return { entry, insideEntry, status: result.status, timedOut: result.timedOut, lines };
}

function digests(group: HookGroup): readonly string[] {
  return group.commands.map((command) => createHash('sha256').update(command).digest('hex'));
}

/** What `apply` left in the journal. Throws `JournalUnreadable` for what no version of it ever wrote. */
function parseNote(note: unknown): { readonly token: string; readonly commands: readonly string[] } | undefined {
  if (note === undefined) return undefined;
  if (typeof note === 'object' && note !== null && 'token' in note && 'commands' in note) {
    const { token, commands } = note;
    const texts = Array.isArray(commands) ? commands.filter((digest) => typeof digest === 'string') : [];
    if (typeof token === 'string' && Array.isArray(commands) && texts.length === commands.length) {
      return { token, commands: texts };
    }
  }
  throw new MachineadmError({
    reason: 'JournalUnreadable',
    summary: 'The journal says something of a hook that this version of machineadm does not understand.',
    remedy: 'Run the version of machineadm that wrote it, or see what the hook did and remove the journal.',
  });
}
