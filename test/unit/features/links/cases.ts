import {
  ABSENT,
  drift,
  ENTRY,
  type FeatureCases,
  FOLLOWS,
  gone,
  NOT_A_STATE,
  UNDONE,
} from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  everything: `links:
  - {path: /usr/local/bin/app, target: /opt/app/bin/app}
  - {path: /usr/local/bin/app-old, absent: true}`,
  undo: {
    'a link': 'links: [{path: /srv/new, target: shared}]',
    'a link that leads elsewhere': 'links: [{path: /srv/current, target: app, force: true}]',
    'a link where a file was': 'links: [{path: /etc/app/plain.conf, target: /etc/hosts, force: true}]',
    'a link that goes': 'links: [{path: /srv/current, absent: true}]',
  },
  drifts: {
    'host.links[].path': [drift('no link', gone('/usr/local/bin/app'), 'links/usr/local/bin/app')],
    'host.links[].target': [
      drift(
        'another target',
        (m) => m.put('/usr/local/bin/app', { type: 'symlink', content: '/bin/false', mode: 0o777 }),
        'links/usr/local/bin/app',
      ),
    ],
    'host.links[].force': { none: NOT_A_STATE },
    'host.links[].absent': [
      drift(
        'is there',
        (m) => m.put('/usr/local/bin/app-old', { type: 'symlink', content: 'x', mode: 0o777 }),
        'removals/usr/local/bin/app-old',
      ),
    ],
    'host.links[].restarts[]': { none: FOLLOWS },
    'host.links[].reloads[]': { none: FOLLOWS },
  },
  dropped: {
    'host.links[].*': UNDONE,
    'host.links[].force': ENTRY,
    'host.links[].absent': ABSENT,
  },
};
