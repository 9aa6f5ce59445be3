import type { HookGroup } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { type PasswdEntry, parsePasswd, readAccounts } from '../../accounts/databases.ts';
import type { Command, QueryHost } from '../../host/seam/host.ts';
import { reasonOf } from '../../shell/errors.ts';
import type { UnmetRequirement } from '../../step/index.ts';

/** The user, directory and tools of a group that are missing before the first change, and that no earlier step provides. */
export async function missingPrerequisites(
  host: QueryHost,
  { phase, group, makesUser }: { readonly phase: string; readonly group: HookGroup; readonly makesUser: boolean },
): Promise<readonly UnmetRequirement[]> {
  const missing: UnmetRequirement[] = [];
  const add = (error: MachineadmError | undefined): void => {
    if (error === undefined) return;
    const { reason, message: what, remedy } = error;
    missing.push({ reason, what, remedy, scope: 'node' });
  };
  // Later hooks may use directories and mounts that earlier steps create.
  if (phase === 'early') add(await directoryMissing(host, phase, group));
  if (group.user === undefined) return missing;
  if (!makesUser && (await lookUp(host, group.user)) === undefined) add(noSuchUser(phase, group.user));
  if ((await host.which('setpriv')) === undefined) add(noSetpriv(phase));
  return missing;
}

/** Throws `HookFailed` if the working directory of the group is missing. */
export async function requireDirectory(host: QueryHost, phase: string, group: HookGroup): Promise<void> {
  const missing = await directoryMissing(host, phase, group);
  if (missing !== undefined) throw missing;
}

/** The user of the group; undefined for root. Throws `HookFailed` if it does not exist. */
export async function accountOf(host: QueryHost, phase: string, { user }: HookGroup): Promise<PasswdEntry | undefined> {
  if (user === undefined) return undefined;
  const account = await lookUp(host, user);
  if (account === undefined) throw noSuchUser(phase, user);
  return account;
}

/**
 * The command as this user, with the user's groups. setpriv(1) replaces itself by the shell, so signals reach the shell and
 * the exit status is the shell's.
 */
export function asUser(
  account: PasswdEntry | undefined,
  { program, args }: Pick<Command, 'program' | 'args'>,
): Pick<Command, 'program' | 'args'> {
  if (account === undefined) return { program, args };
  const identity = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--init-groups', '--inh-caps=-all'];
  return { program: 'setpriv', args: [...identity, '--', program, ...args] };
}

/** Of the machine itself, else of a directory that it asks (SSSD, LDAP). */
async function lookUp(host: QueryHost, user: string): Promise<PasswdEntry | undefined> {
  const own = (await readAccounts(host)).users.get(user);
  if (own !== undefined) return own;
  return parsePasswd((await host.query({ program: 'getent', args: ['passwd', user] })).stdout)[0];
}

async function directoryMissing(
  host: QueryHost,
  phase: string,
  { workingDirectory }: HookGroup,
): Promise<MachineadmError | undefined> {
  if (workingDirectory === undefined || (await host.list(workingDirectory)) !== undefined) return undefined;
  return new MachineadmError({
    reason: reasonOf(phase),
    summary: `${workingDirectory}, the working directory of host.hooks.${phase}, does not exist.`,
    remedy: `Create it before this run, or correct host.hooks.${phase}.workingDirectory.`,
  });
}

function noSuchUser(phase: string, user: string): MachineadmError {
  const made = phase === 'early' ? 'Users of the document are created after these hooks. ' : '';
  return new MachineadmError({
    reason: reasonOf(phase),
    summary: `The user ${user} of host.hooks.${phase} does not exist.`,
    remedy: `${made}Create ${user} ${phase === 'early' ? 'in the image' : 'under host.users'}, or correct host.hooks.${phase}.user.`,
  });
}

function noSetpriv(phase: string): MachineadmError {
  return new MachineadmError({
    reason: reasonOf(phase),
    summary: `setpriv, which runs host.hooks.${phase} as another user, is not installed.`,
    remedy: `Install util-linux, or remove host.hooks.${phase}.user.`,
  });
}
