import type { QueryHost } from '../seam/host.ts';
import { runCommand } from './commands.ts';
import { readText, which } from './read.ts';

/** The file with the accounts, and getent(1)'s name for it. */
type Database = { readonly file: string; readonly name: 'passwd' | 'group' };

const USERS: Database = { file: '/etc/passwd', name: 'passwd' };
const GROUPS: Database = { file: '/etc/group', name: 'group' };

/** Numeric id of a user; a decimal number is returned as it is. Undefined when the user does not exist. */
export function userId(user: string): Promise<number | undefined> {
  return idOf(user, USERS);
}

/** Numeric id of a group; a decimal number is returned as it is. Undefined when the group does not exist. */
export function groupId(group: string): Promise<number | undefined> {
  return idOf(group, GROUPS);
}

async function idOf(account: string, database: Database): Promise<number | undefined> {
  if (/^\d+$/.test(account)) return Number(account);
  if (account === '' || account.startsWith('-')) return undefined;
  const local = idIn((await readText(database.file)) ?? '', account);
  if (local !== undefined) return local;
  // Accounts of a directory (SSSD, LDAP, systemd-homed) are only available through the name service.
  if ((await which('getent')) === undefined) return undefined;
  const result = await runCommand({ program: 'getent', args: [database.name, account], timeoutMs: 30_000 });
  return result.status === 0 ? idIn(result.stdout, account) : undefined;
}

/** group(5), and the location of packages' groups in images with a read-only /usr (nss-altfiles(5), OSTree). */
export const GROUP_FILES = ['/etc/group', '/usr/lib/group'];

/**
 * Numeric id of a group that this machine itself defines; undefined when there is none. Directories (SSSD, LDAP) are
 * not queried: their administrators must not grant access to files of root, and one that does not answer must not cause
 * a delay.
 */
export async function localGroupId(host: Pick<QueryHost, 'readText'>, group: string): Promise<number | undefined> {
  for (const file of GROUP_FILES) {
    const id = idIn((await host.readText(file)) ?? '', group);
    if (id !== undefined) return id;
  }
  return undefined;
}

/** The id of an account in the lines of passwd(5) or group(5): both have the name first and the id third. */
export function idIn(lines: string, account: string): number | undefined {
  const fields = lines
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name]) => name === account);
  const id = fields?.[2];
  return id !== undefined && /^\d+$/.test(id) ? Number(id) : undefined;
}
