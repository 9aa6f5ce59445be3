import type { Argument, ComponentModel, Model } from '@machineadm/document/model/index.ts';
import { EMPTY_RECORD, type StepRecord } from '../../src/step/index.ts';
import type { PodNames, Upgrade } from '../../src/step/upgrade-order.ts';
import { hostModel } from './host-model.ts';
import { kubernetesModel } from './kubernetes-model.ts';

export const CHANGE = (pod: string) => `upgrade-control-plane/${pod}`;
export const NONE = { args: [], env: [], volumes: [] };

export function recordOf(before: PodNames, more: Partial<StepRecord> = {}): StepRecord {
  const upgrade: Upgrade = {
    ...{ from: 'v1.35.2', to: 'v1.35.2', subjects: ['controlPlane'], before },
    drain: { by: 'machineadm' },
  };
  return { ...EMPTY_RECORD, upgrade, ...more };
}

export const RECORD = recordOf({});
export const V4: Argument[] = [{ name: 'v', value: '4' }];

export interface Asked {
  readonly scheduler?: Partial<ComponentModel>;
  readonly controllerManager?: Partial<ComponentModel>;
  readonly etcd?: readonly Argument[];
  readonly patched?: 'kube-scheduler';
  readonly timeoutMs?: number;
}

export function model({ scheduler, controllerManager, etcd = [], patched, timeoutMs = 15_000 }: Asked): Model {
  const { controlPlane, kubeadm } = kubernetesModel();
  const kubernetes = kubernetesModel({
    ...{ version: 'v1.35.2', timeouts: { controlPlaneMs: timeoutMs }, node: { name: 'node-1' } },
    kubeadm: patched === undefined ? {} : { ...kubeadm, patches: [{ target: patched, type: 'json', patch: [] }] },
    controlPlane: {
      ...controlPlane,
      scheduler: { ...NONE, ...scheduler },
      controllerManager: { ...NONE, ...controllerManager },
      etcd: {
        ...{ kind: 'local', dataDirectory: undefined, imageRepository: undefined, imageTag: undefined },
        ...{ args: etcd, env: [], serverCertSANs: [], peerCertSANs: [] },
      },
    },
  });
  return { ...hostModel(), kubernetes };
}
