import type { UserModel } from '@machineadm/document/model/index.ts';
import { sudoersPath } from '@machineadm/document/ownership/paths.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import type { PasswdEntry } from '../../accounts/databases.ts';
import type { FileStat } from '../../host/seam/host.ts';
import type { Change } from '../../step/index.ts';
import type { KeysActual } from './authorized-keys.ts';
import type { PasswordChange } from './password.ts';
import { SUDOERS_MODE, sudoersText } from './sudoers.ts';

/** The initial shadow(5) entry of a user created by useradd: locked, and without a password. */
export const NEVER_LOGGED_IN = new Secret('!');

/** Days since 1970: long past. Zero has a special meaning (shadow(5)). */
const EXPIRED = '1';

export interface UserActual {
  /** undefined: no such user. */
  readonly entry: PasswdEntry | undefined;
  readonly homeExists: boolean;
  readonly primaryGroupId: number | undefined;
  /** A group with the user's own name exists. */
  readonly ownGroupExists: boolean;
  /** Supplementary groups that the user is missing in. */
  readonly missingGroups: readonly string[];
  /** `unknown`: the hash is not known before the run. */
  readonly password: PasswordChange['kind'] | 'unknown';
  readonly expires: string;
  readonly sudoers: (FileStat & { readonly text: string | undefined }) | undefined;
  readonly keys: KeysActual;
}

export type UserPayload = { readonly user: UserModel } & (
  | {
      readonly kind: 'account';
      readonly past: 'created' | 'changed';
      readonly command: { readonly program: 'useradd' | 'usermod'; readonly args: readonly string[] };
    }
  | { readonly kind: 'home' }
  | { readonly kind: 'password' }
  | { readonly kind: 'sudo' }
  | { readonly kind: 'keys' }
);

/** The programs needed for a change. */
export function programsOf(payload: UserPayload): readonly string[] {
  switch (payload.kind) {
    case 'account':
      return [payload.command.program];
    case 'home':
      return ['install'];
    case 'password':
      return ['chpasswd'];
    case 'keys':
      return ['setpriv'];
    case 'sudo':
      return [];
  }
}

/** Each difference of a user, as a separate change. The initial properties of a new user are not differences. */
export function changesOf(user: UserModel, actual: UserActual): Change<UserPayload>[] {
  const changes: Change<UserPayload>[] = [];
  const { name } = user;
  const add = (
    aspect: string,
    summary: string,
    payload: UserPayload,
    more: Partial<Change<UserPayload>> = {},
  ): void => {
    const id = aspect === '' ? `users/${name}` : `users/${name}/${aspect}`;
    changes.push({ id, summary, scope: 'base', ineffective: 'AccountNotChanged', payload, ...more });
  };
  const modify = (aspect: string, summary: string, ...args: readonly string[]): void => {
    const command = { program: 'usermod', args: [...args, '--', name] } as const;
    add(aspect, `${name}: ${summary}`, { kind: 'account', past: 'changed', user, command });
  };

  const { entry } = actual;
  if (entry === undefined) {
    const command = { program: 'useradd', args: creation(user, actual.ownGroupExists) } as const;
    add(
      '',
      `create the user ${describe(user)}`,
      { kind: 'account', past: 'created', user, command },
      { action: 'add' },
    );
  } else {
    const { shell, gecos, primaryGroup } = user;
    if (shell !== undefined && shell !== entry.shell) {
      modify('shell', `shell ${entry.shell || 'none'} -> ${shell}`, '--shell', shell);
    }
    if (gecos !== undefined && gecos !== entry.gecos) {
      modify('gecos', `full name "${entry.gecos}" -> "${gecos}"`, '--comment', gecos);
    }
    if (primaryGroup !== undefined && actual.primaryGroupId !== entry.gid) {
      modify('primary-group', `primary group ${entry.gid} -> ${primaryGroup}`, '--gid', primaryGroup);
    }
    if (actual.missingGroups.length > 0) {
      const list = actual.missingGroups.join(',');
      modify('groups', `add to ${list}`, '--append', '--groups', list);
    }
    if (wantsHome(user) && !actual.homeExists) {
      add('home', `${name}: create the home directory ${entry.home}`, { kind: 'home', user });
    }
  }

  switch (actual.password) {
    case 'lock':
      modify('lock', 'lock the password', '--lock');
      break;
    case 'unlock':
      modify('unlock', 'unlock the password', '--unlock');
      break;
    case 'set':
    case 'unknown': {
      const unknown = actual.password === 'unknown';
      const source = user.passwordHash?.name;
      const what = source === undefined ? 'none, but not locked' : `from ${source}${user.locked ? ', locked' : ''}`;
      add(
        'password',
        `${name}: password ${what}`,
        { kind: 'password', user },
        {
          scope: source === undefined ? 'base' : 'node',
          ...(unknown ? { knownAfter: 'secrets' } : {}),
        },
      );
      break;
    }
    case 'none':
  }

  if (user.inactive && actual.expires !== EXPIRED) modify('expiry', 'expire the account', '--expiredate', EXPIRED);
  // Only the marker of `inactive` is reverted; a date set by an administrator stays.
  if (!user.inactive && actual.expires === EXPIRED) modify('expiry', 'let the account live', '--expiredate', '');

  const sudoers = sudoersText(user);
  if (sudoers === undefined ? actual.sudoers !== undefined : !holds(actual.sudoers, sudoers)) {
    const what = sudoers === undefined ? 'remove' : actual.sudoers === undefined ? 'write' : 'update';
    add('sudo', `${what} ${sudoersPath(name)}`, { kind: 'sudo', user });
  }
  if (actual.keys.kind !== 'same') {
    const how = actual.keys.kind === 'different' ? actual.keys.how : actual.keys.what;
    add(
      'authorized-keys',
      `${name}: authorized_keys: ${how}`,
      { kind: 'keys', user },
      {
        ineffective: 'AuthorizedKeysNotWritten',
      },
    );
  }
  return changes;
}

function holds(sudoers: UserActual['sudoers'], text: string): boolean {
  return (
    sudoers?.type === 'file' &&
    sudoers.text === text &&
    sudoers.mode === SUDOERS_MODE &&
    sudoers.uid === 0 &&
    sudoers.gid === 0
  );
}

/** System users have no home directory unless one is given, as with useradd(8). */
function wantsHome({ system, home }: UserModel): boolean {
  return !system || home !== undefined;
}

/** useradd creates a group with the user's own name, and refuses if it exists: then that becomes the primary group. */
function creation(user: UserModel, ownGroupExists: boolean): readonly string[] {
  const group = user.primaryGroup ?? (ownGroupExists ? user.name : undefined);
  return [
    ...(user.uid === undefined ? [] : ['--uid', String(user.uid)]),
    ...(group === undefined ? ['--user-group'] : ['--gid', group]),
    ...(user.groups.length === 0 ? [] : ['--groups', user.groups.join(',')]),
    ...(user.home === undefined ? [] : ['--home-dir', user.home]),
    wantsHome(user) ? '--create-home' : '--no-create-home',
    ...(user.shell === undefined ? [] : ['--shell', user.shell]),
    ...(user.gecos === undefined ? [] : ['--comment', user.gecos]),
    ...(user.system ? ['--system'] : []),
    '--',
    user.name,
  ];
}

function describe(user: UserModel): string {
  const details = [
    ...(user.uid === undefined ? [] : [`id ${user.uid}`]),
    ...(user.groups.length === 0 ? [] : [`groups ${user.groups.join(',')}`]),
  ];
  return details.length === 0 ? user.name : `${user.name} (${details.join(', ')})`;
}
