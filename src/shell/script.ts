import { posix } from 'node:path';
import type { HookGroup } from '@machineadm/document/model/index.ts';
import { HOOKS_DIRECTORY, RUN_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { PasswdEntry } from '../accounts/databases.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import { readSealed, writeSealed } from '../host/secrets/sealed-files.ts';
import { DRIVER_FILES, possibleFunctionNames, type StateKind } from './driver.ts';

/**
 * How a hook group is put before its shell. Commands may hold secrets, so they are never arguments: each entry is a
 * file of mode 0600 below /run, and a driver reads them one after the other into the same shell (`.`), so that exports,
 * functions, variables and the working directory persist, and a message of the shell names the entry and its line.
 */
export interface HookScript {
  /** The directory of the driver and the entries. */
  readonly directory: string;
  /** The file that says how far the group came. It survives a kill and a power loss. */
  readonly state: string;
}

/** A message of the driver on its descriptor 3, which entries do not have. */
export type Marker =
  /** `save`: the shell waits until its state after this entry is durable. */
  | { readonly kind: 'begin' | 'save' | 'unsaved'; readonly entry: number }
  | { readonly kind: 'end'; readonly entry: number; readonly status: number }
  /** The state after this entry could not be restored as it was; the shell ends without having begun anything. */
  | { readonly kind: 'unrestored'; readonly entry: number };

/** Where the script and the state of a hook group are. Another user than root has a directory of its own. */
export function hookScript(stepId: string, user?: string): HookScript {
  const name = user === undefined ? stepId : `${stepId}${AS_USER}${user}`;
  return { directory: `${DIRECTORY}/${name}`, state: `${HOOKS_DIRECTORY}/${stepId}` };
}

const DIRECTORY = RUN_DIRECTORY;
const AS_USER = '-as-';

/**
 * Writes the driver and the entries, 0600 in a directory 0700. Another user than root owns its files and may pass through
 * the directory, which stays root's: nobody else can put anything there.
 *
 * @param continuing the commands of the group that continues in a shell like this one
 * @returns writes one more such file, and gives back its path
 */
export async function writeHookScript(
  host: Host,
  script: HookScript,
  group: HookGroup,
  account: PasswdEntry | undefined,
  continuing: readonly string[] = [],
): Promise<(name: string, content: string) => Promise<string>> {
  await host.makeDirectory(script.directory, account === undefined ? 0o700 : 0o711);
  await host.makeDirectory(posix.dirname(script.state), 0o700);
  const owner = account === undefined ? {} : { uid: account.uid, gid: account.gid };
  const put = async (name: string, content: string): Promise<string> => {
    const path = `${script.directory}/${name}`;
    await host.writeFile({ path, content, mode: 0o600, ...owner });
    return path;
  };
  for (const [name, content] of Object.entries(DRIVER_FILES)) await put(name, content);
  // In a script only the command itself may end the shell (set -e), and not the "." that reads it.
  const end = group.onError === 'Script' ? 'machineadm_status=$?\n' : '';
  for (const [index, command] of group.commands.entries()) await put(`entry-${index + 1}`, `${command}\n${end}`);
  // A shell that is not bash must be asked which of them are functions.
  if (group.shell === 'sh') await put('words', possibleFunctionNames([...group.commands, ...continuing]));
  return put;
}

/** Removes the driver and the entries, including those of killed runs, for every user. */
export async function removeHookScripts(host: Host, stepId: string): Promise<void> {
  for (const directory of (await host.list(DIRECTORY)) ?? []) {
    if (directory !== stepId && !directory.startsWith(`${stepId}${AS_USER}`)) continue;
    const path = `${DIRECTORY}/${directory}`;
    for (const name of (await host.list(path)) ?? []) await host.removeFile(`${path}/${name}`);
  }
}

/**
 * The arguments that make a shell run the entries from `first` (1-based) on: directory, state file, token, first entry, last
 * entry, onError, whether the state is restored first. Without a state file none is saved. Nothing of the document is in them.
 */
export function driverArguments(
  script: HookScript,
  token: string,
  first: number,
  restores: boolean,
  group: HookGroup,
): readonly string[] {
  const { directory } = script;
  const { commands, onError, user } = group;
  // The state file belongs to root. Another user cannot write it, and root must not read what another user wrote.
  const state = user === undefined ? script.state : '';
  const resuming = restores ? 'yes' : 'no';
  return [`${directory}/driver`, directory, state, token, `${first}`, `${commands.length}`, onError, resuming];
}

/** Reads a line of the driver's descriptor; undefined for anything else. */
export function parseMarker(line: string): Marker | undefined {
  const [, kind, entry, status] = /^(begin|save|unsaved|unrestored|end) (\d+)(?: (\d+))?$/.exec(line) ?? [];
  if (kind === 'begin' || kind === 'save' || kind === 'unsaved' || kind === 'unrestored')
    return { kind, entry: Number(entry) };
  return kind === 'end' && status !== undefined ? { kind, entry: Number(entry), status: Number(status) } : undefined;
}

/** How far a group came. */
export interface SavedState {
  /** How many entries are done. */
  readonly completed: number;
  readonly kind: StateKind;
}

const NOTHING_DONE: SavedState = { completed: 0, kind: 'fresh' };
const KINDS: readonly StateKind[] = ['whole', 'fresh', 'functions', 'jobs', 'directories', 'descriptors'];

/**
 * The state for this token; no entries are done where the state is missing or belongs to another run. Throws
 * `HostStepFailed` where it cannot be decrypted.
 */
export async function savedState(host: QueryHost, script: HookScript, token: string): Promise<SavedState> {
  const state = Buffer.from((await readSealed(host, script.state)) ?? '');
  const first = state.toString('utf8').split('\n', 1)[0] ?? '';
  const [, written, entries, word] = /^# machineadm hook (\S+) (\d+)(?: (\w+))?$/.exec(first) ?? [];
  if (written !== token) return NOTHING_DONE;
  // Without this word a state holds no more than exports and the working directory.
  return { completed: Number(entries), kind: KINDS.find((kind) => kind === word) ?? 'functions' };
}

/** Makes the state durable that the shell wrote down after an entry. */
export async function saveState(host: Host, { directory, state }: HookScript, entry: number): Promise<void> {
  const path = `${directory}/state-${entry}`;
  const content = await host.readFile(path);
  if (content === undefined) throw new Error(`${path} is missing`);
  // What the program between two groups needs of the shell must not be missing where the state says that its entry is done.
  const surroundings = await host.readFile(`${directory}/environment`);
  if (surroundings !== undefined) {
    await writeSealed(host, `${state}.environment`, surroundings);
    await host.sync(`${state}.environment`);
  }
  await writeSealed(host, state, content);
  await host.sync(state);
  await host.removeFile(path);
}

/** Puts the state where the shell that continues reads it, in memory. */
export async function openState(host: Host, { directory, state }: HookScript): Promise<void> {
  const content = await readSealed(host, state);
  if (content !== undefined) await host.writeFile({ path: `${directory}/before`, content, mode: 0o600 });
}

/**
 * Advances the state for an entry that ended its shell by `exit 0`: what it set went with it, what was set before stays.
 */
export async function recordExit(host: Host, script: HookScript, token: string, entry: number): Promise<void> {
  const { completed, kind } = await savedState(host, script, token);
  const before = completed === 0 ? undefined : await readSealed(host, script.state);
  await writeSealed(host, script.state, stateOf(`${token} ${entry} ${kind}`, before));
  await host.sync(script.state);
}

/** A state under another first line. Bytes: a value of the shell may be no UTF-8. */
export function stateOf(first: string, before: Uint8Array = new Uint8Array()): Uint8Array {
  return Buffer.concat([Buffer.from(`# machineadm hook ${first}\n`), before.subarray(before.indexOf(0x0a) + 1)]);
}

/** Removes the shell's state, which can contain secrets, and keeps only that the group is done. */
export async function sealState(host: Host, script: HookScript, token: string, entries: number): Promise<void> {
  await host.writeFile({ path: script.state, content: stateOf(`${token} ${entries} fresh`), mode: 0o600 });
}
