import { type DroppedField, type FeatureCases, NOT_A_STATE, staying, UNDONE } from '../../../support/feature-cases.ts';

const LOGINS = 'test/unit/features/active-directory/directory-logins.test.ts';
const MEMBER = 'test/unit/features/active-directory/step.test.ts';
const REFUSED = 'that the domain refuses stops, or joins again on request or if its own join was interrupted';
const MEMBERSHIP: DroppedField = { why: 'the machine stays in the domain; the plan says so' };

export const cases: FeatureCases = {
  undo: {
    'a domain that it leaves': staying(
      [
        'secrets: {join: {value: correct-horse}}',
        'host:',
        '  hostname: node-7',
        '  activeDirectory:',
        '    domain: corp.example.com',
        '    credentials: {user: joiner, password: {secret: join}}',
        '    onReset: Leave',
      ].join('\n'),
      /hostname|cloud\.cfg\.d|^\/etc\/hosts |krb5|^\/elsewhere\//,
      /^the machine stays in the domain/,
    ),
  },
  drifts: {
    'host.activeDirectory.domain': { elsewhere: [MEMBER, REFUSED] },
    'host.activeDirectory.keytab': {
      elsewhere: [MEMBER, 'closes a keytab that others can read, and adds keys for services'],
    },
    'host.activeDirectory.servicePrincipals[]': {
      elsewhere: [MEMBER, 'closes a keytab that others can read, and adds keys for services'],
    },
    'host.activeDirectory.kerberos.configuration': {
      elsewhere: [MEMBER, 'writes the configuration of Kerberos again where its '],
    },
    'host.activeDirectory.registerAddress': {
      elsewhere: [
        'test/unit/features/active-directory/directory-address.test.ts',
        'is sent to the primary server of the zone with a ticket, whatever nsupdate makes of the answer',
      ],
    },
    'host.activeDirectory.logins.allowedGroups[]': { elsewhere: [LOGINS, 'are repaired where a user changed'] },
    'host.activeDirectory.logins.homeDirectories': { elsewhere: [LOGINS, 'are repaired where a user changed'] },
    'host.activeDirectory.computerName': { none: 'the account of the computer: another one is another join' },
    'host.activeDirectory.computerOU': { none: 'where a new account is made; a directory moves it as it likes' },
    'host.activeDirectory.credentials.**': { none: 'are used once, for the join' },
    'host.activeDirectory.domainController': { none: NOT_A_STATE },
    'host.activeDirectory.accountReuse': { none: NOT_A_STATE },
    'host.activeDirectory.onBroken': { none: NOT_A_STATE },
    'host.activeDirectory.onReset': { none: NOT_A_STATE },
    'host.activeDirectory.timeout': { none: NOT_A_STATE },
  },
  dropped: {
    'host.activeDirectory.**': MEMBERSHIP,
    'host.activeDirectory.logins.**': UNDONE,
  },
};
