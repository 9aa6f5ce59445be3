import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ReconfigurationInput, reconfiguration } from '@machineadm/kubeadm/api-server/cluster-configuration.ts';
import type { RequestedNames } from '@machineadm/kubeadm/components.ts';
import { parse, parseAllDocuments } from 'yaml';
import { kubeadmOf, kubernetesModel, PLAIN_API_SERVER } from '../../../support/kubernetes-model.ts';

const LOCAL_ETCD = {
  ...{ kind: 'local' as const, dataDirectory: undefined, imageRepository: undefined, imageTag: undefined },
  ...{ args: [], env: [], serverCertSANs: [], peerCertSANs: [] },
};
const NOTHING = { args: [], env: [], volumes: [] };

function documentsOf(
  cluster: string,
  { before = NOTHING, ...wish }: Partial<ReconfigurationInput> & { readonly before?: RequestedNames },
  kubeadm: string,
  args = [{ name: 'v', value: '2' }],
) {
  const { controlPlane } = kubernetesModel();
  const kubernetes = kubernetesModel({ controlPlane: { ...controlPlane, apiServer: { ...PLAIN_API_SERVER, args } } });
  const text = reconfiguration({
    kubernetes,
    kubeadm: kubeadmOf(kubeadm),
    cluster: parse(cluster),
    pods: [{ pod: 'kube-apiserver', before }],
    nodeName: 'cp1',
    endpoint: '10.0.0.3:6443',
    patchesDirectory: undefined,
    ...wish,
  });
  const [first, second] = parseAllDocuments(text).map((document): Record<string, unknown> => document.toJS());
  return { cluster: first ?? {}, init: second ?? {} };
}

describe('the configuration with which kubeadm renders the API server anew', () => {
  test("is the cluster's own, but for what the document asks", () => {
    const found = documentsOf(
      `apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterConfiguration
kubernetesVersion: v1.21.5
apiServer: {timeoutForControlPlane: 4m0s, certSANs: [a], extraArgs: {v: "1", others: kept, mine: before}}
networking: {dnsDomain: corp.local}
`,
      { before: { ...NOTHING, args: ['v', 'mine'] } },
      '1.20.2',
    );
    assert.deepEqual(found.cluster, {
      apiVersion: 'kubeadm.k8s.io/v1beta2',
      kind: 'ClusterConfiguration',
      kubernetesVersion: 'v1.21.5',
      apiServer: { timeoutForControlPlane: '4m0s', certSANs: ['a'], extraArgs: { others: 'kept', v: '2' } },
      networking: { dnsDomain: 'corp.local' },
    });
    assert.deepEqual(found.init, {
      apiVersion: 'kubeadm.k8s.io/v1beta2',
      kind: 'InitConfiguration',
      nodeRegistration: { name: 'cp1', criSocket: 'unix:///run/containerd/containerd.sock' },
      localAPIEndpoint: { advertiseAddress: '10.0.0.3', bindPort: 6443 },
    });
  });

  test('speaks the version that the cluster was written in, not the newest of this kubeadm', () => {
    const found = documentsOf('{apiVersion: kubeadm.k8s.io/v1beta3, kind: ClusterConfiguration}', {}, '1.31.0');
    assert.deepEqual(found.cluster.apiServer, { extraArgs: { v: '2' } });
    assert.equal(found.init.apiVersion, 'kubeadm.k8s.io/v1beta3');
  });

  test('lists of v1beta4 keep what others gave, repeats included', () => {
    const found = documentsOf(
      `{apiVersion: kubeadm.k8s.io/v1beta4, kind: ClusterConfiguration, apiServer: {
        extraArgs: [{name: issuer, value: a}, {name: issuer, value: b}, {name: v, value: "1"}],
        extraVolumes: [{name: gone, hostPath: /a, mountPath: /a}, {name: kept, hostPath: /b, mountPath: /b}]}}`,
      { before: { ...NOTHING, volumes: ['gone'] }, patchesDirectory: '/patches', endpoint: '[fd00::1]:6443' },
      '1.34.0',
    );
    assert.deepEqual(found.cluster.apiServer, {
      extraArgs: [
        { name: 'issuer', value: 'a' },
        { name: 'issuer', value: 'b' },
        { name: 'v', value: '2' },
      ],
      extraVolumes: [{ name: 'kept', hostPath: '/b', mountPath: '/b' }],
    });
    assert.deepEqual(found.init.localAPIEndpoint, { advertiseAddress: 'fd00::1', bindPort: 6443 });
    assert.deepEqual(found.init.patches, { directory: '/patches' });
  });

  test('nothing asked any more leaves nothing of ours', () => {
    const found = documentsOf(
      '{apiVersion: kubeadm.k8s.io/v1beta3, kind: ClusterConfiguration, apiServer: {extraArgs: {v: "1"}}}',
      { before: { ...NOTHING, args: ['v'] } },
      '1.30.0',
      [],
    );
    assert.equal(found.cluster.apiServer, undefined);
  });
});

