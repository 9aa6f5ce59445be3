import type { QueryHost } from './host.ts';

/** group(5), and where images with a read-only /usr keep the groups of their packages (nss-altfiles(5), OSTree). */
const FILES = ['/etc/group', '/usr/lib/group'];

/**
 * Numeric id of a group that this machine itself defines; undefined when there is none. A directory (SSSD, LDAP) is not
 * asked: whoever administers it must not grant access to files of root, and one that does not answer must not delay them.
 */
export async function localGroupId(host: Pick<QueryHost, 'readText'>, group: string): Promise<number | undefined> {
  for (const file of FILES) {
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
