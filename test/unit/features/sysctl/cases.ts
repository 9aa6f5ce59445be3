import { drift, edit, type FeatureCases } from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  everything: 'sysctl: {vm.overcommit_memory: 1, kernel.panic: 10, net.ipv4.ip_forward: 1}',
  undo: {
    'kernel settings': 'sysctl: {vm.overcommit_memory: 1, kernel.panic: 10}',
    forwarding: 'sysctl: {net.ipv4.ip_forward: 1, net.ipv4.conf.all.rp_filter: 0}',
  },
  drifts: {
    'host.sysctl.*': [
      drift(
        'another value now',
        (m) => m.writeKernelFile('/proc/sys/vm/overcommit_memory', '0'),
        'sysctl/vm/overcommit_memory',
      ),
      drift(
        'another value at the next boot',
        edit('/etc/sysctl.d/99-zzz-machineadm-n1.conf', 'overcommit_memory = 1', 'overcommit_memory = 2'),
        'sysctl/file',
      ),
    ],
  },
};