describe('the configuration with which kubeadm renders other static pods anew', () => {
  const { controlPlane } = kubernetesModel();
  const changed = (
    cluster: string,
    asked: Partial<typeof controlPlane>,
    before: RequestedNames,
    kubeadm = '1.34.0',
  ) => {
    const text = reconfiguration({
      ...{ kubernetes: kubernetesModel({ controlPlane: { ...controlPlane, ...asked } }), kubeadm: kubeadmOf(kubeadm) },
      ...{ cluster: parse(cluster), nodeName: 'cp1', endpoint: '10.0.0.3:6443', patchesDirectory: undefined },
      pods: (['etcd', 'kube-controller-manager', 'kube-scheduler'] as const).map((pod) => ({ pod, before })),
    });
    return parseAllDocuments(text)[0]?.toJS() as Record<string, unknown>;
  };
  const plain = { args: [{ name: 'v', value: '4' }], env: [], volumes: [] };
  const NEW = [{ name: 'v', value: '4' }];

  test('changes exactly their settings, and keeps those of others', () => {
    const found = changed(
      `apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
apiServer: {extraArgs: [{name: v, value: "1"}]}
controllerManager: {extraArgs: [{name: mine, value: x}, {name: theirs, value: y}]}
etcd: {local: {dataDir: /var/lib/etcd, imageTag: 3.6.4-0, serverCertSANs: [a]}}
`,
      {
        ...{ controllerManager: plain, scheduler: { ...plain, env: [{ name: 'GOGC', value: '50' }] } },
        etcd: { ...LOCAL_ETCD, args: NEW },
      },
      { ...NOTHING, args: ['mine'] },
    );
    assert.deepEqual(found, {
      apiVersion: 'kubeadm.k8s.io/v1beta4',
      kind: 'ClusterConfiguration',
      apiServer: { extraArgs: [{ name: 'v', value: '1' }] },
      controllerManager: { extraArgs: [{ name: 'theirs', value: 'y' }, ...NEW] },
      scheduler: { extraArgs: NEW, extraEnvs: [{ name: 'GOGC', value: '50' }] },
      etcd: { local: { dataDir: '/var/lib/etcd', imageTag: '3.6.4-0', serverCertSANs: ['a'], extraArgs: NEW } },
    });
  });

  test('removes what an earlier document asked, and leaves no empty section of ours', () => {
    const nothing = { args: [], env: [], volumes: [] };
    const found = changed(
      `apiVersion: kubeadm.k8s.io/v1beta3
kind: ClusterConfiguration
scheduler: {extraArgs: {v: "1"}}
etcd: {local: {dataDir: /var/lib/etcd, extraArgs: {v: "1"}}}
`,
      { controllerManager: nothing, scheduler: nothing, etcd: LOCAL_ETCD },
      { ...NOTHING, args: ['v'] },
      '1.30.0',
    );
    assert.deepEqual([found.scheduler, found.controllerManager], [undefined, undefined]);
    assert.deepEqual(found.etcd, { local: { dataDir: '/var/lib/etcd' } });
  });
});
