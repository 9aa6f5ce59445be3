import * as z from 'zod';
import { absolutePath, duration, secret } from './fields.ts';

const DNS_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;

/** NetBIOS names end at 15 characters, and adcli cuts a longer one without a word ([MS-NBTE] 2.2.1). */
export const COMPUTER_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,13}[A-Za-z0-9])?$/;

const account = z.strictObject({
  user: z
    .string()
    // adcli authenticates with Kerberos: it finds neither DOMAIN\user nor a realm in lower case.
    .regex(/^[^\s\\/@"]+$/, 'not an account: write its name alone, without "DOMAIN\\" and "@domain"'),
  password: secret,
});

const credentials = z.union(
  [z.strictObject({ offlineBlob: secret }), z.strictObject({ oneTimePassword: secret }), account],
  { error: 'expected one of {offlineBlob}, {oneTimePassword}, {user, password}' },
);

export const activeDirectory = z.strictObject({
  domain: z
    .string()
    .max(253, 'longer than 253 characters')
    .regex(DNS_NAME, 'not the DNS name of a domain, such as "corp.example.com"'),
  computerName: z
    .string()
    .regex(COMPUTER_NAME, 'not the name of a computer: at most 15 letters, digits and "-"')
    .optional(),
  computerOU: z
    .string()
    .regex(
      /^(?:[Oo][Uu]|[Cc][Nn])=[^,]+(?:,(?:[Oo][Uu]|[Cc][Nn]|[Dd][Cc])=[^,]+)+$/,
      'not a distinguished name: "OU=Nodes,DC=corp,DC=example,DC=com"',
    )
    .optional(),
  credentials: credentials,
  domainController: z
    .string()
    .regex(/^[A-Za-z0-9.:-]+$/, 'not a host name or address')
    .optional(),
  accountReuse: z.boolean().optional(),
  onBroken: z.enum(['Fail', 'Rejoin']).optional(),
  onReset: z.enum(['Keep', 'Leave']).optional(),
  keytab: absolutePath.optional(),
  servicePrincipals: z
    .array(z.string().regex(/^[A-Za-z][A-Za-z0-9-]*$/, 'not a service class, such as "HTTP": the host is added'))
    .optional(),
  kerberos: z
    .strictObject({
      configuration: z.enum(['Managed', 'Unmanaged']).optional(),
    })
    .optional(),
  registerAddress: z.boolean().optional(),
  logins: z
    .strictObject({
      allowedGroups: z
        .array(
          z
            .string()
            .regex(/^[^\s,@\\#()]+(?: [^\s,@\\#()]+)*$/, 'not a group: write its name alone, without its domain'),
        )
        .min(1),
      homeDirectories: z.enum(['None', 'Create']).optional(),
    })
    .optional(),
  timeout: duration.optional(),
});

export type ActiveDirectorySection = z.infer<typeof activeDirectory>;
