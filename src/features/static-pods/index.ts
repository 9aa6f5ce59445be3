import { hash } from 'node:crypto';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import { staticPodFiles } from '../../kubernetes/static-pods.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';

export interface StaticPodsDesired {
  readonly kubernetes: KubernetesModel;
  readonly kubeadm: Version;
}

export interface StaticPodsActual {
  /** Paths of manifests that are not as the document wants them, and how they differ. */
  readonly different: readonly { readonly path: string; readonly how: string }[];
}

export interface StaticPodPayload {
  readonly desired: StaticPodsDesired;
  readonly path: string;
}

/**
 * Static pods of the document, such as kube-vip, laid before kubeadm so that they run as soon as it starts the kubelet.
 * After the bootstrap they are the cluster's, and a hook may have edited one before: both are left alone.
 */
export const staticPods: FeatureStep<StaticPodsDesired, StaticPodsActual, StaticPodPayload> = {
  id: 'static-pods',
  section: 'kubernetes.controlPlane.staticPods',
  isRequested: STAYS,

  desired({ kubernetes }, facts) {
    // Without kubeadm, the step kubeadm refuses before this one is asked for anything.
    if (kubernetes === undefined || kubernetes.exec !== undefined || facts.kubeadm === undefined) return undefined;
    return kubernetes.controlPlane.staticPods.length === 0 ? undefined : { kubernetes, kubeadm: facts.kubeadm };
  },

  async inspect(host, { kubernetes, kubeadm }, record) {
    if (record.bootstrap === 'done') return { different: [] };
    const different: { path: string; how: string }[] = [];
    for (const { path, content, mode } of await staticPodFiles(kubernetes, kubeadm)) {
      const stat = await host.stat(path);
      if (stat === undefined) different.push({ path, how: 'create' });
      else if (stat.type !== 'file') different.push({ path, how: `is a ${stat.type}` });
      else if ((await host.sha256(path)) !== hash('sha256', content)) {
        const editedSince = member(record.notes.get(changeId(path)), 'sha256') === hash('sha256', content);
        if (!editedSince) different.push({ path, how: 'another content' });
      } else if (stat.mode !== mode) different.push({ path, how: 'another mode' });
    }
    return { different };
  },

  plan(desired, { different }) {
    return different.map(({ path, how }) => ({
      id: changeId(path),
      summary: `${path}: ${how}`,
      action: how.startsWith('create') ? 'add' : 'change',
      scope: 'node',
      ineffective: 'FileNotWritten',
      payload: { desired, path },
    }));
  },

  async apply(host, { payload }, execution) {
    const { kubernetes, kubeadm } = payload.desired;
    const file = (await staticPodFiles(kubernetes, kubeadm)).find(({ path }) => path === payload.path);
    if (file === undefined) return;
    await host.writeFile(file);
    // After the write: a note of what never was written would make another file look like an edited one.
    execution.remember({ sha256: hash('sha256', file.content) });
  },
};

function changeId(path: string): string {
  return `static-pods/${path}`;
}
