import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { recordObstacles } from '../../../../src/kubernetes/upgrade/pod-settings.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';

const { controlPlane } = kubernetesModel();
const asked = kubernetesModel({
  controlPlane: {
    ...controlPlane,
    scheduler: {
      args: [{ name: 'v', value: '4' }],
      env: [{ name: 'TOKEN', value: 'do-not-show' }],
      volumes: [{ name: 'extra', hostPath: '/a', mountPath: '/b', readOnly: true, pathType: 'File' }],
    },
  },
});

describe("the cluster's configuration", () => {
  test('that lacks settings of the document is a warning, without values of variables', () => {
    const [found, ...more] = recordObstacles(asked, { scheduler: { extraArgs: [{ name: 'v', value: '2' }] } });
    assert.deepEqual([found?.reason, found?.severity, more], ['ControlPlaneEdited', 'warning', []]);
    assert.match(
      found?.what ?? '',
      /from it: kube-scheduler --v: 2 -> 4; kube-scheduler the variable TOKEN is new; kube-scheduler the volume extra: \(none\) -> \/a at \/b \(read only, File\)$/,
    );
    assert.doesNotMatch(JSON.stringify(found), /do-not-show/);
  });

  test('with these settings and more of others is in order, in both formats of kubeadm', () => {
    const rest = {
      extraEnvs: [{ name: 'TOKEN', value: 'do-not-show' }],
      extraVolumes: [{ name: 'extra', hostPath: '/a', mountPath: '/b', readOnly: true, pathType: 'File' }],
    };
    for (const extraArgs of [
      { v: '4', other: 'x' },
      [
        { name: 'other', value: 'x' },
        { name: 'v', value: '4' },
      ],
    ])
      assert.deepEqual(recordObstacles(asked, { scheduler: { extraArgs, ...rest }, etcd: { external: {} } }), []);
  });
});
