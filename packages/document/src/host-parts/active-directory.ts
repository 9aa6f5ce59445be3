import type { Finding } from '../diagnostics/index.ts';
import { given, has, not, when, without } from '../fields/conditions.ts';
import { milliseconds, type ResolveSecret } from '../fields/convert-values.ts';
import { choice, field, object } from '../fields/field.ts';
import { absolutePath, duration, secret } from '../fields/types.ts';
import { KERBEROS_CONFIGURATION, NAME_SERVICE_SWITCH, SSSD_CONFIGURATION_PATH } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import type { SecretValue } from '../secrets/secret.ts';
import { claimsOn, hostPart } from './part.ts';

/** The Active Directory domain that the machine is a member of. */
export interface ActiveDirectoryModel {
  /** DNS name, lower case. The Kerberos realm is the same in upper case. */
  readonly domain: string;
  /** undefined: the first label of the host name. */
  readonly computerName: string | undefined;
  /** Distinguished name; undefined: the domain's own place for new computers. */
  readonly computerOU: string | undefined;
  readonly credentials: DomainCredentials;
  /** undefined: one that DNS names. */
  readonly domainController: string | undefined;
  /** True: an account of this name that is there may be taken over. */
  readonly accountReuse: boolean;
  /** What is done where the domain no longer accepts the keys of this machine. */
  readonly onBroken: 'Fail' | 'Rejoin';
  /** Whether a reset removes the keys of the computer from this machine. */
  readonly onReset: 'Keep' | 'Leave';
  readonly keytab: string;
  /** Service classes, beside `host`: `HTTP`, `nfs`. */
  readonly servicePrincipals: readonly string[];
  /** Whether /etc/krb5.conf is written. */
  readonly kerberosConfiguration: 'Managed' | 'Unmanaged';
  /** Whether the address of the machine is registered in the DNS of the domain. */
  readonly registersAddress: boolean;
  /** undefined: users of the domain do not log in. */
  readonly logins: DirectoryLoginsModel | undefined;
  readonly timeoutMs: number;
}

/** Logins of the domain's users, with sssd. */
export interface DirectoryLoginsModel {
  /** Names of groups without their domain; at least one. */
  readonly allowedGroups: readonly string[];
  /** Whether a first login makes the home directory. */
  readonly createsHomes: boolean;
}

/** The one secret that the machine joins with, the safest first. */
export type DomainCredentials =
  /** What `djoin` or `net offlinejoin provision` made: it holds the password of the computer. */
  | { readonly kind: 'offlineBlob'; readonly blob: SecretValue }
  /** The password that a preset computer account was given; spent with its first use. */
  | { readonly kind: 'oneTimePassword'; readonly password: SecretValue }
  /** An account that may make computers. `user` without its realm. */
  | { readonly kind: 'account'; readonly user: string; readonly password: SecretValue };

const DNS_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;

/** NetBIOS names end at 15 characters, and adcli cuts a longer one without a word ([MS-NBTE] 2.2.1). */
const COMPUTER_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,13}[A-Za-z0-9])?$/;

