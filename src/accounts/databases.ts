import { Secret } from '@machineadm/document/secrets/secret.ts';
import type { QueryHost } from '../host/seam/host.ts';

/** A line of passwd(5). */
export interface PasswdEntry {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly gecos: string;
  readonly home: string;
  readonly shell: string;
}

/** A line of group(5); `members` have it as a supplementary group. */
export interface GroupEntry {
  readonly name: string;
  readonly gid: number;
  readonly members: readonly string[];
}

/** A user's entry in shadow(5). */
export interface ShadowEntry {
  /** The second field: a hash, or marks such as `!` and `*`. */
  readonly password: Secret;
  /** The eighth field: days since 1970, or nothing. */
  readonly expires: string;
}

/**
 * The local accounts of this machine. Those of a directory (SSSD, LDAP) are not included: shadow-utils cannot change
 * them.
 */
export interface Accounts {
  readonly users: ReadonlyMap<string, PasswdEntry>;
  readonly groups: ReadonlyMap<string, GroupEntry>;
  /** Only of the requested users. */
  readonly shadow: ReadonlyMap<string, ShadowEntry>;
}

/** Reads the account files; from shadow(5) only the lines of these users. */
export async function readAccounts(host: QueryHost, shadowOf: readonly string[] = []): Promise<Accounts> {
  const group = fieldsOf(await host.readText('/etc/group'));
  const shadow = shadowOf.length === 0 ? [] : fieldsOf(await host.readText('/etc/shadow'));
  return {
    users: firstOf(parsePasswd(await host.readText('/etc/passwd'))),
    groups: firstOf(
      group.flatMap(([name = '', , gid, members = '']) =>
        isId(gid) ? [{ name, gid: Number(gid), members: members.split(',').filter((member) => member !== '') }] : [],
      ),
    ),
    shadow: new Map(
      shadow
        .filter(([name = '']) => shadowOf.includes(name))
        .map(([name = '', password = '', , , , , , expires = '']) => [
          name,
          { password: new Secret(password), expires },
        ]),
    ),
  };
}

/** Lines of passwd(5), as the file and getent(1) have them. */
export function parsePasswd(text: string | undefined): readonly PasswdEntry[] {
  return fieldsOf(text).flatMap(([name = '', , uid, gid, gecos = '', home = '', shell = '']) =>
    isId(uid) && isId(gid) ? [{ name, uid: Number(uid), gid: Number(gid), gecos, home, shell }] : [],
  );
}

function fieldsOf(text: string | undefined): readonly (readonly string[])[] {
  return (text ?? '')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(':'));
}

/** The first line of a name counts, as in getpwnam(3). */
function firstOf<Entry extends { readonly name: string }>(entries: readonly Entry[]): ReadonlyMap<string, Entry> {
  return new Map(entries.toReversed().map((entry) => [entry.name, entry]));
}

function isId(text: string | undefined): boolean {
  return text !== undefined && /^\d+$/.test(text);
}
