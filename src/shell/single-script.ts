import { randomUUID } from 'node:crypto';
import type { HookGroup, Model } from '@machineadm/document/model/index.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import { RUN_MARK } from '../host/linux/environment.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import { readSealed, readSealedText, writeSealed } from '../host/secrets/sealed-files.ts';
import type { ShellEnvironment } from '../kubernetes/shell-environment.ts';
import type { Execution } from '../step/index.ts';
import { hookStateLost, lost } from './errors.ts';
import { type HookScript, hookScript, savedState, stateOf } from './script.ts';

/**
 * `host.hooks.singleScript`: beforeBootstrap leaves its shell in its state file, as after every entry, and what a program
 * can have of it beside that file. afterBootstrap begins with that state. Both are removed after a run that succeeded.
 */
export interface InScript {
  /** The commands of the group that continues in the shell of this one. */
  readonly continuing?: readonly string[];
  /** True where the group continues in the shell of the one before. */
  readonly continues?: boolean;
}

/** When a group runs. */
export type HookPhase = 'early' | 'beforeBootstrap' | 'afterBootstrap';

const BEFORE = hookScript('hooks-before-bootstrap');
const ENVIRONMENT = `${BEFORE.state}.environment`;
/** Of the shell that printed them, and of its run. */
const NOT_INHERITED = new Set(['_', 'PWD', 'OLDPWD', 'SHLVL', RUN_MARK, 'MACHINEADM_PHASE']);

/** The environment at the end of `beforeBootstrap`; undefined if none is saved. */
export async function scriptEnvironment(host: QueryHost): Promise<ShellEnvironment | undefined> {
  const [cwd, umask, ...variables] = (await readSealedText(host, ENVIRONMENT))?.split('\0') ?? [];
  if (cwd === undefined || umask === undefined) return undefined;
  const env = variables.flatMap((text): [string, string][] => {
    const [name, ...rest] = text.split('=');
    return name === undefined || name === '' || NOT_INHERITED.has(name) ? [] : [[name, rest.join('=')]];
  });
  return { env: Object.fromEntries(env), cwd, umask };
}

/** Removes what a script left for its later parts, which may hold secrets. */
export async function wipeScript(host: Host): Promise<void> {
  for (const path of [BEFORE.state, ENVIRONMENT]) await host.removeFile(path);
}

/** What `host.hooks.singleScript` means for a group. */
export function inScript(phase: HookPhase, { host: { hooks } }: Model): InScript {
  const isScript = phase !== 'early' && hooks[phase]?.onError === 'Script';
  const continuing = isScript && phase === 'beforeBootstrap' ? (hooks.afterBootstrap?.commands ?? []) : [];
  return { continuing, continues: isScript && phase === 'afterBootstrap' && hooks.beforeBootstrap !== undefined };
}

/** The shell that a group of a script continues in. Throws `AfterBootstrapHookFailed` where it is not there any more. */
export async function scriptBefore(
  host: Host,
  script: HookScript,
  { phase, group, continues }: InScript & { readonly phase: HookPhase; readonly group: HookGroup },
): Promise<{ readonly token: string; readonly completed: 0; readonly kind: 'whole' } | undefined> {
  if (continues !== true) return undefined;
  const token = randomUUID();
  const before = await readSealed(host, BEFORE.state);
  if (before === undefined) throw hookStateLost(phase, group, 1, 'what beforeBootstrap left of it is gone');
  await writeSealed(host, script.state, stateOf(`${token} 0 whole`, before));
  return { token, completed: 0, kind: 'whole' };
}

/** The state of `beforeBootstrap`, as far as later parts of its script need it. */
export async function requireShared(
  host: Host,
  id: StepId,
  token: string,
  group: HookGroup,
  execution: Execution,
): Promise<void> {
  const { kind } = await savedState(host, hookScript(id), token);
  if (kind === 'functions') throw hookStateLost('afterBootstrap', group, 1, lost(kind));
  if (kind === 'whole' || kind === 'fresh') return;
  execution.warn(`${id}: the bootstrapper and afterBootstrap do not get all of its shell: ${lost(kind)}`);
}
