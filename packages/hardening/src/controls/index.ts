import { CIS_CONTROL_PLANE } from './cis-control-plane.ts';
import { CIS_NODE } from './cis-node.ts';
import type { Control } from './control.ts';
import { OPERATING_SYSTEM } from './operating-system.ts';
import { STIG_CONTROL_PLANE } from './stig-control-plane.ts';
import { STIG_NODE } from './stig-node.ts';

/** All known controls: by benchmark, in the order of their ids. */
export const CONTROLS: readonly Control[] = [
  ...CIS_CONTROL_PLANE,
  ...CIS_NODE,
  ...[...STIG_CONTROL_PLANE, ...STIG_NODE].sort((a, b) => (a.id < b.id ? -1 : 1)),
  ...OPERATING_SYSTEM,
];
