import type { Finding } from '../diagnostics/index.ts';
import { is, must, when, without, writtenSecret } from '../fields/conditions.ts';
import { field, object } from '../fields/field.ts';
import { absolutePath, secret } from '../fields/types.ts';
import { ACCOUNT_DATABASES, authorizedKeysPath, sudoersPath, usualHome } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import type { SecretValue } from '../secrets/secret.ts';
import { accountId, accountName, doubleIds } from './accounts.ts';
import { claimsOn, doubles, hostPart } from './part.ts';
import { absentField, absentNames, checkAbsentNames, presentOf } from './paths-of-host.ts';

export interface UserModel {
  readonly name: string;
  readonly uid: number | undefined;
  readonly gecos: string | undefined;
  readonly primaryGroup: string | undefined;
  readonly groups: readonly string[];
  readonly home: string | undefined;
  readonly shell: string | undefined;
  readonly system: boolean;
  /** A crypt(5) hash. */
  readonly passwordHash: SecretValue | undefined;
  /** Whether the password is locked; true unless the document says otherwise. */
  readonly locked: boolean;
  /** True: the account is expired and cannot be used at all. */
  readonly inactive: boolean;
  /** The part of a sudoers line after the user's name. */
  readonly sudo: readonly string[];
  /** undefined leaves the keys alone. */
  readonly sshAuthorizedKeys: readonly string[] | undefined;
  /** Its place in the document; absent: that in this list. */
  readonly at?: number;
}

/** crypt(5) hashes begin with "$" and their method; "*" and "!" stand for "no password". DES hashes have no place here. */
export const PASSWORD_HASH = /^(?:\$[A-Za-z0-9-]+\$[^:\s]+|[*!])$/;

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtbVn4ZgYlPMCIlA1dsAS9pXBxyf2bpUTmZRDYuMv core@example';

const sudoRule = z.string().regex(/^[^\n]+$/, 'a rule is one line and not empty');

const NO_KEY = 'not an SSH public key';
/** A name of an algorithm has at most 64 characters (RFC 4251, 6). */
const sshKey = z
  .string()
  .regex(/(?:ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]{1,64} [A-Za-z0-9+/]+=*(?: |$)/, NO_KEY)
  .regex(/^[^\n]+$/, NO_KEY);

const ATTRIBUTES = [
  ...['uid', 'gecos', 'primaryGroup', 'groups', 'home', 'shell', 'system', 'passwordHash', 'locked', 'inactive'],
  ...['sudo', 'sshAuthorizedKeys'],
];

