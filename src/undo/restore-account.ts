import { readAccounts } from '../accounts/databases.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import { type Fingerprint, readCopy, whyCopyUnreadable } from '../prior-state/copies.ts';
import { isOurs, markOf, stateOf } from '../prior-state/state.ts';
import type { Marks, PriorState, UserState } from '../step/recorded-state.ts';
import { UNKNOWN } from '../step/recorded-state.ts';
import { type ResetAction, runOrFail } from '../step/reset-action.ts';

/** Removes a user that machineadm made; one that existed before gets back the attributes that machineadm changed. */
export async function restoreUser(
  host: QueryHost,
  name: string,
  was: PriorState,
  marks: Marks,
  fingerprint: Fingerprint,
): Promise<readonly ResetAction[]> {
  const resource = `user:${name}` as const;
  const now = await stateOf(host, resource, fingerprint);
  if (now?.is !== 'user') {
    if (was?.is !== 'user' || was.uid === undefined || !isOurs(marks, null)) return [];
    const perform: ResetAction['perform'] = (changing, signal) => createAgain(changing, name, was, fingerprint, signal);
    return [{ summary: `create the user ${name} again`, resource, unsettles: [[resource, UNKNOWN]], perform }];
  }
  if (was === null) {
    const perform: ResetAction['perform'] = async (changing, signal) => {
      if ((await readAccounts(changing)).users.has(name)) await runOrFail(changing, signal, userdel(name));
    };
    return [{ summary: `remove the user ${name}`, resource, unsettles: [[resource, UNKNOWN]], perform }];
  }
  if (was.is !== 'user' || markOf(was) === markOf(now)) return [];
  if (!isOurs(marks, now)) {
    return [{ summary: `leave the user ${name}: it was changed since machineadm changed it` }];
  }
  const lost = was.password === now.password ? undefined : await whyCopyUnreadable(host, was.password);
  const password = `leave the password of the user ${name}: ${lost}`;
  const left: readonly ResetAction[] = lost === undefined ? [] : [{ summary: password, keeps: was.password }];
  const what = differences(was, now).filter((word) => lost === undefined || word !== DIFFERENCES.password);
  if (what.length === 0) return left;
  return [
    ...left,
    {
      summary: `restore the user ${name}: ${what.join(', ')}`,
      resource,
      unsettles: [[resource, UNKNOWN]],
      perform: (changing, signal) => changeBack(changing, name, was, now, signal),
    },
  ];
}

/**
 * Removes a group that machineadm made, unless it became the primary group of a remaining user; a group that machineadm
 * removed is created again with its members.
 */
export async function restoreGroup(
  host: QueryHost,
  name: string,
  was: PriorState,
  marks: Marks,
): Promise<readonly ResetAction[]> {
  const isThere = (await readAccounts(host)).groups.has(name);
  if (was?.is === 'group' && was.gid !== undefined && !isThere && isOurs(marks, null)) {
    const { gid, members = [] } = was;
    const perform: ResetAction['perform'] = async (changing, signal) => {
      const add = { program: 'groupadd', args: ['--gid', String(gid), '--', name] };
      if (!(await readAccounts(changing)).groups.has(name)) await runOrFail(changing, signal, add);
      const { users } = await readAccounts(changing);
      for (const member of members.filter((one) => users.has(one))) {
        await runOrFail(changing, signal, { program: 'usermod', args: ['--append', '--groups', name, '--', member] });
      }
    };
    const resource = `group:${name}` as const;
    return [{ summary: `create the group ${name} again`, resource, unsettles: [[resource, UNKNOWN]], perform }];
  }
  if (was !== null || !isThere) return [];
  const perform: ResetAction['perform'] = async (changing, signal) => {
    // userdel(8) also removes the user's own group (USERGROUPS_ENAB).
    if (!(await readAccounts(changing)).groups.has(name)) return;
    await runOrFail(changing, signal, { program: 'groupdel', args: ['--', name] });
  };
  return [{ summary: `remove the group ${name}`, resource: `group:${name}`, perform }];
}

/** Its home is another resource: files in it that are not ours stay. */
function userdel(name: string) {
  return { program: 'userdel', args: ['--', name] };
}

const DIFFERENCES = {
  gid: 'primary group',
  gecos: 'full name',
  shell: 'shell',
  groups: 'groups',
  expires: 'expiry',
  password: 'password',
};

function differences(was: UserState, now: UserState): readonly string[] {
  return Object.entries(DIFFERENCES)
    .filter(([key]) => String(was[key as keyof UserState]) !== String(now[key as keyof UserState]))
    .map(([, word]) => word);
}

async function changeBack(
  host: Host,
  name: string,
  was: UserState,
  now: UserState,
  signal: AbortSignal,
): Promise<void> {
  const modify = async (...args: readonly string[]) =>
    await runOrFail(host, signal, { program: 'usermod', args: [...args, '--', name] });
  if (was.shell !== now.shell) await modify('--shell', was.shell);
  if (was.gecos !== now.gecos) await modify('--comment', was.gecos);
  if (was.gid !== now.gid) await modify('--gid', String(was.gid));
  if (was.expires !== now.expires) await modify('--expiredate', was.expires);
  const { groups } = await readAccounts(host);
  for (const group of now.groups.filter((one) => !was.groups.includes(one))) {
    if (groups.has(group)) await runOrFail(host, signal, { program: 'gpasswd', args: ['--delete', name, group] });
  }
  const lost = was.groups.filter((one) => !now.groups.includes(one) && groups.has(one));
  if (lost.length > 0) await modify('--append', '--groups', lost.join(','));
  if (was.password === now.password) return;
  if ((await whyCopyUnreadable(host, was.password)) !== undefined) return;
  const copy = await readCopy(host, was.password);
  const field = copy && Buffer.from(copy).toString('utf8');
  if (field === '') await modify('--password', '');
  else if (field !== undefined) {
    await runOrFail(host, signal, { program: 'chpasswd', args: ['-e'], input: `${name}:${field}\n` });
  }
}

/** With the id and the home that it had; what is in the home never went. */
async function createAgain(
  host: Host,
  name: string,
  was: UserState,
  fingerprint: Fingerprint,
  signal: AbortSignal,
): Promise<void> {
  const { uid = 0, home = '', gid, shell, gecos } = was;
  if (!(await readAccounts(host)).users.has(name)) {
    const ids = ['--uid', String(uid), '--gid', String(gid), '--home-dir', home, '--no-create-home'];
    const args = [...ids, '--shell', shell, '--comment', gecos, '--', name];
    await runOrFail(host, signal, { program: 'useradd', args });
  }
  const now = await stateOf(host, `user:${name}`, fingerprint);
  if (now?.is === 'user') await changeBack(host, name, was, now, signal);
}
