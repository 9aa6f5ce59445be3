import * as z from 'zod';
import { absolutePath, secret } from './fields.ts';

/** useradd(8): what a portable name may be. */
const accountName = z
  .string()
  .max(32, 'longer than the 32 characters that Linux allows')
  .regex(/^[a-z_][a-z0-9_-]*\$?$/, 'not a user or group name: lower-case letters, digits, "_" and "-"');

const sudoRule = z.string().regex(/^[^\n]+$/, 'a rule is one line and not empty');

const id = z.int().min(0).max(4294967294);

export const groups = z.array(
  z.strictObject({
    name: accountName,
    gid: id.optional(),
    system: z.boolean().optional(),
  }),
);

export const users = z.array(
  z.strictObject({
    name: accountName,
    uid: id.optional(),
    gecos: z
      .string()
      .regex(/^[^:\n]*$/, 'may hold neither ":" nor a line break')
      .optional(),
    primaryGroup: accountName.optional(),
    groups: z.array(accountName).optional(),
    home: absolutePath.optional(),
    shell: absolutePath.optional(),
    system: z.boolean().optional(),
    passwordHash: secret.optional(),
    locked: z.boolean().optional(),
    inactive: z.boolean().optional(),
    sudo: z.union([sudoRule, z.array(sudoRule).min(1)]).optional(),
    sshAuthorizedKeys: z
      .array(
        z
          .string()
          .regex(/^[^\n]*(?:ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+ [A-Za-z0-9+/]+=*(?: [^\n]*)?$/, 'not an SSH public key'),
      )
      .optional(),
  }),
);

export type GroupsSection = z.infer<typeof groups>;
export type UsersSection = z.infer<typeof users>;
