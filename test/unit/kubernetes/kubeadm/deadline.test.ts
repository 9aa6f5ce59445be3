import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { kubeadmDeadlineMs } from '@machineadm/kubeadm/deadline.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';

const MINUTE = 60_000;

describe('the deadline of kubeadm', () => {
  test('leaves each phase its own limit, so that kubeadm names the one that failed', () => {
    // 20 min for a worker and 28 min for a control plane are kubeadm's own worst cases without image pulls.
    assert.ok(kubeadmDeadlineMs(kubernetesModel({ role: 'Worker' })) >= 20 * MINUTE);
    assert.ok(kubeadmDeadlineMs(kubernetesModel({ role: 'JoinControlPlane' })) >= 28 * MINUTE);
    assert.ok(kubeadmDeadlineMs(kubernetesModel({ role: 'InitControlPlane' })) >= 8 * MINUTE);
  });

  test("is the sum of kubeadm's own limits and 15 minutes, where the document sets none", () => {
    const minutes = (role: KubernetesModel['role']) => kubeadmDeadlineMs(kubernetesModel({ role })) / MINUTE;
    assert.deepEqual([minutes('InitControlPlane'), minutes('Worker'), minutes('JoinControlPlane')], [25, 36, 46]);
  });

  test('grows with the limits of the document', () => {
    const longer = { discoveryMs: 65 * MINUTE };
    const difference =
      kubeadmDeadlineMs(kubernetesModel({ role: 'Worker', timeouts: longer })) -
      kubeadmDeadlineMs(kubernetesModel({ role: 'Worker' }));
    assert.equal(difference, 2 * 60 * MINUTE);
  });
});
