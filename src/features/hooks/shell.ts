import type { HookGroup } from '@machineadm/document/model/index.ts';
import type { PasswdEntry } from '../../accounts/databases.ts';
import { type Kill, killOf, killOfStatus, statusOfSignal } from '../../host/commands/killed.ts';
import type { Command, Host } from '../../host/seam/host.ts';
import type { StateKind } from '../../shell/driver.ts';
import { hookFailed } from '../../shell/errors.ts';
import { driverArguments, hookScript, openState, parseMarker, saveState } from '../../shell/script.ts';
import type { Execution } from '../../step/index.ts';
import { asUser } from './account.ts';
import type { HookEnvironment } from './inputs.ts';

/** The group that a shell belongs to. */
export interface RunningGroup {
  readonly id: string;
  readonly phase: string;
  readonly group: HookGroup;
  /** The user that it runs as, where that is not root. */
  readonly account?: PasswdEntry | undefined;
}

export interface NextShell {
  readonly token: string;
  readonly entry: number;
  /** How much of the state of earlier entries is restored in it. */
  readonly kind: StateKind;
  /** False where the entries before it ran in an earlier run. */
  readonly ranHere: boolean;
}

const LINES_KEPT = 10;

/** How a shell of a group ended. */
export interface EndedShell {
  readonly began: boolean;
  /** The entry that it was running, or completed last. */
  readonly entry: number;
  /** True when it ended before it could say how the entry ended: by `exit`, `set -e`, a syntax error or a signal. */
  readonly insideEntry: boolean;
  readonly status: number;
  /** Set where a signal ended the shell, or the program that it ran last. */
  readonly kill: Kill | undefined;
  readonly timedOut: boolean;
  /** The last lines it printed, redacted. */
  readonly lines: readonly string[];
}

/** Runs one shell of a group, from an entry on. */
export async function runShell(
  host: Host,
  { id, phase, group, account }: RunningGroup,
  env: HookEnvironment,
  next: NextShell,
  timeoutMs: number,
  execution: Execution,
): Promise<EndedShell> {
  const lines: string[] = [];
  let [began, entry, begunAt, insideEntry] = [false, next.entry, performance.now(), false];
  let saving = Promise.resolve();
  const onMarker = (line: string, answer: (text: string) => void): void => {
    const marker = parseMarker(line);
    if (marker === undefined || marker.kind === 'unrestored') return;
    if (marker.kind === 'save') {
      saving = saveState(host, hookScript(id), entry).then(
        () => answer('saved'),
        () => answer('unsaved'),
      );
      return;
    }
    began = true;
    entry = marker.entry;
    const name = `entry ${entry} of ${group.commands.length}`;
    if (marker.kind === 'unsaved') {
      execution.warn(
        `${id}: how far the hook came could not be saved after ${name}; a run after a kill would repeat it`,
      );
    } else if (marker.kind === 'begin') {
      [begunAt, insideEntry] = [performance.now(), true];
      execution.waitingFor(`${name} of the hook ${phase}`);
    } else if (marker.kind === 'end') {
      insideEntry = false;
      const seconds = ((performance.now() - begunAt) / 1000).toFixed(1);
      execution.output(id, `${name} ended with status ${marker.status} after ${seconds} s`);
      if (marker.status !== 0 && group.onError !== 'Fail') {
        const ended = { entry, status: marker.status, kill: killOfStatus(marker.status) };
        const failure = hookFailed(phase, group, ended, []);
        const why = group.onError === 'Continue' ? 'onError is Continue' : 'Its shell continues';
        execution.warn(`${failure.message} ${why}: the run continues.`);
      }
    }
  };
  const command: Command = {
    ...asUser(account, {
      program: group.shell,
      args: driverArguments(hookScript(id, group.user), next.token, next.entry, next.kind === 'whole', group),
    }),
    env,
    cwd: group.workingDirectory ?? '/',
    timeoutMs: Math.max(1, timeoutMs),
    signal: execution.signal,
    supervised: true,
    onDescriptorLine: onMarker,
    onLine: (_stream, line) => {
      execution.output(id, line);
      lines.push(line);
      if (lines.length > LINES_KEPT) lines.shift();
    },
  };
  if (next.kind === 'whole') await openState(host, hookScript(id));
  try {
    const { status, timedOut, outOfMemory } = await host.run(command);
    return { began, entry, insideEntry, status, kill: killOfStatus(status, outOfMemory), timedOut, lines };
  } catch (error) {
    const kill = killOf(error);
    if (kill === undefined) throw error;
    // Also the shell that a signal ends may have come to an entry, which then is the one that failed.
    return { began: true, entry, insideEntry, status: statusOfSignal(kill.signal), kill, timedOut: false, lines };
  } finally {
    await saving;
  }
}
