import type { ReadinessDemand } from '../../src/kubernetes/readiness.ts';
import { facts } from './facts.ts';

const { machineId, bootId } = facts();

/** What must be there before the node of an ordinary machine is ready: the Node of `nodeObject`, registered. */
export const READINESS_DEMAND = {
  require: 'NodeRegistered',
  nodeName: 'node-1',
  nodeNameGiven: false,
  providerId: undefined,
  machineId,
  bootId,
} as const satisfies ReadinessDemand;