export const users = hostPart({
  description: 'Users of the machine. An existing user is changed if it differs.',
  default: [],
  changes: '`/etc/passwd`, `/etc/shadow`, `/etc/group`, home directories, authorized keys and `/etc/sudoers.d`',
  example: [{ name: 'core', groups: ['wheel'], sshAuthorizedKeys: [KEY] }],
  linuxOnly: 'accounts of a Windows machine belong into its image or its domain',
  entryKeys: { '': ['name'] },
  schema: z.array(
    object(
      {
        name: field(accountName, 'The name of the user.', { example: 'core' }),
        uid: field(accountId, 'The numeric ID of the user.', { absent: 'the system chooses one', example: 1500 }),
        gecos: field(
          z.string().regex(/^[^:\n]*$/, 'must contain neither ":" nor a line break'),
          'The full name or a comment.',
          { absent: 'the comment stays as it is', example: 'Cluster operator' },
        ),
        primaryGroup: field(accountName, 'The primary group, which is created if it does not exist.', {
          absent: 'the default of useradd, a group with the name of the user',
          example: 'operators',
        }),
        groups: field(z.array(accountName), 'Supplementary groups, which are created if they do not exist.', {
          default: [],
          example: ['wheel'],
        }),
        home: field(absolutePath, 'The home directory.', {
          absent: 'the default of useradd, in /home',
          example: '/var/home/core',
        }),
        shell: field(absolutePath, 'The login shell.', { absent: 'the default of useradd', example: '/bin/bash' }),
        system: field(z.boolean(), 'Whether the user is a system account, with an ID from that range.', {
          default: false,
          example: true,
        }),
        passwordHash: field(secret, 'The password as a hash that crypt(5) reads, or "*" or "!" for none.', {
          absent: 'the password stays as it is',
          example: { secret: 'corePasswordHash' },
        }),
        locked: field(z.boolean(), 'Whether login with the password is disabled. SSH keys still work.', {
          default: true,
          example: false,
        }),
        inactive: field(z.boolean(), 'Whether the account is expired, so that no one can log in with it.', {
          default: false,
          example: true,
        }),
        sudo: field(
          z.union([sudoRule, z.array(sudoRule).min(1)]),
          'The sudo rule or rules of the user, without the name. visudo checks them.',
          { absent: 'no rule', example: 'ALL=(ALL) NOPASSWD:ALL' },
        ),
        sshAuthorizedKeys: field(
          z.array(sshKey),
          'The SSH public keys that may log in. machineadm manages a block of authorized_keys and keeps the other lines.',
          { absent: 'authorized_keys stays as it is', example: [KEY] },
        ),
        absent: absentField('Whether the user is removed. The home directory is kept.'),
      },
      () => [must('passwordHash', writtenSecret(PASSWORD_HASH)), when(is('absent', true), without(...ATTRIBUTES))],
    ),
  ),
  toModel: (section = [], resolve): readonly UserModel[] =>
    presentOf(section).map(({ entry: user, place }) => ({
      name: user.name,
      uid: user.uid,
      gecos: user.gecos,
      primaryGroup: user.primaryGroup,
      groups: user.groups ?? [],
      home: user.home,
      shell: user.shell,
      system: user.system ?? false,
      passwordHash:
        user.passwordHash === undefined ? undefined : resolve(user.passwordHash, `user ${user.name} passwordHash`),
      locked: user.locked ?? true,
      inactive: user.inactive ?? false,
      sudo: user.sudo === undefined ? [] : typeof user.sudo === 'string' ? [user.sudo] : user.sudo,
      sshAuthorizedKeys: user.sshAuthorizedKeys,
      ...place,
    })),
  removesNames: (section) => absentNames('user', 'users', section),
  claims: (users) => [
    ...(users.length === 0 ? [] : claimsOn('users', [], 'lines', ...ACCOUNT_DATABASES)),
    ...users.flatMap(({ name, home, sshAuthorizedKeys, at }, index) => {
      // Removed where the user has no rules.
      const sudo = claimsOn('users', [at ?? index, 'sudo'], 'file', sudoersPath(name));
      if (sshAuthorizedKeys === undefined) return sudo;
      const path = authorizedKeysPath(home ?? usualHome(name));
      return [...sudo, ...claimsOn('users', [at ?? index, 'sshAuthorizedKeys'], 'lines', path)];
    }),
  ],
  check: (section, { secrets = {} }) => [
    ...doubles(section),
    ...doubleIds(section, 'uid'),
    ...checkAbsentNames(section),
    ...section.flatMap(({ passwordHash }, index): Finding[] => {
      const source = typeof passwordHash === 'object' ? secrets[passwordHash.secret] : undefined;
      const known = source !== undefined && 'value' in source ? source.value : undefined;
      const literal = typeof passwordHash === 'string' ? passwordHash : known;
      // The value itself is never shown: it may be a password where its hash belongs.
      if (literal === undefined || PASSWORD_HASH.test(literal)) return [];
      const path = [index, 'passwordHash'];
      return [
        { path, message: 'not a password hash in a format of crypt(5)', hint: 'mkpasswd or "openssl passwd -6"' },
      ];
    }),
  ],
});

export type UsersSection = z.infer<typeof users.schema>;
