import { drift, edit, type FeatureCases, gone, staying } from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  everything: 'kernelModules: [overlay, br_netfilter]',
  undo: {
    'kernel modules': staying(
      'kernelModules: [overlay, br_netfilter]',
      /^\/sys\/module\//,
      /^the kernel module br_netfilter stays loaded/,
    ),
    'a module that is loaded already': 'kernelModules: [loop]',
  },
  drifts: {
    'host.kernelModules[]': [
      drift('not loaded', gone('/sys/module/overlay'), 'kernel-modules/load/overlay'),
      drift(
        'not at the next boot',
        edit('/etc/modules-load.d/91-machineadm-n1.conf', 'overlay\n', ''),
        'kernel-modules/file',
      ),
    ],
  },
  dropped: {
    'host.kernelModules[]': {
      why: 'programs may use a module unseen; the plan says that it stays',
      stays: /^\/sys\/module\//,
    },
  },
};
