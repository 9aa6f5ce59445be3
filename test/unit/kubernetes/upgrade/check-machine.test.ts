import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import type { KubeadmPod } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { parseVersion } from '@machineadm/document/program-version.ts';
import { certificateObstacles, driftObstacles, spaceAt } from '../../../../src/kubernetes/upgrade/check-machine.ts';
import { settingObstacles } from '../../../../src/kubernetes/upgrade/check-settings.ts';
import { newAuthority } from '../../../support/api-server.ts';
import { memoryHost } from '../../../support/memory-host.ts';

describe('space', () => {
  for (const [avail, reason] of [
    ['{"filesystems":[{"avail":1000}]}', 'DiskFull'],
    ['{"filesystems":[{"avail":2000}]}', undefined],
    // Older versions of findmnt print a text.
    ['{"filesystems":[{"avail":"2000"}]}', undefined],
    ['nonsense', 'PreflightFailed'],
  ] as const) {
    test(`${avail}: ${reason ?? 'enough'}`, async () => {
      const host = memoryHost({ files: {}, programs: { findmnt: () => ({ stdout: avail }) } });
      const [found] = await spaceAt(host, '/var/lib/machineadm/upgrade', 2000);
      assert.equal(found?.reason, reason);
      assert.equal(found?.severity, avail === 'nonsense' ? 'skipped' : undefined);
      assert.match(host.queries.join(), /--target \/$/);
    });
  }
});

describe('static pods', () => {
  const DIFF = [
    '--- /etc/kubernetes/manifests/kube-apiserver.yaml',
    '+++ new manifest',
    '@@ -10,6 +10,5 @@',
    '     - kube-apiserver',
    '-    - --profiling=false',
    '--- /etc/kubernetes/manifests/kube-scheduler.yaml',
    '+++ new manifest',
    '-    machineadm.dev/configured-at: "1"',
    '',
  ].join('\n');
  const drift = (stdout: string, kubeadm = 'v1.35.9', patched: readonly KubeadmPod[] = []) => {
    const host = memoryHost({ files: {}, programs: { kubeadm: () => ({ stdout }) } });
    return driftObstacles(host, { from: 'v1.35.2' }, parseVersion(kubeadm), patched);
  };

  test('that were edited are named, and not those that machineadm annotated', async () => {
    const [found, ...others] = await drift(DIFF);
    assert.equal(found?.reason, 'ControlPlaneEdited');
    assert.match(found?.what ?? '', /kube-apiserver\.yaml \(removes --profiling=false\)$/);
    assert.doesNotMatch(found?.evidence?.map(({ text }) => text).join() ?? '', /scheduler/);
    assert.deepEqual(others, []);
  });

  test('without edits are in order', async () => {
    assert.deepEqual(await drift(''), []);
  });

  test('that kubeadm waits for as long as the document says are no edits', async () => {
    const lines = ['-      failureThreshold: 9', '+      failureThreshold: 24', ''];
    assert.deepEqual(await drift(`--- /etc/kubernetes/manifests/etcd.yaml\n+++ new manifest\n${lines.join('\n')}`), []);
  });

  test('show what kubeadm would change, without values of variables', async () => {
    const lines = ['-    - name: TOKEN', '-      value: do-not-show', '+    - --v=2'];
    const many = Array.from({ length: 8 }, (_, index) => `+    - --a${index}=1`);
    const text = ['--- /m/kube-scheduler.yaml', '+++ new manifest', ...lines, ...many, ''].join('\n');
    const [found] = await drift(text);
    assert.match(
      found?.what ?? '',
      /\/m\/kube-scheduler\.yaml \(removes name: TOKEN; removes value: \(not shown\); adds --v=2; .*; and 3 lines more\)$/,
    );
    assert.doesNotMatch(JSON.stringify(found), /do-not-show/);
  });

  test('with patches are not compared, and the others are', async () => {
    const more = `--- /etc/kubernetes/manifests/kube-controller-manager.yaml\n+++ new manifest\n-    - --v=9\n${DIFF}`;
    const [skipped, found] = await drift(more, 'v1.35.9', ['kube-apiserver']);
    assert.match(skipped?.what ?? '', /edited by hand, for kube-apiserver: not checked/);
    assert.match(
      found?.what ?? '',
      /undo that: \/etc\/kubernetes\/manifests\/kube-controller-manager\.yaml \(removes --v=9\)$/,
    );
    assert.doesNotMatch(found?.evidence?.map(({ text }) => text).join() ?? '', /profiling/);
  });

  test('cannot be compared by a kubeadm of another minor version: it says so', async () => {
    for (const found of [await drift(DIFF, 'v1.36.0'), await drift(DIFF, 'v1.35.9', ['kube-apiserver'])]) {
      assert.deepEqual(
        found.map(({ severity }) => severity),
        ['skipped'],
      );
      assert.match(found[0]?.what ?? '', /not checked/);
    }
  });
});

test('an expired certificate is found by its path, one that is valid or missing is not', async () => {
  const { certificate } = newAuthority();
  const now = new X509Certificate(certificate).validFromDate.getTime();
  const host = memoryHost({ files: { '/etc/kubernetes/pki/ca.crt': certificate } });
  assert.deepEqual(await certificateObstacles(host, '/etc/kubernetes/pki', now), []);
  const later = now + 24 * 3_600_000;
  const found = await certificateObstacles(host, '/etc/kubernetes/pki', later);
  assert.deepEqual(
    found.map(({ reason }) => reason),
    ['CertificateExpired'],
  );
  assert.match(found[0]?.what ?? '', /\/etc\/kubernetes\/pki\/ca\.crt was valid until/);
});

describe('flags and feature gates of what runs', () => {
  const found = async (files: Record<string, string>, minor: number, configuration: unknown = {}) => {
    const obstacles = await settingObstacles(memoryHost({ files }), minor, configuration);
    return obstacles.map(({ reason, what }) => `${reason} ${what}`);
  };
  const apiServer = (argument: string) => ({
    '/etc/kubernetes/manifests/kube-apiserver.yaml': `apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: kube-apiserver\n    image: x\n    command: [kube-apiserver, ${argument}]\n`,
  });

  test('that the new version does not have are named with their file', async () => {
    const removed = await found({ '/etc/default/kubelet': 'KUBELET_EXTRA_ARGS="--container-runtime=remote"\n' }, 36);
    assert.match(
      removed.join(),
      /^PreflightFailed \/etc\/default\/kubelet: kubelet 1\.36 no longer has --container-runtime$/,
    );
    const gate = await found(apiServer('--feature-gates=NoSuchGate=true'), 36);
    assert.deepEqual(gate, [], 'a gate that is not known is not judged');
  });

  test('that kubeadm wrote and removes itself are in order', async () => {
    const flags = {
      '/var/lib/kubelet/kubeadm-flags.env': 'KUBELET_KUBEADM_ARGS="--container-runtime=remote --node-ip=10.0.0.5"\n',
    };
    assert.deepEqual(await found(flags, 36), []);
  });
});
