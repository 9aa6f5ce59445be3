import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { asAnotherPod, isSamePod, readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import { processesOf } from '../../../../src/kubernetes/api-server/processes.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const MANIFEST = `apiVersion: v1
kind: Pod
metadata:
  annotations:
    kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: 10.0.0.3:6443
  name: kube-apiserver
spec:
  containers:
  - command:
    - kube-apiserver
    - --profiling=false
    env:
    - {name: A, value: b}
  volumes:
  - hostPath: {path: /etc/kubernetes/pki, type: DirectoryOrCreate}
    name: k8s-certs
`;

describe("the API server's manifest", () => {
  test('tells what runs and where it listens', async () => {
    assert.deepEqual(await readManifest(MANIFEST), {
      command: ['kube-apiserver', '--profiling=false'],
      endpoint: '10.0.0.3:6443',
      env: ['A'],
      volumes: [{ name: 'k8s-certs', hostPath: '/etc/kubernetes/pki' }],
    });
    assert.equal(await readManifest('kind: Pod'), undefined);
    assert.equal(await readManifest('{'), undefined);
  });

  test('as another pod differs only in when it was configured, which YAML 1.1 reads as text', async () => {
    const at = new Date('2026-11-20T22:00:00.000Z');
    const other = await asAnotherPod(MANIFEST, at);
    assert.match(other, /machineadm\.dev\/configured-at: "2026-11-20T22:00:00\.000Z"/);
    assert.notEqual(other, MANIFEST);
    assert.ok(await isSamePod(MANIFEST, other));
    assert.ok(await isSamePod(other, await asAnotherPod(other, new Date())));
    assert.ok(!(await isSamePod(MANIFEST, MANIFEST.replace('false', 'true'))));
  });
});

describe('the processes of an API server', () => {
  test('are known by their whole command line and when they began', async () => {
    const stat = (start: number) =>
      `7 (a name) with) blanks) S ${Array.from({ length: 18 }, () => 0).join(' ')} ${start} 0\n`;
    const host = memoryHost({
      files: {
        '/proc/7/cmdline': 'kube-apiserver\0--profiling=false\0',
        '/proc/7/stat': stat(4711),
        '/proc/8/cmdline': 'kube-apiserver\0--profiling=false\0--other\0',
        '/proc/8/stat': stat(1),
        '/proc/9/stat': stat(1),
        '/proc/self/cmdline': 'kube-apiserver\0--profiling=false\0',
      },
    });
    assert.deepEqual(await processesOf(host, ['kube-apiserver', '--profiling=false']), ['7:4711']);
    assert.deepEqual(await processesOf(host, ['kube-apiserver']), []);
  });
});
