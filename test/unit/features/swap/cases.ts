import { drift, edit, type FeatureCases, put } from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  everything: 'swap: Disabled',
  undo: {
    'no swap': 'swap: Disabled',
  },
  drifts: {
    'host.swap': [
      drift(
        'on now',
        async (m) => put(m, '/proc/swaps', { content: `${m.text('/proc/swaps')}/dev/vda2 partition 1048576 0 5\n` }),
        'swap/off//dev/vda2',
      ),
      drift('on at the next boot', edit('/etc/fstab', '# machineadm disabled swap: ', ''), 'swap/fstab'),
      {
        what: 'a unit of it',
        by: (m) => m.put('/usr/lib/systemd/system/dev-zram0.swap', '[Swap]\nWhat=/dev/zram0\n'),
        finds: ['swap/unit/dev-zram0.swap'],
        stays: true,
      },
    ],
  },
};
