import { utf8Text } from '@machineadm/document/encodings/decode.ts';
import type { GroupsSection } from '@machineadm/document/host-parts/groups.ts';
import type { UsersSection } from '@machineadm/document/host-parts/users.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { SecretName } from '../inputs/secrets.ts';
import type { Spec, UserSpec } from '../spec/spec.ts';

type UserSection = UsersSection[number];

/** The results of crypt(5), and the two markers for "no password". */
const HASH = /^(?:\$[a-z0-9-]+\$[^:\s]+|[*!])$/i;

export function convertGroups(spec: Spec): GroupsSection | undefined {
  return spec.groups.length === 0 ? undefined : spec.groups.map(({ name, gid }) => ({ name, gid }));
}

/** `host.users`, with the meaning of the fields in cloudinit/config/cc_users_groups.py. */
export function convertUsers(spec: Spec, conversion: Conversion): UserSection[] | undefined {
  const { report } = conversion;
  const [first] = spec.users;
  if (first === undefined) return undefined;
  if (spec.flavour === 'cloud-config' && !spec.users.some(({ name }) => name === 'default')) {
    report.add('DefaultUserKept', conversion.object, 'remove it in the image where it must not be there');
  }
  return spec.users.filter(({ name }) => name !== 'default').map((user) => convertUser(user, spec, conversion));
}

function convertUser(user: UserSpec, spec: Spec, conversion: Conversion): UserSection {
  const { report } = conversion;
  if (user.inactive) report.add('UserInactive', user.at, `${user.name} can log in, as today`);
  const ofIgnition = spec.flavour === 'ignition';
  const hasPassword = user.passwordSecret !== undefined || (user.password ?? '') !== '';
  if (!ofIgnition && user.lockPassword === false && !hasPassword) {
    report.add('WithoutEffect', user.at, `${user.name} has no password, so cloud-init leaves the account locked`);
  }
  if (ofIgnition && user.lockPassword === false) {
    report.add('PasswordLogin', user.at, 'to allow it, add a drop-in in /etc/ssh/sshd_config.d with host.files');
  }
  return {
    name: user.name,
    uid: user.uid,
    gecos: user.gecos,
    primaryGroup: user.primaryGroup,
    groups: groupsOf(user, spec, conversion),
    home: user.home,
    shell: user.shell,
    system: user.system === true ? true : undefined,
    passwordHash: passwordOf(user, conversion),
    // cloud-init locks by default, and an account without a password stays locked, as useradd makes it. Ignition locks
    // none: without a password it has "*" (coreos/ignition internal/exec/util/passwd.go).
    locked: ofIgnition || (user.lockPassword === false && hasPassword) ? false : undefined,
    sudo: user.sudo.length === 0 ? undefined : user.sudo.length === 1 ? user.sudo[0] : [...user.sudo],
    sshAuthorizedKeys: user.keys === undefined ? undefined : [...user.keys],
  };
}

function groupsOf({ groups, at }: UserSpec, spec: Spec, { report }: Conversion): string[] | undefined {
  if (groups === undefined) return undefined;
  // The provider splits at ", " for Ignition, so that "wheel,docker" is one group (pkg/ignition/clc/clc.go).
  if (spec.flavour === 'ignition' && /,\S/.test(groups))
    report.add('GroupsInIgnition', at, 'each name becomes a group');
  const names = groups.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));
  return names.length === 0 ? undefined : names;
}

function passwordOf(user: UserSpec, { report, secrets, related }: Conversion): SecretName | undefined {
  const wanted = `password-${user.name}`;
  if (user.passwordSecret !== undefined) {
    const { name, key } = user.passwordSecret;
    const bytes = secrets.inlineBytes(related.namespace, name, key);
    if (bytes === undefined) return secrets.referenceTo({ name, key }, user.at);
    return hashOf(utf8Text(bytes)?.trim(), wanted);
  }
  return user.password === undefined || user.password === '' ? undefined : hashOf(user.password, wanted);

  function hashOf(hash: string | undefined, called: string): SecretName | undefined {
    if (hash !== undefined && HASH.test(hash)) return secrets.value(called, hash);
    report.add('PasswordNotHash', user.at, `the password of ${user.name}; "openssl passwd -6" makes a hash`);
    return undefined;
  }
}
