import { dirname } from 'node:path/posix';
import type { UserModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { authorizedKeysPath, sudoersPath, usualHome } from '@machineadm/document/ownership/paths.ts';
import type { Secret, SecretValue } from '@machineadm/document/secrets/secret.ts';
import { secretsIn } from '@machineadm/document/secrets/secret-values.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import { type Accounts, type PasswdEntry, readAccounts } from '../../accounts/databases.ts';
import { changeAccount, missingTools } from '../../accounts/tools.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { Resource } from '../../host/seam/resource.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import { EMPTY_RECORD, type UnmetRequirement } from '../../step/index.ts';
import { namedIn } from '../../step/named-in.ts';
import { inspectKeys, writeKeys } from './authorized-keys.ts';
import { changesOf, NEVER_LOGGED_IN, programsOf, type UserActual, type UserPayload } from './changes.ts';
import { passwordChange } from './password.ts';
import { SUDOERS_MODE, sudoersText, sudoObstacles } from './sudoers.ts';

export interface UsersDesired {
  readonly users: readonly UserModel[];
  /** An early hook may still install or create what is missing. */
  readonly afterHooks: boolean;
}

/**
 * Users of the document: created when they are not there; else brought up to it aspect by aspect, but for the user id
 * and the home directory, which are never changed: files would change hands or be left behind. Groups that the document
 * does not name, other lines of authorized_keys and other users stay as they are.
 */
export const users: FeatureStep<UsersDesired, readonly UserActual[], UserPayload> = {
  id: 'users',
  section: 'host.users',
  stays: ({ host }, { resources }) =>
    resources
      .filter(
        ({ kind, name, isMade }) => kind === 'user' && isMade && !namedIn(host, 'user', host.users).includes(name),
      )
      .map(({ resource, name }) => [resource, `the user ${name} stays, with its files: absent: true removes it`]),
  /** The account of a user stays; its rule for sudo and its keys go with the user. */
  isRequested({ host }, { kind, name }) {
    const users = namedIn(host, 'user', host.users);
    if (kind === 'user') return users.includes(name);
    if (kind !== 'path') return true;
    const homes = [...users.map(usualHome), ...host.users.flatMap(({ home }) => home ?? [])];
    const keys = homes.map(authorizedKeysPath);
    const isOfUser = /^\/etc\/sudoers\.d\/|\/\.ssh(?:\/authorized_keys)?$/.test(name);
    const wanted = [...users.map(sudoersPath), ...keys, ...keys.map((path) => dirname(path))];
    return !isOfUser || wanted.includes(name);
  },

  desired({ host }) {
    return host.users.length === 0 ? undefined : { users: host.users, afterHooks: host.hooks.early !== undefined };
  },

  async preflight(host, desired) {
    if (desired.afterHooks) return [];
    const obstacles = [...(await conflictsOf(host, desired.users)), ...(await sudoObstacles(host, desired.users))];
    if (obstacles.length > 0) return obstacles;
    const changes = users.plan(desired, await users.inspect(host, desired, EMPTY_RECORD));
    return await missingTools(host, new Set(changes.flatMap(({ payload }) => programsOf(payload))));
  },

  async owns(host, { users }) {
    const { users: present } = await readAccounts(host);
    return users.flatMap(({ name, sshAuthorizedKeys, at }, index) => {
      const home = sshAuthorizedKeys === undefined ? undefined : present.get(name)?.home;
      if (home === undefined) return [];
      const field = ['host', 'users', at ?? index, 'sshAuthorizedKeys'];
      return [{ field, path: authorizedKeysPath(home), kind: 'lines' as const }];
    });
  },

  secrets: ({ users }) => secretsIn(users),

  async inspect(host, desired) {
    refuse(await conflictsOf(host, desired.users));
    const accounts = await readAccounts(
      host,
      desired.users.map(({ name }) => name),
    );
    const actual: UserActual[] = [];
    for (const user of desired.users) actual.push(await inspectUser(host, user, accounts));
    return actual;
  },

  plan(desired, actual) {
    return desired.users.flatMap((user, index) => {
      const now = actual[index];
      return now === undefined ? [] : changesOf(user, now);
    });
  },

  async apply(host, { payload }, execution) {
    const { user } = payload;
    const { signal } = execution;
    switch (payload.kind) {
      case 'account':
        return await changeAccount(
          host,
          { ...payload.command, signal, changes: await changedBy(host, user) },
          `the user ${user.name} was not ${payload.past}`,
        );
      case 'home': {
        const { home, uid, gid } = await entryOf(host, user);
        const args = ['-d', '-m', '0700', '-o', String(uid), '-g', String(gid), '--', home];
        return await changeAccount(
          host,
          { program: 'install', args, signal, changes: [`path:${home}`] },
          `${home} was not created`,
        );
      }
      case 'password': {
        const hash = user.passwordHash === undefined ? undefined : await host.secret(user.passwordHash);
        const { shadow } = await readAccounts(host, [user.name]);
        const change = passwordChange(user, hash, shadow.get(user.name)?.password ?? NEVER_LOGGED_IN);
        if (change.kind !== 'set') return;
        // Passed on standard input: every user can read arguments (proc_pid_cmdline(5)).
        const changes = [`user:${user.name}`] as const;
        const command = { program: 'chpasswd', args: ['-e'], input: `${user.name}:${change.field}\n`, signal, changes };
        return await changeAccount(host, command, `the password of ${user.name} was not set`);
      }
      case 'sudo': {
        refuse(await sudoObstacles(host, [user]));
        const [path, content] = [sudoersPath(user.name), sudoersText(user)];
        return content === undefined
          ? await host.removeFile(path)
          : await host.writeFile({ path, content, mode: SUDOERS_MODE });
      }
      case 'keys':
        return await writeKeys(host, await entryOf(host, user), user.sshAuthorizedKeys ?? [], execution);
    }
  },

  async settled(host, desired, execution) {
    const { users: present } = await readAccounts(host);
    await host.sync('/etc');
    const withKeys = desired.users.filter(({ sshAuthorizedKeys }) => sshAuthorizedKeys !== undefined);
    const homes = withKeys.flatMap(({ name }) => present.get(name)?.home ?? []);
    for (const home of homes) await host.sync(home);
    if ((await host.stat('/sys/fs/selinux/enforce')) === undefined) return;
    if (homes.length === 0 || (await host.which('restorecon')) === undefined) return;
    const paths = homes.flatMap((home) => [`${home}/.ssh`, authorizedKeysPath(home)]);
    const args = ['-i', '--', ...paths];
    const { status, stderr } = await host.run({ program: 'restorecon', args, signal: execution.signal });
    if (status !== 0) execution.warn(`restorecon: ${lastLine(stderr)}`);
  },
};

async function inspectUser(host: QueryHost, user: UserModel, accounts: Accounts): Promise<UserActual> {
  const entry = accounts.users.get(user.name);
  const shadow = accounts.shadow.get(user.name);
  const sudoers = await host.stat(sudoersPath(user.name));
  const primary = user.primaryGroup;
  return {
    entry,
    homeExists: entry !== undefined && (await host.stat(entry.home)) !== undefined,
    primaryGroupId: primary === undefined ? undefined : await host.groupId(primary),
    ownGroupExists: (await host.groupId(user.name)) !== undefined,
    missingGroups: user.groups.filter((group) => accounts.groups.get(group)?.members.includes(user.name) !== true),
    password: await passwordState(host, user, shadow?.password ?? NEVER_LOGGED_IN),
    expires: shadow?.expires ?? '',
    sudoers: sudoers === undefined ? undefined : { ...sudoers, text: await host.readText(sudoersPath(user.name)) },
    keys:
      user.sshAuthorizedKeys === undefined ? { kind: 'same' } : await inspectKeys(host, entry, user.sshAuthorizedKeys),
  };
}

async function passwordState(host: QueryHost, user: UserModel, current: Secret): Promise<UserActual['password']> {
  if (user.passwordHash === undefined) return passwordChange(user, undefined, current).kind;
  const hash = await secretIfThere(host, user.passwordHash);
  return hash === undefined ? 'unknown' : passwordChange(user, hash, current).kind;
}

/** An image bake has no secrets; where one is missed, `apply` says so. */
async function secretIfThere(host: QueryHost, value: SecretValue): Promise<Secret | undefined> {
  try {
    return await host.secret(value);
  } catch (error) {
    if (error instanceof MachineadmError && error.reason === 'SecretUnavailable') return undefined;
    throw error;
  }
}

/** useradd(8) also makes the user's group, and the home with what /etc/skel holds. */
async function changedBy(host: QueryHost, { name, home }: UserModel): Promise<readonly Resource[]> {
  if ((await readAccounts(host)).users.has(name)) return [`user:${name}`];
  const at = home ?? usualHome(name);
  const copied = async (directory: string): Promise<readonly Resource[]> => {
    const found = (await host.list(`/etc/skel${directory}`).catch(() => undefined)) ?? [];
    const below = found.map((entry) => `${directory}/${entry}`);
    return (
      await Promise.all(below.map(async (path) => [`path:${at}${path}` as const, ...(await copied(path))]))
    ).flat();
  };
  return [`group:${name}`, `user:${name}`, `path:${at}`, ...(await copied(''))];
}

async function entryOf(host: QueryHost, user: UserModel): Promise<PasswdEntry> {
  const entry = (await readAccounts(host)).users.get(user.name);
  if (entry !== undefined) return entry;
  throw new MachineadmError({
    reason: 'AccountNotChanged',
    summary: `the user ${user.name} is not in /etc/passwd, although it was created`,
    remedy: 'Find out what else changes the users of this machine, then run again.',
  });
}

/** What the document wants and this step never does: renumber, move, or change what a directory holds. */
async function conflictsOf(host: QueryHost, wanted: readonly UserModel[]): Promise<readonly UnmetRequirement[]> {
  const { users: present, groups } = await readAccounts(host);
  const conflicts: UnmetRequirement[] = [];
  const add = (what: string, remedy: string): void => {
    conflicts.push({ reason: 'AccountConflict', what, remedy });
  };
  for (const { name, uid, home, groups: supplementary } of wanted) {
    const entry = present.get(name);
    if (entry === undefined) {
      if ((await host.userId(name)) !== undefined) {
        add(`the user ${name} comes from a directory and not from /etc/passwd`, `Remove ${name} from host.users.`);
      }
      const holder = [...present.values()].find((other) => other.uid === uid);
      if (uid !== undefined && holder !== undefined) {
        add(
          `the user ${name} cannot get the id ${uid}: it is the id of ${holder.name}`,
          'Correct the uid under host.users.',
        );
      }
    } else {
      if (uid !== undefined && entry.uid !== uid) {
        add(
          `the user ${name} has the id ${entry.uid}, and the document wants ${uid}`,
          'Correct the uid under host.users, or renumber the user manually together with the files that belong to it.',
        );
      }
      if (home !== undefined && entry.home !== home) {
        add(
          `the user ${name} has the home directory ${entry.home}, and the document wants ${home}`,
          'Correct home under host.users, or move the directory manually ("usermod --move-home").',
        );
      }
    }
    for (const group of supplementary) {
      if (groups.has(group) || (await host.groupId(group)) === undefined) continue;
      add(
        `the group ${group} comes from a directory, where ${name} cannot be added`,
        `Add ${name} to ${group} in the directory.`,
      );
    }
  }
  return conflicts;
}

function refuse([first, ...others]: readonly UnmetRequirement[]): void {
  if (first === undefined) return;
  throw new MachineadmError({
    reason: first.reason,
    summary: [first, ...others].map(({ what }) => what).join('; '),
    remedy: first.remedy,
    evidence: others.map(({ reason, what }) => ({ source: reason, text: what })),
  });
}
