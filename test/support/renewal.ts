import type { Model } from '@machineadm/document/model/index.ts';
import { upgradeCertificates } from '../../src/features/upgrade/certificates.ts';
import { EMPTY_RECORD, type StepRecord } from '../../src/step/index.ts';
import type { Upgrade } from '../../src/step/upgrade-order.ts';
import { hostModel } from './host-model.ts';
import { kubernetesModel } from './kubernetes-model.ts';
import type { renewalNode } from './renewal-node.ts';
import { runStep } from './run-step.ts';

export const DAY_MS = 86_400_000;
const CHANGE = 'upgrade-certificates/renew';
export const RECORD_PATH = '/var/lib/machineadm/upgrade/certificates.json';
export const UPGRADE: Upgrade = {
  ...{ from: 'v1.35.2', to: 'v1.35.2', subjects: ['certificates'] },
  drain: { by: 'machineadm' },
};
export const RECORD: StepRecord = { ...EMPTY_RECORD, upgrade: UPGRADE };
export const INTERRUPTED: StepRecord = { ...RECORD, interrupted: new Set([CHANGE]) };
export const SOON = { apiserver: 10, 'etcd-server': 12, 'scheduler.conf': 5 };

/** @param controlPlaneMs how long it waits for each pod */
export function model(renewBeforeMs: number | undefined, controlPlaneMs = 60_000): Model {
  const { controlPlane } = kubernetesModel();
  const kubernetes = kubernetesModel({
    ...{ version: 'v1.35.2', timeouts: { controlPlaneMs }, node: { name: 'node-1' } },
    controlPlane: { ...controlPlane, certificates: { renewBeforeMs } },
  });
  return { ...hostModel(), kubernetes };
}

export const MONTH = model(30 * DAY_MS);
export type Node = Awaited<ReturnType<typeof renewalNode>>;

export const run = (node: Node, record: StepRecord = RECORD, asked: Model = MONTH) =>
  runStep(upgradeCertificates, node.host, asked, { record });
