import { ABSENT, type FeatureCases, program, staying } from '../../../support/feature-cases.ts';

const NEVER_CHANGED = 'is refused where it differs: renumbering or moving would change the hands of files';

export const cases: FeatureCases = {
  everything: 'groups: [{name: etcd, gid: 998, system: true}]',
  undo: {
    'a group': staying('groups: [{name: etcd, gid: 998, system: true}]', /^\/etc\/group /, /^the group etcd stays/),
  },
  drifts: {
    'host.groups[].name': [
      {
        what: 'no such group',
        by: program('groupdel', 'operators'),
        finds: ['groups/operators', 'users/grace/groups'],
        stays: true,
      },
    ],
    'host.groups[].gid': { none: NEVER_CHANGED },
    'host.groups[].system': { none: 'says from which range a new id is taken' },
    'host.groups[].absent': {
      elsewhere: [
        'test/unit/undo/removals/removed-names.test.ts',
        'is removed after the users that it is the primary group of',
      ],
    },
  },
  dropped: {
    'host.groups[].**': {
      why: 'files may belong to it; the plan says that it stays',
      stays: /^\/etc\/(?:group|passwd) /,
    },
    'host.groups[].absent': ABSENT,
  },
};
