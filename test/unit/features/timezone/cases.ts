import { drift, edit, type FeatureCases } from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  everything: 'timezone: Europe/Zurich',
  undo: {
    'a time zone': 'timezone: Europe/Zurich',
  },
  drifts: {
    'host.timezone': [
      drift(
        'another zone',
        (m) => m.put('/etc/localtime', { type: 'symlink', content: '../usr/share/zoneinfo/Etc/UTC', mode: 0o777 }),
        'timezone/etc/localtime',
      ),
      drift('a copy instead of the link', (m) => m.put('/etc/localtime', 'TZif2'), 'timezone/etc/localtime'),
      drift('another name of it', edit('/etc/timezone', 'Europe/Zurich', 'Etc/UTC'), 'timezone/etc/timezone'),
    ],
  },
};
