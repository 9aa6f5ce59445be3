import type { Finding } from '../diagnostics/index.ts';
import * as z from '../schema/zod.ts';

/** What useradd(8) of Debian, Ubuntu and RHEL accept. */
export const accountName = z
  .string()
  .max(32, 'longer than the 32 characters that Linux allows')
  .regex(/^[A-Za-z_][A-Za-z0-9_.-]*\$?$/, 'not a user or group name: letters, digits, "_", "-" and "."');

export const accountId = z.int().min(0).max(4294967294);

/** Accounts with the id of an earlier one. */
export function doubleIds<Key extends 'uid' | 'gid'>(
  list: readonly ({ readonly name: string } & { readonly [id in Key]?: number | undefined })[],
  key: Key,
): Finding[] {
  const first = new Map<number, string>();
  return list.flatMap((account, index): Finding[] => {
    const id = account[key];
    if (id === undefined) return [];
    const other = first.get(id);
    if (other === undefined) first.set(id, account.name);
    if (other === undefined || other === account.name) return [];
    const message = `${id} is already the ${key} of ${other}`;
    return [{ code: 'Duplicate', path: [index, key], message, hint: 'use a different one for each' }];
  });
}
