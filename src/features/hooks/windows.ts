import { randomUUID } from 'node:crypto';
import type { HookGroup } from '@machineadm/document/model/index.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import { secretsIn } from '@machineadm/document/secrets/secret-values.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import type { Host } from '../../host/seam/host.ts';
import { type FailedEntry, hookFailed, hookTimedOut } from '../../shell/errors.ts';
import type { HookPhase } from '../../shell/single-script.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Execution } from '../../step/index.ts';
import { requireDirectory } from './account.ts';
import { type HookEnvironment, hookEnvironment } from './inputs.ts';
import { digests, isDone, whyAgain } from './record.ts';
import { retriesOf } from './retry.ts';
import {
  parseWindowsMarker,
  removeWindowsHookScript,
  windowsHookCommand,
  windowsHookScript,
  writeWindowsHookScript,
} from './windows-script.ts';

export interface WindowsHooksActual {
  readonly done: boolean;
  /** How many entries of these very commands an earlier run ended. */
  readonly completed: number;
  /** Why it runs again though it was done. */
  readonly again: string | undefined;
}

export interface WindowsHooksPayload {
  readonly group: HookGroup;
  readonly completed: number;
}

const LINES_KEPT = 10;

export const windowsEarlyHooks = windowsHooksStep('hooks-early', 'early');
export const windowsBeforeBootstrapHooks = windowsHooksStep('hooks-before-bootstrap', 'beforeBootstrap');
export const windowsAfterBootstrapHooks = windowsHooksStep('hooks-after-bootstrap', 'afterBootstrap');

/**
 * A group of commands for PowerShell or cmd, run once on an instance, in one shell. A group that was killed, or that failed,
 * runs again from its first entry: neither shell can write down its state, and an entry that runs without the
 * $ErrorActionPreference or the functions of those before it could pass a check that fails.
 */
function windowsHooksStep(
  id: StepId,
  phase: HookPhase,
): FeatureStep<HookGroup, WindowsHooksActual, WindowsHooksPayload> {
  const changeId = `${id}/run`;
  return {
    id,
    section: `host.hooks.${phase}`,
    isRequested: STAYS,
    hooks: { hasRun: (group, record) => isDone(group, changeId, record) },

    desired(model) {
      const group = model.host.hooks[phase];
      return group === undefined || group.commands.length === 0 ? undefined : group;
    },

    secrets: (group) => secretsIn(group),

    async inspect(_host, group, record) {
      const note = record.notes.get(changeId);
      const known = member(note, 'commands');
      const completed = member(note, 'completed');
      const same = Array.isArray(known) && typeof completed === 'number' && known.join() === digests(group).join();
      const again = whyAgain(group, changeId, record);
      const isBegun = same && again === undefined;
      return { done: isDone(group, changeId, record), completed: isBegun ? completed : 0, again };
    },

    plan(group, { done, completed, again }) {
      if (done) return [];
      const count = group.commands.length;
      const what = count === 1 ? '1 command' : `${count} commands`;
      const run = `run ${what} with ${group.shell}${again === undefined ? '' : `, ${again}`}`;
      const isAgain = completed > 0 && completed < count;
      const summary = isAgain ? `${run}, again from the first: ${group.shell} cannot be restored` : run;
      return [{ id: changeId, summary, scope: 'node', repeatable: false, payload: { group, completed } }];
    },

    async apply(host, { payload }, execution) {
      const { group, completed } = payload;
      const script = windowsHookScript(id);
      const remember = (count: number): void => execution.remember({ commands: digests(group), completed: count });
      if (completed === group.commands.length) return;
      if (completed > 0)
        execution.warn(`${id}: all commands run again, including those that are done: an earlier run ended`);
      await requireDirectory(host, phase, group);
      remember(0);
      await writeWindowsHookScript(host, script, group);
      try {
        const put = async (name: string, content: string): Promise<string> => {
          const path = `${script.directory}\\${name}`;
          await host.writeFile({ path, content, mode: 0o600, directoryMode: 0o700 });
          return path;
        };
        const env = await hookEnvironment(host, phase, group, put);
        await runGroup(host, { id, phase, group, env, remember }, execution);
      } finally {
        execution.waitingFor(undefined);
        await removeWindowsHookScript(host, script);
      }
    },
  };
}

