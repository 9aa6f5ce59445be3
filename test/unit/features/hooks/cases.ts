import type { FeatureCases } from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  undo: {},
  drifts: {
    'host.hooks.**': { none: 'a command leaves what it leaves: docs/hooks.md says when it is run again' },
  },
  dropped: {
    'host.hooks.**': { why: 'machineadm does not know what hooks did; the plan says that it stays' },
  },
};
