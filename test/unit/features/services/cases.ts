import {
  ABSENT,
  AS_IT_IS,
  drift,
  edit,
  type FeatureCases,
  gone,
  service,
  UNDONE,
} from '../../../support/feature-cases.ts';

const UNIT = '/etc/systemd/system/agent.service';
const DROP_IN = `${UNIT}.d/10-x.conf`;

export const cases: FeatureCases = {
  everything: `services:
  - {name: agent, enabled: true, state: Started, dropIns: [{name: 10-x.conf, content: "[Service]\\nNice=1\\n"}]}
  - {name: cron, enabled: false, state: Stopped}
  - {name: unattended-upgrades, masked: true}
  - {name: auditd, masked: false}`,
  undo: {
    'no service any more': 'services: [{name: legacy, absent: true}]',
    'a service of its own': [
      'files: [{path: /etc/systemd/system/agent.service, content: "[Service]\\nExecStart=/bin/agent\\n"}]',
      'services: [{name: agent, enabled: true, state: Started, dropIns: [{name: 10-x.conf, content: "[Service]\\n"}]}]',
    ].join('\n'),
    'a service masked': 'services: [{name: unattended-upgrades, masked: true, state: Stopped}]',
    'a service disabled': 'services: [{name: cron, enabled: false, state: Stopped}]',
    'a service unmasked': 'services: [{name: auditd, masked: false, enabled: true, state: Started}]',
    'a drop-in of a service': 'services: [{name: containerd, dropIns: [{name: 10-x.conf, content: "[Service]\\n"}]}]',
  },
  drifts: {
    'host.services[].name': [drift('its unit is not there', gone(UNIT), `files/${UNIT}`, 'services/agent/reread')],
    'host.services[].enabled': [
      drift('not at the next boot', service('agent', { enabled: false }), 'services/agent/enable'),
      drift('at the next boot', service('cron', { enabled: true }), 'services/cron/disable'),
    ],
    'host.services[].masked': [
      drift('not masked', service('unattended-upgrades', { masked: false }), 'services/unattended-upgrades/mask'),
      drift('masked', service('auditd', { masked: true }), 'services/auditd/unmask'),
    ],
    'host.services[].state': [
      drift('stopped', service('agent', { active: false }), 'services/agent/start'),
      drift('started', service('cron', { active: true }), 'services/cron/stop'),
    ],
    'host.services[].dropIns[].name': [drift('no drop-in', gone(DROP_IN), 'services/agent/drop-in/10-x.conf')],
    'host.services[].dropIns[].content': [
      drift('another content', edit(DROP_IN, 'Nice=1', 'Nice=2'), 'services/agent/drop-in/10-x.conf'),
    ],
    'host.services[].absent': {
      elsewhere: [
        'test/unit/undo/removals/removed-names.test.ts',
        'is stopped, disabled, and removed with its drop-ins',
      ],
    },
  },
  dropped: {
    'host.services[].name': UNDONE,
    'host.services[].enabled': AS_IT_IS,
    'host.services[].masked': AS_IT_IS,
    'host.services[].state': { ...AS_IT_IS, stays: /^service / },
    'host.services[].dropIns[].*': UNDONE,
    'host.services[].absent': ABSENT,
  },
};