interface RunningGroup {
  readonly id: string;
  readonly phase: HookPhase;
  readonly group: HookGroup;
  readonly env: HookEnvironment;
  /** Notes durably how many entries have ended. */
  remember(completed: number): void;
}

/** Runs shells until all entries are done: one, unless an entry ends its shell by `exit`. */
async function runGroup(host: Host, running: RunningGroup, execution: Execution): Promise<void> {
  const { group, phase, remember } = running;
  const until = performance.now() + group.timeoutMs;
  const retries = retriesOf(running.id, phase, group, execution);
  for (let next = 1; next <= group.commands.length; ) {
    const shell = await runShell(host, running, next, until - performance.now(), execution);
    if (shell.timedOut) {
      const failure = hookTimedOut(phase, group, shell.entry, shell.lines);
      if (group.onError === 'Fail') throw failure;
      execution.warn(`${failure.message} onError is Continue: the run continues without the rest of this hook.`);
      return;
    }
    // A shell that says nothing did nothing, whatever its status (Wine's powershell.exe ends with 0).
    if (!shell.began) throw hookFailed(phase, group, failed(next, shell.status === 0 ? 1 : shell.status), shell.lines);
    if (shell.status !== 0) {
      const failure = hookFailed(phase, group, failed(shell.entry, shell.status), shell.lines);
      // What earlier entries set is lost with their shell.
      if (shell.entry === 1 && (await retries.again(shell, until - performance.now()))) continue;
      if (shell.entry > 1 && group.retry !== undefined)
        execution.warn(`${running.id}: entry ${shell.entry} is not retried: the shell before it cannot be restored`);
      if (group.onError === 'Fail' || !shell.insideEntry) throw failure;
      execution.warn(`${failure.message} onError is Continue: the run continues.`);
    }
    if (!shell.insideEntry && shell.entry === group.commands.length) return;
    if (shell.insideEntry && shell.entry > 1 && shell.entry < group.commands.length)
      execution.warn(
        `${running.id}: entry ${shell.entry} ended its shell by exit: the variables that earlier entries set are lost for the next one`,
      );
    remember(shell.entry);
    next = shell.entry + 1;
  }
}

/** Windows has no signals. */
function failed(entry: number, status: number): FailedEntry {
  return { entry, status, kill: undefined };
}

interface EndedShell {
  /** Whether its driver said anything. */
  readonly began: boolean;
  /** The entry it was in, or ended last. */
  readonly entry: number;
  /** True when it ended before it could say how the entry ended: by `exit`, or killed. */
  readonly insideEntry: boolean;
  readonly status: number;
  readonly timedOut: boolean;
  /** The last lines it printed, redacted. */
  readonly lines: readonly string[];
}

async function runShell(
  host: Host,
  { id, phase, group, env, remember }: RunningGroup,
  first: number,
  timeoutMs: number,
  execution: Execution,
): Promise<EndedShell> {
  const token = `machineadm-${randomUUID()}`;
  const lines: string[] = [];
  let [began, entry, insideEntry] = [false, first, false];
  const onMarker = (line: string): boolean => {
    const marker = parseWindowsMarker(line, token);
    if (marker === undefined) return false;
    began = true;
    entry = marker.entry;
    const name = `entry ${entry} of ${group.commands.length}`;
    insideEntry = marker.kind === 'begin';
    if (marker.kind === 'begin') {
      execution.waitingFor(`${name} of the hook ${phase}`);
      return true;
    }
    execution.output(id, `${name} ended with status ${marker.status}`);
    if (marker.status === 0 || group.onError === 'Continue') remember(entry);
    if (marker.status !== 0 && group.onError === 'Continue') {
      const failure = hookFailed(phase, group, failed(entry, marker.status), []);
      execution.warn(`${failure.message} onError is Continue: the run continues.`);
    }
    return true;
  };
  const result = await host.run({
    ...windowsHookCommand(windowsHookScript(id), group, token, first),
    env,
    ...(group.workingDirectory === undefined ? {} : { cwd: group.workingDirectory }),
    timeoutMs: Math.max(1, timeoutMs),
    signal: execution.signal,
    supervised: true,
    onLine: (stream, line) => {
      if (stream === 'stdout' && onMarker(line)) return;
      execution.output(id, line);
      lines.push(line);
      if (lines.length > LINES_KEPT) lines.shift();
    },
  });
  return { began, entry, insideEntry, status: result.status, timedOut: result.timedOut, lines };
}
