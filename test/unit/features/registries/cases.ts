import type { FeatureCases } from '../../../support/feature-cases.ts';

export const cases: FeatureCases = {
  undo: {},
  drifts: {
    'containerRuntime.containerd.registries[].verify': { none: 'is pulled once for each configuration of a registry' },
  },
};
