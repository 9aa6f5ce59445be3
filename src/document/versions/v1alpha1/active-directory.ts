import * as z from 'zod';
import { absolutePath, duration, secret } from './fields.ts';

const DNS_NAME =
  /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;

/** NetBIOS names end at 15 characters, and adcli cuts a longer one without a word ([MS-NBTE] 2.2.1). */
export const COMPUTER_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,13}[A-Za-z0-9])?$/;

const account = z.strictObject({
  user: z
    .string()
    // adcli authenticates with Kerberos: it finds neither DOMAIN\user nor a realm in lower case.
    .regex(/^[^\s\\/@"]+$/, 'not an account: write its name alone, without "DOMAIN\\" and "@domain"')
    .describe('The name alone. Best one that may make computers in one organizational unit, and nothing else.'),
  password: secret,
});

const credentials = z.union(
  [z.strictObject({ offlineBlob: secret }), z.strictObject({ oneTimePassword: secret }), account],
  { error: 'expected one of {offlineBlob}, {oneTimePassword}, {user, password}' },
);

export const activeDirectory = z.strictObject({
  domain: z.string().max(253, 'longer than 253 characters').regex(DNS_NAME, 'not the DNS name of a domain, such as "corp.example.com"'),
  computerName: z
    .string()
    .regex(COMPUTER_NAME, 'not the name of a computer: at most 15 letters, digits and "-"')
    .optional()
    .describe('Default: the first label of the host name. At most 15 characters.'),
  computerOU: z
    .string()
    .regex(
      /^(?:[Oo][Uu]|[Cc][Nn])=[^,]+(?:,(?:[Oo][Uu]|[Cc][Nn]|[Dd][Cc])=[^,]+)+$/,
      'not a distinguished name: "OU=Nodes,DC=corp,DC=example,DC=com"',
    )
    .optional()
    .describe("Where the computer's account is made. Default: the domain's own place."),
  credentials: credentials.describe(
    'Safest first: an offline blob for this machine, a one-time password of its preset account, a delegated account.',
  ),
  domainController: z
    .string()
    .regex(/^[A-Za-z0-9.:-]+$/, 'not a host name or address')
    .optional()
    .describe('Default: one that DNS names.'),
  accountReuse: z
    .boolean()
    .optional()
    .describe('Take over an account of this name that is there: another machine of the name loses it. Default false.'),
  onBroken: z
    .enum(['Fail', 'Rejoin'])
    .optional()
    .describe('Where the domain no longer accepts the keys of this machine. Default Fail.'),
  onReset: z
    .enum(['Keep', 'Leave'])
    .optional()
    .describe('Leave: `machineadm reset` removes the keytab; the account stays in the directory. Default Keep.'),
  keytab: absolutePath.optional().describe('Default /etc/krb5.keytab. Always 0600, of root.'),
  servicePrincipals: z
    .array(z.string().regex(/^[A-Za-z][A-Za-z0-9-]*$/, 'not a service class, such as "HTTP": the host is added'))
    .optional()
    .describe('Service classes for which the computer gets keys, beside host.'),
  kerberos: z
    .strictObject({
      configuration: z
        .enum(['Managed', 'Unmanaged'])
        .optional()
        .describe('Managed writes /etc/krb5.conf, AES keys only; what was there is kept beside. Default Managed.'),
    })
    .optional(),
  registerAddress: z
    .boolean()
    .optional()
    .describe("Register the machine's address in the domain's DNS, with its own ticket. Default false."),
  logins: z
    .strictObject({
      allowedGroups: z
        .array(
          z
            .string()
            .regex(/^[^\s,@\\#()]+(?: [^\s,@\\#()]+)*$/, 'not a group: write its name alone, without its domain'),
        )
        .min(1)
        .describe('Groups of the domain whose members may log in; nobody else of it may.'),
      homeDirectories: z
        .enum(['None', 'Create'])
        .optional()
        .describe('Create: a first login makes the home directory. Default None.'),
    })
    .optional()
    .describe('Lets users of the domain log in, with sssd. Default: none does.'),
  timeout: duration.optional().describe('Of the join itself; default 60s.'),
});

export type ActiveDirectorySection = z.infer<typeof activeDirectory>;