const account = object({
  user: field(
    z
      .string()
      // adcli authenticates with Kerberos: it finds neither DOMAIN\user nor a realm in lower case.
      .regex(/^[^\s\\/@"]+$/, 'not an account: write its name alone, without "DOMAIN\\" and "@domain"'),
    'The name of an account that may create computers, without the domain. Delegate it to one organizational unit and nothing else.',
    { example: 'joiner' },
  ),
  password: field(secret, 'The password of the account.', { example: { secret: 'joinPassword' } }),
});

const credentials = z.union(
  [
    object({
      offlineBlob: field(secret, 'The provisioning data of an offline domain join (djoin).', {
        example: { secret: 'joinBlob' },
      }),
    }),
    object({
      oneTimePassword: field(secret, 'The one-time password of the prepared computer account.', {
        example: { secret: 'joinOneTimePassword' },
      }),
    }),
    account,
  ],
  { error: 'expected one of {offlineBlob}, {oneTimePassword}, {user, password}' },
);

const schema = object(
  {
    domain: field(
      z
        .string()
        .max(253, 'longer than 253 characters')
        .regex(DNS_NAME, 'not the DNS name of a domain, such as "corp.example.com"'),
      'The DNS name of the domain.',
      { example: 'corp.example.com' },
    ),
    computerName: field(
      z.string().regex(COMPUTER_NAME, 'not the name of a computer: at most 15 letters, digits and "-"'),
      'The name of the computer account, at most 15 characters.',
      { absent: 'the first label of the host name', example: 'node-1' },
    ),
    computerOU: field(
      z
        .string()
        .regex(
          /^(?:[Oo][Uu]|[Cc][Nn])=[^,]+(?:,(?:[Oo][Uu]|[Cc][Nn]|[Dd][Cc])=[^,]+)+$/,
          'not a distinguished name: "OU=Nodes,DC=corp,DC=example,DC=com"',
        ),
      'The organizational unit in which the computer account is created. Not with an offline blob or a one-time password, whose account exists already.',
      { absent: 'the default container of the domain', example: 'OU=Nodes,DC=corp,DC=example,DC=com' },
    ),
    credentials: field(
      credentials,
      'How the join is authorized. Safest first: an offline blob for this machine, a one-time password of its prepared account, a delegated account.',
      { example: { user: 'joiner', password: { secret: 'joinPassword' } } },
    ),
    domainController: field(
      z.string().regex(/^[A-Za-z0-9.:-]+$/, 'not a host name or address'),
      'The domain controller to use, by name or address.',
      { absent: 'one that DNS names', example: 'dc1.corp.example.com' },
    ),
    accountReuse: field(
      z.boolean(),
      'Whether an existing computer account of this name is taken over. Another machine with the name loses its membership. Not with an offline blob or a one-time password.',
      { default: false, example: true },
    ),
    onBroken: field(
      choice({ Fail: 'The run ends.', Rejoin: 'The machine joins the domain again.' }),
      'The action when the domain no longer accepts the keys of this machine.',
      { default: 'Fail', example: 'Rejoin' },
    ),
    onReset: field(
      choice({ Keep: 'The machine stays a member.', Leave: 'The machine leaves the domain.' }),
      'Leave makes `machineadm reset` delete the computer account, if the domain permits that, and remove the keytab. Keep leaves both. Without effect on Windows.',
      { default: 'Keep', example: 'Leave' },
    ),
    keytab: field(absolutePath, 'The path of the keytab with the keys of the computer, with mode 0600.', {
      default: '/etc/krb5.keytab',
      example: '/etc/krb5.keytab',
    }),
    servicePrincipals: field(
      z.array(z.string().regex(/^[A-Za-z][A-Za-z0-9-]*$/, 'not a service class, such as "HTTP": the host is added')),
      'Service classes for which the computer gets keys, beside host.',
      { default: [], example: ['HTTP'] },
    ),
    kerberos: field(
      object({
        configuration: field(
          choice({
            Managed: 'machineadm writes the configuration.',
            Unmanaged: 'The configuration of the machine is used as it is.',
          }),
          'Managed writes /etc/krb5.conf, with AES keys only, and keeps a backup of what was there.',
          { default: 'Managed', example: 'Unmanaged' },
        ),
      }),
      'The Kerberos configuration of the machine.',
      { absent: 'configuration Managed', example: { configuration: 'Managed' } },
    ),
    registerAddress: field(z.boolean(), 'Whether the address of the machine is registered in the DNS of the domain.', {
      default: false,
      example: true,
    }),
    logins: field(
      object({
        allowedGroups: field(
          z
            .array(
              z
                .string()
                .regex(/^[^\s,@\\#()]+(?: [^\s,@\\#()]+)*$/, 'not a group: write its name alone, without its domain'),
            )
            .min(1),
          'Groups of the domain whose members may log in, without the domain.',
          { example: ['node-operators'] },
        ),
        homeDirectories: field(
          choice({
            None: 'Home directories are left to others.',
            Create: 'A home directory is created at the first login.',
          }),
          'Create creates the home directory at the first login.',
          { default: 'None', example: 'Create' },
        ),
      }),
      'Lets users of the domain log in, with sssd.',
      { absent: 'no user of the domain may log in', example: { allowedGroups: ['node-operators'] } },
    ),
    timeout: field(duration, 'How long the join may take.', { default: '60s', example: '2m' }),
  },
  () => [when(given('credentials', not(has('user'))), without('computerOU', 'accountReuse'))],
);

export type ActiveDirectorySection = z.infer<typeof schema>;

const DEFAULT_TIMEOUT_MS = 60_000;

export const activeDirectory = hostPart({
  description: 'Makes the machine a member of an Active Directory domain.',
  absent: 'the machine joins no domain',
  changes:
    'the computer account in the domain, `/etc/krb5.keytab`, `/etc/krb5.conf`, and with `logins` `/etc/sssd/sssd.conf`, PAM and `/etc/nsswitch.conf`; on Windows the domain membership',
  example: { domain: 'corp.example.com', credentials: { offlineBlob: { secret: 'joinBlob' } } },
  schema,
  toModel: (section, resolve): ActiveDirectoryModel | undefined =>
    section && {
      domain: section.domain.toLowerCase(),
      computerName: section.computerName?.toUpperCase(),
      computerOU: section.computerOU,
      credentials: toCredentials(section.credentials, resolve),
      domainController: section.domainController,
      accountReuse: section.accountReuse ?? false,
      onBroken: section.onBroken ?? 'Fail',
      onReset: section.onReset ?? 'Keep',
      keytab: section.keytab ?? '/etc/krb5.keytab',
      servicePrincipals: [...new Set(section.servicePrincipals ?? [])],
      kerberosConfiguration: section.kerberos?.configuration ?? 'Managed',
      registersAddress: section.registerAddress ?? false,
      logins: section.logins && {
        allowedGroups: [...new Set(section.logins.allowedGroups)],
        createsHomes: section.logins.homeDirectories === 'Create',
      },
      timeoutMs: milliseconds(section.timeout) ?? DEFAULT_TIMEOUT_MS,
    },
  claims(domain) {
    if (domain === undefined) return [];
    const { keytab, logins, kerberosConfiguration } = domain;
    const configuration = kerberosConfiguration === 'Managed' ? [KERBEROS_CONFIGURATION] : [];
    return [
      ...claimsOn('active-directory', ['keytab'], 'file', keytab),
      ...claimsOn('active-directory', [], 'file', ...configuration),
      ...(logins === undefined
        ? []
        : [
            ...claimsOn('directory-logins', ['logins'], 'file', SSSD_CONFIGURATION_PATH),
            ...claimsOn('directory-logins', ['logins'], 'lines', NAME_SERVICE_SWITCH),
          ]),
    ];
  },
  check: (section, { host }) => [
    ...checkName(section, host?.hostname),
    ...checkUnit(section),
    ...checkOffline(section),
  ],
});

const PATH = 'host.activeDirectory.credentials';

function toCredentials(section: ActiveDirectorySection['credentials'], resolve: ResolveSecret): DomainCredentials {
  if ('offlineBlob' in section) {
    return { kind: 'offlineBlob', blob: resolve(section.offlineBlob, `${PATH}.offlineBlob`) };
  }
  if ('oneTimePassword' in section) {
    return { kind: 'oneTimePassword', password: resolve(section.oneTimePassword, `${PATH}.oneTimePassword`) };
  }
  return { kind: 'account', user: section.user, password: resolve(section.password, `${PATH}.password`) };
}

/** A name that was cut would be that of every machine with the same beginning, and the last one to join has it. */
function checkName({ computerName }: ActiveDirectorySection, hostname: string | undefined): Finding[] {
  const [label] = hostname?.split('.') ?? [];
  if (computerName !== undefined || label === undefined || COMPUTER_NAME.test(label)) return [];
  return [
    {
      path: ['domain'],
      message: `the host name ${label} has ${label.length} characters, and a computer of a domain at most 15`,
      hint: 'set computerName, a different one for each machine',
      about: [['hostname'], ['activeDirectory', 'computerName']],
    },
  ];
}

function checkUnit({ computerOU, domain }: ActiveDirectorySection): Finding[] {
  if (computerOU === undefined) return [];
  const parts = computerOU.split(',').map((part) => part.trim().toLowerCase());
  const named = parts.filter((part) => part.startsWith('dc=')).map((part) => part.slice('dc='.length));
  if (named.join('.') === domain.toLowerCase()) return [];
  const suffix = domain
    .split('.')
    .map((label) => `DC=${label}`)
    .join(',');
  const message = 'a place in another domain than the one that is joined';
  return [{ path: ['computerOU'], message, hint: `it ends in "${suffix}"` }];
}

/** The blob was made for an account that is there, in its place. */
function checkOffline({ credentials, computerOU, accountReuse }: ActiveDirectorySection): Finding[] {
  if ('user' in credentials) return [];
  const why = 'offlineBlob' in credentials ? 'the blob was made for' : 'the one-time password belongs to';
  return [
    ...(computerOU === undefined ? [] : [['computerOU', 'place'] as const]),
    ...(accountReuse === undefined ? [] : [['accountReuse', 'account'] as const]),
  ].map(([key, what]) => ({
    path: [key],
    message: `${why} an existing account: its ${what} cannot be chosen here`,
    hint: 'remove it',
  }));
}
