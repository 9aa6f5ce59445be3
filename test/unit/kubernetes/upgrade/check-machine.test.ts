import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { certificateObstacles, driftObstacles, spaceAt } from '../../../../src/kubernetes/upgrade/check-machine.ts';
import { settingObstacles } from '../../../../src/kubernetes/upgrade/check-settings.ts';
import { newAuthority } from '../../../support/api-server.ts';
import { kubeadmDiff } from '../../../support/kubeadm-diff.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
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
  const SCHEDULER = '/etc/kubernetes/manifests/kube-scheduler.yaml';
  const manifest = (...args: readonly string[]) =>
    `spec:\n  containers:\n  - command: [${['kube-scheduler', ...args].join(', ')}]\n    startupProbe: {failureThreshold: 24}\n`;
  const edited = (now: string, written: string) => kubeadmDiff(SCHEDULER, now, written);
  const annotation = 'metadata: {annotations: {machineadm.dev/configured-at: "1"}, labels: {a: b}}\n';
  const API_SERVER = '/etc/kubernetes/manifests/kube-apiserver.yaml';
  const API_SERVER_DIFF = kubeadmDiff(API_SERVER, manifest('--profiling=false'), manifest());
  const DIFF = `${API_SERVER_DIFF}${edited(annotation + manifest(), `metadata: {labels: {a: b}}\n${manifest()}`)}`;
  const pods = (different: Partial<KubernetesModel> = {}) => ({
    ...{ kubernetes: { ...kubernetesModel(), ...different }, socket: '/run/c.sock', nodeName: 'node-1' },
    cluster: { apiVersion: 'kubeadm.k8s.io/v1beta4', kind: 'ClusterConfiguration', kubernetesVersion: 'v1.35.3' },
  });
  const drift = (stdout: string, kubeadm = 'v1.35.9', files: Record<string, string> = {}) => {
    const host = memoryHost({ files, programs: { kubeadm: () => ({ stdout }) } });
    return driftObstacles(host, { from: 'v1.35.2' }, parseVersion(kubeadm), pods());
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

  test('are not known where the output was cut off', async () => {
    const [found, ...others] = await drift(DIFF.slice(0, 250));
    assert.deepEqual([found?.severity, others], ['skipped', []]);
    assert.match(found?.what ?? '', /edited by hand: not checked: the output of kubeadm upgrade diff is not one$/);
    const [edited] = await drift(`[upgrade/diff] Reading configuration from the cluster...\n${DIFF}`);
    assert.equal(edited?.reason, 'ControlPlaneEdited');
  });

  test('that kubeadm waits for as long as the document says are no edits', async () => {
    assert.deepEqual(await drift(edited(manifest().replace('24', '9'), manifest())), []);
  });

  test('that are written in another way, with the arguments in another order, are shown with what differs', async () => {
    const ordered = 'spec: {containers: [{command: [kube-scheduler, --b, --a]}]}\n';
    const [found] = await drift(edited(ordered, 'spec:\n  containers:\n  - command: [kube-scheduler, --a, --b]\n'));
    assert.match(found?.what ?? '', /kube-scheduler\.yaml \(removes --b; adds --b\)$/);
  });

  test('show what kubeadm would change, without values of variables', async () => {
    const pod = (command: string, value: string) =>
      `spec:\n  containers:\n  - command: [${command}]\n    env:\n    - name: TOKEN\n      value: ${value}\n`;
    const many = Array.from({ length: 8 }, (_, index) => `--a${index}=1`).join();
    const [found] = await drift(edited(pod('a, --v=2', 'do-not-show'), pod(`a, ${many}`, 'nor-this')));
    assert.match(found?.what ?? '', /kube-scheduler\.yaml \(removes --v=2; adds --a0=1; .*; and \d lines more\)$/);
    assert.match(JSON.stringify(found?.evidence), /"- +value: \(not shown\)".*"\+ +value: \(not shown\)"/);
    assert.doesNotMatch(JSON.stringify(found), /do-not-show|nor-this/);
  });

  test('show no line of a variable of several lines, also if only one of them differs', async () => {
    const pod = (line: string) =>
      `spec:\n  containers:\n  - command: [a]\n    env:\n    - name: KEY\n      value: |-\n        same\n        ${line}\n    - name: B\n`;
    const diff = edited(pod('do-not-show'), pod('nor: this'));
    assert.match(diff, /^- {8}do-not-show$/m);
    const [found] = await drift(diff);
    assert.match(found?.what ?? '', /\(removes value: \(not shown\); adds value: \(not shown\)\)$/);
    assert.doesNotMatch(JSON.stringify(found), /do-not-show|nor: this/);
  });

  describe('with patches', () => {
    const kubeadmModel = kubernetesModel().kubeadm;
    const patch = { target: 'kube-scheduler', type: 'merge', patch: { metadata: { labels: { a: 'b' } } } } as const;
    const patched = { kubeadm: { ...kubeadmModel, patches: [patch] } };

    /** What kubeadm writes, or its error. */
    async function compared(now: string, written: string | { readonly error: string }) {
      const asked: Record<string, string>[] = [];
      const host = memoryHost({
        files: { [SCHEDULER]: now, '/etc/ssl/certs/a': '' },
        programs: {
          kubeadm: ({ args = [], files = {} }) => {
            if (args[0] === 'upgrade') return { stdout: DIFF };
            asked.push(files);
            if (typeof written === 'object') return { status: 1, stderr: written.error };
            return { files: { [SCHEDULER]: written } };
          },
        },
      });
      const found = await driftObstacles(host, { from: 'v1.35.2' }, parseVersion('v1.35.2'), pods(patched));
      assert.deepEqual(host.log, []);
      return { found, asked };
    }

    test('are compared with what kubeadm would write with them, in the running version', async () => {
      const { found, asked } = await compared(manifest('--v=9'), manifest('--v=2'));
      assert.equal(found.length, 1);
      assert.match(
        found[0]?.what ?? '',
        /kube-apiserver\.yaml \(removes --profiling=false\), .*kube-scheduler\.yaml \(removes --v=9; adds --v=2\)$/,
      );
      assert.match(asked[0]?.['/patches/kube-scheduler001+merge.yaml'] ?? '', /a: b/);
      assert.match(asked[0]?.['/kubeadm.yaml'] ?? '', /kubernetesVersion: v1\.35\.2\n.*directory: \/patches/s);
    });

    test('show no value of a variable, also of one with several lines', async () => {
      const variables = (value: string) =>
        `spec: {containers: [{command: [a], env: [{name: KEY, value: ${value}}]}]}\n`;
      const { found } = await compared(variables('"do-not\\nshow: it"'), variables('"the-next\\none"'));
      assert.match(
        found[0]?.what ?? '',
        /scheduler\.yaml \(removes value: \(not shown\); adds value: \(not shown\)\)$/,
      );
      assert.doesNotMatch(JSON.stringify(found), /do-not|show: it|the-next|one"/);
    });

    test('and without an edit are in order, whatever their times and annotation are', async () => {
      const now = `metadata: {annotations: {machineadm.dev/configured-at: "1"}, labels: {a: b}}\n${manifest().replace('24', '9')}`;
      const { found } = await compared(now, `metadata: {labels: {a: b}}\n${manifest()}`);
      assert.doesNotMatch(found[0]?.what ?? '', /scheduler/);
    });

    test('are not known where kubeadm fails', async () => {
      const [skipped, ...found] = (await compared(manifest(), { error: 'error: no such patch\n' })).found;
      assert.equal(skipped?.severity, 'skipped');
      assert.match(
        skipped?.what ?? '',
        /for kube-scheduler, which the document patches: not checked: error: no such patch$/,
      );
      assert.match(found[0]?.what ?? '', /profiling/);
    });
  });

  test('of etcd are not compared, which is said', async () => {
    const [skipped, ...found] = await drift('', 'v1.35.9', { '/etc/kubernetes/manifests/etcd.yaml': manifest() });
    assert.equal(
      skipped?.what,
      'whether static pods were edited by hand, for etcd: not checked: kubeadm upgrade diff does not compare it',
    );
    assert.deepEqual(found, []);
  });

  test('cannot be compared by a kubeadm of another minor version: it says so', async () => {
    const found = await drift(DIFF, 'v1.36.0');
    assert.deepEqual(
      found.map(({ severity }) => severity),
      ['skipped'],
    );
    assert.match(found[0]?.what ?? '', /not checked/);
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
