import { createHash } from 'node:crypto';
import { KUBELET_FLAGS_ENVIRONMENT } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change } from '../../step/index.ts';

export interface KubeletArgumentsActual {
  /** From the file that kubeadm wrote; undefined before. */
  readonly written: string | undefined;
  /** From the kubelet's last start by this step. */
  readonly started: string | undefined;
}

const CHANGE = 'kubelet-arguments/restart';

/**
 * Starts the kubelet with the arguments that kubeadm wrote, on machines whose service does not read them: a Windows
 * service has its arguments in its own definition, which a script of Kubernetes' image-builder recreates
 * (images/capi/ansible/windows/roles/kubernetes/templates/RestartKubelet.ps1). Without it, everything in
 * `kubernetes.node.kubelet.args`, including labels and taints, would be lost silently.
 */
export const kubeletArguments: FeatureStep<Record<string, never>, KubeletArgumentsActual, string | undefined> = {
  id: 'kubelet-arguments',
  section: 'kubernetes.node',
  isRequested: STAYS,

  desired(model) {
    const { kubernetes } = model;
    if (kubernetes === undefined || kubernetes.exec !== undefined) return undefined;
    return {};
  },

  async inspect(host, _desired, record) {
    const started = member(record.notes.get(CHANGE), 'sha256');
    return { written: await digest(host), started: typeof started === 'string' ? started : undefined };
  },

  plan(_desired, { written, started }) {
    if (written !== undefined && written === started) return [];
    const change: Change<string | undefined> = {
      id: CHANGE,
      summary: `start the kubelet with the arguments of ${KUBELET_FLAGS_ENVIRONMENT}`,
      scope: 'node',
      knownAfter: 'kubeadm',
      payload: written,
    };
    return [change];
  },

  async apply(host, { payload }, execution) {
    execution.waitingFor('the kubelet to start with its arguments');
    await host.services.restart('kubelet');
    execution.waitingFor(undefined);
    // Afterwards: a kill in between only starts the kubelet once more.
    execution.remember({ sha256: payload });
  },
};

async function digest(host: QueryHost): Promise<string | undefined> {
  const text = await host.readText(KUBELET_FLAGS_ENVIRONMENT);
  return text === undefined ? undefined : createHash('sha256').update(text).digest('hex');
}
