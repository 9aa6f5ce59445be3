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
    system: z.boolean().optional().describe('Take the id from the range of system groups.'),
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
    primaryGroup: accountName.optional().describe('Created when it does not exist.'),
    groups: z.array(accountName).optional().describe('Supplementary groups; created when they do not exist.'),
    home: absolutePath.optional(),
    shell: absolutePath.optional(),
    system: z.boolean().optional(),
    passwordHash: secret.optional().describe('As crypt(5) makes it: "$6$…", "$y$…".'),
    locked: z.boolean().optional().describe('Bars the password; SSH keys still work. Default true.'),
    inactive: z.boolean().optional().describe('Expire the account: nobody can use it. Default false.'),
    sudo: z
      .union([sudoRule, z.array(sudoRule).min(1)])
      .optional()
      .describe('What stands behind the name in sudoers: "ALL=(ALL) NOPASSWD:ALL". Checked by visudo; none = no rule.'),
    sshAuthorizedKeys: z
      .array(
        z
          .string()
          .regex(/^[^\n]*(?:ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+ [A-Za-z0-9+/]+=*(?: [^\n]*)?$/, 'not an SSH public key'),
      )
      .optional()
      .describe('The keys, all of them, that may log in; a block in authorized_keys is managed, other lines are kept.'),
  }),
);

export type GroupsSection = z.infer<typeof groups>;
export type UsersSection = z.infer<typeof users>;
