import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readSavedLog } from '@machineadm/failures/saved-log.ts';
import { verdict } from '@machineadm/failures/verdict.ts';

const judged = (lines: readonly string[], exitStatus?: number) =>
  verdict({ lines: readSavedLog(lines.join('\n')), exitStatus });

const REFUSED =
  'error execution phase preflight: couldn\'t validate the identity of the API Server: Get "https://10.0.0.10:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": dial tcp 10.0.0.10:6443: connect: connection refused';

describe('the verdict', () => {
  test('has exactly these fields, whatever it says', () => {
    const fields = [
      'outcome',
      'reason',
      'summary',
      'retryable',
      'cleanup',
      'phase',
      'evidence',
      'causes',
      'symptoms',
      'remedy',
      'confidence',
    ];
    for (const lines of [[REFUSED], ['This node has joined the cluster:'], ['the moon is in the wrong house'], []]) {
      assert.deepEqual(Object.keys(judged(lines)), fields);
    }
  });

  test('names the cause with its line, phase, remedy and whether to try again', () => {
    const found = judged(['[preflight] Running pre-flight checks', REFUSED]);
    assert.equal(found.reason, 'APIEndpointConnectionRefused');
    assert.equal(found.phase, 'preflight');
    assert.equal(found.retryable, true);
    assert.equal(found.cleanup, 'none');
    assert.deepEqual(found.evidence[0], { source: 'kubeadm', line: 2, text: REFUSED });
    assert.ok(found.confidence > 0.8);
  });

  test('is Unknown with the best evidence where nothing is known, and never a symptom in its place', () => {
    const last = "error execution phase wait-control-plane: couldn't initialize a Kubernetes cluster";
    const found = judged(['[kubelet-start] Starting the kubelet', last]);
    assert.equal(found.reason, 'Unknown');
    assert.equal(found.confidence, 0);
    assert.deepEqual(found.symptoms, ['ControlPlaneComponentNotHealthy']);
    assert.equal(found.evidence[0]?.text, last);
    assert.equal(found.cleanup, 'reset');
  });

  test("asks for the removal of etcd's member where one was announced", () => {
    const found = judged([
      '[etcd] Announced new etcd member joining to the existing etcd cluster',
      'error execution phase control-plane-join/etcd: error creating local etcd static pod manifest file: timeout waiting for etcd cluster to be available',
    ]);
    assert.equal(found.reason, 'EtcdClusterNotAvailable');
    assert.equal(found.cleanup, 'reset+member');
  });

  test('trusts an exit status more than the output', () => {
    assert.equal(judged([REFUSED], 0).outcome, 'success');
    assert.equal(judged([REFUSED], 0).reason, '');
    assert.equal(judged(['This node has joined the cluster:'], 1).outcome, 'failure');
  });

  test('names a retried error as the cause only where kubeadm was killed during the retry', () => {
    const retry = `I1120 token.go:223] [discovery] Failed to request cluster-info, will try again: ${REFUSED.slice(REFUSED.indexOf('Get'))}`;
    assert.equal(judged(['[preflight] Running pre-flight checks', retry]).reason, 'APIEndpointConnectionRefused');
    assert.equal(judged([retry, 'error execution phase preflight: something else']).reason, 'Unknown');
  });

  test('does not call an API server unstable because the Node for which kubeadm waited did not come', () => {
    const waited = [
      'error execution phase upload-config/kubelet: Error writing Crisocket information for the control-plane node: timed out waiting for the condition',
      'error execution phase mark-control-plane: timed out waiting for the condition',
    ];
    for (const line of waited) assert.equal(judged([line]).reason, 'NodeRegistrationTimeout', line);
    const registers =
      'Nov 30 15:23:28 cp-1 kubelet[344]: E1130 15:23:28.643287     344 kubelet_node_status.go:93] Unable to register node "cp-1" with API server: Post "https://10.0.0.10:6443/api/v1/nodes": proxyconnect tcp: dial tcp 10.0.0.1:3128: connect: connection refused';
    for (const line of waited) assert.equal(judged([line, registers]).reason, 'ProxyConnectFailed', line);
    const unstable = [
      'error execution phase upload-config/kubelet: Error writing Crisocket information for the control-plane node: Get "https://10.0.0.10:6443/api/v1/nodes/cp-1?timeout=10s": dial tcp 10.0.0.10:6443: connect: connection refused',
      'error execution phase bootstrap-token: timed out waiting for the condition',
    ];
    for (const line of unstable) assert.equal(judged([line]).reason, 'APIServerUnstable', line);
  });

  test('does not mistake a failure of a webhook for one of the API server', () => {
    const { reason } = judged([
      'error execution phase upload-config/kubeadm: Internal error occurred: failed calling webhook "x": Post "https://127.0.0.1:9/": dial tcp 127.0.0.1:9: connect: connection refused',
    ]);
    assert.equal(reason, 'AdmissionWebhookFailed');
  });

  test('does not mistake a limit of inotify or of a cgroup for a full disk', () => {
    for (const text of [
      'error execution phase kubelet-start: inotify_add_watch /etc/kubernetes: no space left on device',
      'error execution phase kubelet-start: mkdir /sys/fs/cgroup/memory/kubepods: no space left on device',
    ]) {
      assert.equal(judged([text]).reason, 'Unknown');
    }
  });

  test('shows no token and no certificate key', () => {
    const found = judged([
      '[preflight] kubeadm join --token abcdef.0123456789abcdef --certificate-key 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
      'error execution phase preflight: the moon',
    ]);
    assert.doesNotMatch(JSON.stringify(found), /0123456789abcdef/);
  });
});
