import {
  ABSENT,
  AS_IT_IS,
  attribute,
  drift,
  type FeatureCases,
  FOLLOWS,
  gone,
  UNDONE,
} from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  everything: `directories:
  - {path: /srv/app, mode: "0750", owner: "ada:users", recursive: {mode: "0640", directoryMode: "0750", owner: "ada:users"}}
  - {path: /srv/app/tmp, absent: true}`,
  undo: {
    'a directory of its own, in others': 'directories: [{path: /srv/app/data, mode: "0750", owner: "ada:users"}]',
    'a directory that was there': 'directories: [{path: /srv/shared, mode: "0700", owner: root}]',
    'a directory that was there, with all that is in it':
      'directories: [{path: /srv/shared, recursive: {owner: "root:root", mode: "0640", directoryMode: "0750"}}]',
    'a directory that goes': 'directories: [{path: /home/ada/.ssh, absent: true, recursive: true}]',
  },
  drifts: {
    'host.directories[].path': [
      { what: 'no directory', by: gone('/srv/app'), finds: ['directories/srv/app'], stays: true },
    ],
    'host.directories[].mode': [drift('another mode', attribute('/srv/app', { mode: 0o777 }), 'directories/srv/app')],
    'host.directories[].owner': [
      drift('another user', attribute('/srv/app', { uid: 0 }), 'directories/srv/app'),
      drift('another group', attribute('/srv/app', { gid: 0 }), 'directories/srv/app'),
    ],
    'host.directories[].recursive': { none: 'of a directory that is absent: whether it goes with what is in it' },
    'host.directories[].recursive.mode': [
      drift('a file with another mode', attribute('/srv/app/in/file', { mode: 0o666 }), 'directories/srv/app'),
    ],
    'host.directories[].recursive.directoryMode': [
      drift('a directory with another mode', attribute('/srv/app/in', { mode: 0o777 }), 'directories/srv/app'),
    ],
    'host.directories[].recursive.owner': [
      drift('a file of another owner', attribute('/srv/app/in/file', { uid: 0 }), 'directories/srv/app'),
      drift('a directory of another group', attribute('/srv/app/in', { gid: 0 }), 'directories/srv/app'),
    ],
    'host.directories[].absent': [
      drift('is there', (m) => m.put('/srv/app/tmp', { type: 'directory' }), 'removals/srv/app/tmp'),
    ],
    'host.directories[].restarts[]': { none: FOLLOWS },
    'host.directories[].reloads[]': { none: FOLLOWS },
  },
  dropped: {
    'host.directories[].path': UNDONE,
    'host.directories[].mode': { ...AS_IT_IS, stays: /^\/srv\/app / },
    'host.directories[].owner': AS_IT_IS,
    'host.directories[].recursive.**': { ...AS_IT_IS, stays: /^\/srv\/app\/in/ },
    'host.directories[].recursive': AS_IT_IS,
    'host.directories[].absent': ABSENT,
  },
};
