import { drift, edit, type FeatureCases } from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  everything: 'limits: {services: {nofile: 1048576}, sessions: {"*": {nofile: {soft: 65536, hard: 1048576}}}}',
  undo: {
    limits: 'limits: {services: {nofile: 1048576}, sessions: {"*": {nofile: 65536}}}',
  },
  drifts: {
    'host.limits.services.**': [
      drift(
        'another limit',
        edit('/etc/systemd/system.conf.d/91-machineadm-limits-n1.conf', '1048576', '1024'),
        'limits/etc/systemd/system.conf.d/91-machineadm-limits-n1.conf',
      ),
    ],
    'host.limits.sessions.**': [
      drift(
        'another hard limit',
        edit('/etc/security/limits.d/91-machineadm-n1.conf', /\* hard .*\n/, ''),
        'limits/etc/security/limits.d/91-machineadm-n1.conf',
      ),
    ],
  },
  dropped: {
    'host.limits.**': {
      why: 'its file is written anew without it, and goes with the last',
      stays: /^\/etc\/systemd\/system\.conf\.d /,
    },
  },
};
