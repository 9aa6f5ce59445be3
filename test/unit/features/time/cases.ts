import {
  drift,
  edit,
  type FeatureCases,
  NOT_A_STATE,
  RUN,
  service,
  staying,
  UNDONE,
} from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  everything: 'time: {servers: [10.0.0.1]}',
  undo: {
    'a time service': 'time: {servers: [10.0.0.1]}',
    'the time servers of the distribution': staying(
      'time: {servers: []}\nhostname: node-2',
      /hostname|cloud\.cfg\.d|^\/etc\/hosts /,
      /^the host name stays/,
    ),
    'no time service': 'time: {enabled: false}',
  },
  drifts: {
    'host.time.enabled': [
      drift('the service does not run', service('chrony', { active: false }), 'time/chrony/start'),
      drift('nor at the next boot', service('chrony', { enabled: false }), 'time/chrony/enable'),
      drift('another beside it', service('systemd-timesyncd', { active: true }), 'time/systemd-timesyncd/stop'),
      drift(
        'another at the next boot',
        service('systemd-timesyncd', { enabled: true }),
        'time/systemd-timesyncd/disable',
      ),
    ],
    'host.time.servers[]': [
      drift(
        'another server',
        edit('/etc/chrony/conf.d/90-machineadm.conf', '10.0.0.1', '10.0.0.2'),
        'time/file//etc/chrony/conf.d/90-machineadm.conf',
      ),
      drift(
        'the servers of the distribution again',
        edit('/etc/chrony/chrony.conf', '#machineadm# ', ''),
        'time/file//etc/chrony/chrony.conf',
      ),
      drift(
        'another file of servers',
        (m) => m.put('/etc/chrony/conf.d/site.conf', 'server 192.0.2.9\n'),
        'time/file//etc/chrony/conf.d/site.conf',
      ),
    ],
    'host.time.synchronized.*': { none: NOT_A_STATE },
  },
  dropped: {
    'host.time.**': UNDONE,
    'host.time.synchronized.*': RUN,
  },
};
