import { posix } from 'node:path';
import type { HookGroup } from '../document/model.ts';
import type { Host, QueryHost } from '../host/host.ts';

/**
 * How a hook group is put before its shell. Commands may hold secrets, so they are never arguments: each entry is a
 * file of mode 0600 below /run, and a driver reads them one after the other into the same shell (`.`), so that exports,
 * functions, variables and the working directory persist, and a message of the shell names the entry and its line.
 */
export interface HookScript {
  /** Holds the driver and the entries. */
  readonly directory: string;
  /** How far the group came; survives a kill and a power loss. */
  readonly state: string;
}

/** The descriptor on which the driver says where it is. Entries do not have it. */
export const MARKER_DESCRIPTOR = 3;

/** What the driver says on its descriptor. */
export type Marker =
  | { readonly kind: 'begin'; readonly entry: number }
  | { readonly kind: 'end'; readonly entry: number; readonly status: number }
  | { readonly kind: 'unsaved'; readonly entry: number };

/**
 * Arguments: directory, state file, token, first entry, last entry, onError. After each entry that counts as done it
 * saves its number, the exports and the working directory, durably, before the next begins: a group that is killed
 * repeats at most the entry it was killed in (at least once, each). What belongs to a run is not saved: its mark and
 * its phase. The state is written in the subshell's umask and by rename, whatever an
 * entry did to umask, PATH or noclobber.
 */
const DRIVER = `machineadm_directory=$1 machineadm_state=$2 machineadm_token=$3
machineadm_entry=$4 machineadm_last=$5 machineadm_on_error=$6
machineadm_mv=$(command -v mv) machineadm_sync=$(command -v sync)
shift 6
umask 022
if [ "$machineadm_entry" -gt 1 ] && [ -f "$machineadm_state" ]; then
  . "$machineadm_state"
  cd -- "\${MACHINEADM_RESUME_DIRECTORY:-/}" || cd /
  unset MACHINEADM_RESUME_DIRECTORY
fi
machineadm_save() (
  umask 077
  unset MACHINEADM_RUN MACHINEADM_PHASE
  export MACHINEADM_RESUME_DIRECTORY="$PWD"
  {
    printf '# machineadm hook %s %s\\n' "$machineadm_token" "$machineadm_entry" && export -p
  } >| "$machineadm_state.new" || exit 1
  "$machineadm_sync" "$machineadm_state.new" && "$machineadm_mv" -f "$machineadm_state.new" "$machineadm_state"
)
while [ "$machineadm_entry" -le "$machineadm_last" ]; do
  printf 'begin %s\\n' "$machineadm_entry" >&3
  . "$machineadm_directory/entry-$machineadm_entry" </dev/null 3>&-
  machineadm_status=$?
  if [ "$machineadm_status" -eq 0 ] || [ "$machineadm_on_error" = Continue ]; then
    machineadm_save 3>&- || printf 'unsaved %s\\n' "$machineadm_entry" >&3
  fi
  printf 'end %s %s\\n' "$machineadm_entry" "$machineadm_status" >&3
  if [ "$machineadm_status" -ne 0 ] && [ "$machineadm_on_error" = Fail ]; then
    exit "$machineadm_status"
  fi
  machineadm_entry=$((machineadm_entry + 1))
done
exit 0
`;

/** Where the script and the state of a hook group lie. */
export function hookScript(stepId: string): HookScript {
  return { directory: `/run/machineadm/${stepId}`, state: `/var/lib/machineadm/hooks/${stepId}` };
}

/** Writes the driver and the entries, 0600 in a directory 0700. */
export async function writeHookScript(host: Host, script: HookScript, group: HookGroup): Promise<void> {
  await host.makeDirectory(script.directory, 0o700);
  await host.makeDirectory(posix.dirname(script.state), 0o700);
  await host.writeFile({ path: `${script.directory}/driver`, content: DRIVER, mode: 0o600 });
  for (const [index, command] of group.commands.entries()) {
    await host.writeFile({ path: `${script.directory}/entry-${index + 1}`, content: `${command}\n`, mode: 0o600 });
  }
}

/** Removes the driver and the entries, the ones of an earlier, longer group included. */
export async function removeHookScript(host: Host, script: HookScript): Promise<void> {
  for (const name of (await host.list(script.directory)) ?? []) await host.removeFile(`${script.directory}/${name}`);
}

/** The arguments that make a shell run the entries from `first` (1-based) on. Nothing of the document is in them. */
export function driverArguments(script: HookScript, token: string, first: number, group: HookGroup): readonly string[] {
  const { directory, state } = script;
  return [`${directory}/driver`, directory, state, token, `${first}`, `${group.commands.length}`, group.onError];
}

/** Reads a line of the driver's descriptor; undefined for anything else. */
export function parseMarker(line: string): Marker | undefined {
  const [, kind, entry, status] = /^(begin|unsaved|end) (\d+)(?: (\d+))?$/.exec(line) ?? [];
  if (kind === 'begin' || kind === 'unsaved') return { kind, entry: Number(entry) };
  return kind === 'end' && status !== undefined ? { kind, entry: Number(entry), status: Number(status) } : undefined;
}

/** How many entries the state file says are done for this token; 0 for a state of another run, or none. */
export async function completedEntries(host: QueryHost, script: HookScript, token: string): Promise<number> {
  const [, written, entries] =
    /^# machineadm hook (\S+) (\d+)$/.exec(firstLine(await host.readText(script.state))) ?? [];
  return written === token ? Number(entries) : 0;
}

/**
 * Advances the state for an entry that ended its shell by `exit 0`: what it exported went with it, what was exported
 * before stays.
 */
export async function recordExit(host: Host, script: HookScript, token: string, entry: number): Promise<void> {
  const before = (await host.readText(script.state)) ?? '';
  const exports = firstLine(before).startsWith('# machineadm hook ') ? before.slice(before.indexOf('\n') + 1) : '';
  const content = `# machineadm hook ${token} ${entry}\n${exports}`;
  await host.writeFile({ path: script.state, content, mode: 0o600 });
  await host.sync(script.state);
}

/** Drops the exports, which may hold secrets, and leaves only that the group is done. */
export async function sealState(host: Host, script: HookScript, token: string, entries: number): Promise<void> {
  await host.writeFile({ path: script.state, content: `# machineadm hook ${token} ${entries}\n`, mode: 0o600 });
}

function firstLine(text: string | undefined): string {
  return text?.split('\n', 1)[0] ?? '';
}
