import type { ServiceState } from '../seam/host.ts';

/** The state of a service that the machine does not have. */
export const ABSENT_SERVICE: ServiceState = {
  exists: false,
  active: false,
  enabled: false,
  masked: false,
  detail: 'not-found',
  pid: undefined,
  startedAtMs: undefined,
};
