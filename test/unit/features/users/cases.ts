import {
  ABSENT,
  attribute,
  database,
  drift,
  edit,
  type FeatureCases,
  gone,
  KEY,
  passwd,
  program,
  shadow,
  staying,
  UNDONE,
} from '../../../support/feature-cases.ts';

const GRACE = '/srv/homes/grace';
const KEYS = `${GRACE}/.ssh/authorized_keys`;
const SUDO = '/etc/sudoers.d/90-machineadm-grace';
const NEVER_CHANGED = 'is refused where it differs: renumbering or moving would change the hands of files';

const user = (fields: string): string => `users: [{name: ${fields}}]`;

export const cases: FeatureCases = {
  everything: `users:
  - {name: etcd, uid: 998, primaryGroup: etcd, system: true, shell: /usr/sbin/nologin}
  - name: grace
    uid: 4711
    gecos: Grace
    primaryGroup: users
    groups: [wheel, operators]
    home: /srv/homes/grace
    shell: /bin/bash
    passwordHash: "$6$salt$ours"
    locked: false
    sudo: "ALL=(ALL) NOPASSWD:ALL"
    sshAuthorizedKeys: ["${KEY}"]
  - {name: ada, inactive: true}`,
  undo: {
    'a user': staying(
      user('grace, uid: 4711, gecos: Grace, groups: [wheel, operators], shell: /bin/bash'),
      /^\/(?:etc\/(?:group|passwd|shadow)|home\/grace.*) /,
      /^the user grace stays, with its files/,
    ),
    'a user with keys and rules': staying(
      user('grace, sshAuthorizedKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZvb2Jhcg grace], sudo: "ALL=(ALL) ALL"'),
      /^\/(?:etc\/(?:group|passwd|shadow)|home\/grace(?!\/\.ssh).*) /,
      /^the user grace stays, with its files/,
    ),
    'a user of the system': staying(
      user('etcd, system: true, shell: /usr/sbin/nologin'),
      /^\/etc\/(?:group|passwd|shadow) /,
      /^the user etcd stays/,
    ),
    'a user with a home elsewhere': staying(
      user('grace, home: /srv/homes/grace'),
      /^\/(?:etc\/(?:group|passwd|shadow)|srv\/homes.*) /,
      /^the user grace stays/,
    ),
    'a user who was there, in more groups': user('ada, groups: [wheel, chrony]'),
    'a user who was there, with another shell': user('ada, shell: /bin/bash, gecos: Countess'),
    'a user who was there, locked': user('ada, locked: true'),
    'a user who was there, with a password': user('ada, passwordHash: "$6$salt$ours", locked: false'),
    'a user who was there, inactive': user('ada, inactive: true, locked: false'),
    'a user who was there, with keys': user(
      'ada, locked: false, sshAuthorizedKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZvb2Jhcg ada]',
    ),
    'a user who was there, with a rule': user('ada, locked: false, sudo: "ALL=(ALL) NOPASSWD:ALL"'),
    'no user any more': 'users: [{name: ada, absent: true}]',
    'no user and no group any more': 'users: [{name: ada, absent: true}]\ngroups: [{name: users, absent: true}]',
  },
  drifts: {
    'host.users[].name': [
      { what: 'no such user', by: program('userdel', 'etcd'), finds: ['groups/etcd', 'users/etcd'], stays: true },
    ],
    'host.users[].uid': { none: NEVER_CHANGED },
    'host.users[].gecos': [drift('another name', passwd(4, 'Grace Hopper'), 'users/grace/gecos')],
    'host.users[].primaryGroup': [drift('another group', passwd(3, '10'), 'users/grace/primary-group')],
    'host.users[].groups[]': [drift('a group less', database('/etc/group', 'wheel', 3, 'root'), 'users/grace/groups')],
    'host.users[].home': [
      {
        what: 'no directory',
        by: gone(GRACE),
        finds: ['users/grace/home', 'users/grace/authorized-keys'],
        stays: true,
      },
    ],
    'host.users[].shell': [drift('another shell', passwd(6, '/bin/false'), 'users/grace/shell')],
    'host.users[].system': { none: 'says from which range a new id is taken' },
    'host.users[].passwordHash': [drift('another password', shadow(1, '$6$salt$theirs'), 'users/grace/password')],
    'host.users[].passwordHash.*': { none: 'names the secret with the hash' },
    'host.users[].locked': [
      drift('unlocked', shadow(1, '$6$before', 'ada'), 'users/ada/lock'),
      drift('locked', shadow(1, '!$6$salt$ours'), 'users/grace/password'),
    ],
    'host.users[].inactive': [drift('revived', shadow(7, '', 'ada'), 'users/ada/expiry')],
    'host.users[].sudo': [
      drift('other rules', edit(SUDO, 'NOPASSWD', 'PASSWD'), 'users/grace/sudo'),
      drift('no rules', gone(SUDO), 'users/grace/sudo'),
      drift('rules that others can read', attribute(SUDO, { mode: 0o644 }), 'users/grace/sudo'),
      drift('rules of another owner', attribute(SUDO, { uid: 1000 }), 'users/grace/sudo'),
      drift(
        'rules of a user who has none',
        (m) => m.put('/etc/sudoers.d/90-machineadm-ada', { content: 'ada ALL=(ALL) ALL\n', mode: 0o440 }),
        'users/ada/sudo',
      ),
    ],
    'host.users[].sudo[]': { none: 'a line of the rules' },
    'host.users[].sshAuthorizedKeys[]': [
      drift('another key in the block', edit(KEYS, KEY, 'ssh-ed25519 AAAAtheirs x'), 'users/grace/authorized-keys'),
      drift('no keys', gone(KEYS), 'users/grace/authorized-keys'),
      drift('keys that others can read', attribute(KEYS, { mode: 0o644 }), 'users/grace/authorized-keys'),
      drift(
        'a directory that others can read',
        attribute(`${GRACE}/.ssh`, { mode: 0o755 }),
        'users/grace/authorized-keys',
      ),
    ],
    'host.users[].absent': {
      elsewhere: [
        'test/unit/undo/removals/removed-names.test.ts',
        'is removed with the rules of sudo that machineadm wrote, and keeps the home',
      ],
    },
  },
  dropped: {
    'host.users[].**': {
      why: 'files belong to it; the plan says that it stays, and the reference that an absent field does',
      stays: /^\/(?:etc\/(?:group|passwd|shadow) |srv\/homes|home\/)/,
    },
    'host.users[].sudo': UNDONE,
    'host.users[].sudo[]': UNDONE,
    'host.users[].absent': ABSENT,
  },
};
