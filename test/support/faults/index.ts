import { CONTROL_PLANE } from './control-plane.ts';
import { INIT_CLUSTER } from './init-cluster.ts';
import { INIT_RUNTIME } from './init-runtime.ts';
import { INIT_SERVICES } from './init-services.ts';
import { INIT_SURROUNDINGS } from './init-surroundings.ts';
import type { Sabotage } from './sabotage.ts';
import { WORKER } from './worker.ts';

/** Every sabotage, in the order of the table. */
export const SABOTAGES: readonly Sabotage[] = [
  ...INIT_SERVICES,
  ...INIT_RUNTIME,
  ...INIT_SURROUNDINGS,
  ...INIT_CLUSTER,
  ...WORKER,
  ...CONTROL_PLANE,
];
