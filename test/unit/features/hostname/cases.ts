import { CLOUD_INIT_HOSTNAME_FILE } from '@machineadm/document/ownership/paths.ts';
import { drift, edit, type FeatureCases, gone, staying } from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  everything: 'hostname: node-1',
  undo: {
    'a host name': staying('hostname: node-1', /hostname|cloud\.cfg\.d|^\/etc\/hosts /, /^the host name stays/),
  },
  drifts: {
    'host.hostname': [
      drift('another name at the next boot', edit('/etc/hostname', 'node-1', 'node-2'), 'hostname/file'),
      drift('another name now', (m) => m.writeKernelFile('/proc/sys/kernel/hostname', 'node-2'), 'hostname/running'),
      drift('cloud-init may change it', gone(CLOUD_INIT_HOSTNAME_FILE), 'hostname/cloud-init'),
    ],
  },
  dropped: {
    'host.hostname': {
      why: 'the machine is known by its name; the plan says that it stays',
      stays: /hostname|cloud\.cfg\.d|^\/etc\/hosts /,
    },
  },
};
