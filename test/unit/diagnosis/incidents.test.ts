import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { readSavedLog } from '@machineadm/failures/saved-log.ts';
import { type Verdict, verdict } from '@machineadm/failures/verdict.ts';
import { formatVerdict } from '../../../src/commands/diagnose/run.ts';

/** A log in the words of a public report; names and addresses are invented. */
function judged(name: string): Verdict {
  const log = readFileSync(new URL(`../../fixtures/incidents/${name}.log`, import.meta.url), 'utf8');
  return verdict({ lines: readSavedLog(log, `${name}.log`) });
}

describe('a public incident is named', () => {
  const held: readonly (readonly [string, string, boolean])[] = [
    ['203-exec', 'ExecutionDenied', false],
    ['ca-not-yet-valid', 'ClockSkew', true],
    ['etcd-not-empty', 'EtcdDataDirNotEmpty', false],
    ['json-cgroup', 'CgroupDriverMismatch', false],
    ['json-swap', 'SwapEnabled', false],
    ['kernel-defaults', 'KernelDefaultsMismatch', false],
    ['kubeadm-missing', 'KubeadmNotInstalled', false],
    ['label-after-promote', 'APIServerUnstable', true],
    ['mirrors-and-config-path', 'ContainerdCRIPluginFailed', false],
    ['node-identity', 'NodeIdentityMismatch', false],
    ['node-ip-missing', 'NodeIPNotFound', false],
    ['resolved-missing', 'ResolvConfMissing', false],
  ];
  for (const [name, reason, retryable] of held) {
    test(`${name}: ${reason}`, () => {
      const found = judged(`held-${name}`);
      assert.deepEqual([found.reason, found.retryable], [reason, retryable]);
    });
  }

  test('a Node whose label is too long: the line of the kubelet first, and nothing that time heals', () => {
    const found = judged('node-refused');
    assert.deepEqual([found.reason, found.retryable], ['NodeRefused', false]);
    assert.match(
      found.summary,
      /Invalid value: "pool-blue-with-a-very-long-name[^\\]*": must be no more than 63 bytes/,
    );
    assert.equal(found.evidence[0]?.source, 'journal of kubelet');
    assert.doesNotMatch(found.remedy, /journal/);
  });

  for (const name of ['label-refused', 'label-refused-1-line', 'label-refused-kubeadm']) {
    test(`${name}: a label that a kubelet may not set`, () => {
      const found = judged(name);
      assert.deepEqual([found.reason, found.retryable], ['NodeLabelRefused', false]);
      assert.match(found.summary, /node-role\.kubernetes\.io\/worker/);
      assert.match(found.remedy, /kubectl label node/);
      assert.equal(found.evidence[0]?.source, 'journal of kubelet');
      assert.match(found.evidence[0]?.text ?? '', /failed to validate kubelet flags/);
    });
  }

  for (const [name, where] of [
    ['localhost-elsewhere', /203\.0\.113\.44/],
    ['localhost-unresolved', /lookup localhost/],
  ] as const) {
    test(`${name}: localhost does not lead to this machine`, () => {
      const found = judged(name);
      assert.equal(found.reason, 'LocalhostNotLocal');
      assert.match(found.summary, where);
      assert.match(found.remedy, /127\.0\.0\.1 localhost/);
    });
  }

  test('a package manager that another process locks, with that process', () => {
    const found = judged('package-lock');
    assert.deepEqual([found.reason, found.retryable], ['PackageManagerLocked', true]);
    assert.match(found.summary, /1804 \(unattended-upgr\)/);
  });

  test('a reserved cgroup that cannot be enforced', () => {
    const found = judged('reserved-cgroup');
    assert.equal(found.reason, 'ContainerManagerFailed');
    assert.match(found.summary, /\/system\.slice.*cpuset/);
    assert.match(found.remedy, /enforceNodeAllocatable/);
  });

  test('settings that Windows does not support, with a remedy for Windows', () => {
    const found = judged('windows-kubelet-flags');
    assert.equal(found.reason, 'KubeletConfigInvalid');
    assert.match(found.remedy, /--cgroups-per-qos=false --enforce-node-allocatable=/);
    assert.doesNotMatch(found.remedy, /systemctl|journalctl/);
  });

  test('a script of cloud-init that failed, with the file that has its output', () => {
    const found = judged('only-cloud-init-log');
    assert.equal(found.reason, 'CloudInitScriptFailed');
    assert.match(found.remedy, /\/var\/log\/cloud-init-output\.log/);
  });
});

describe('a preflight that failed has changed nothing', () => {
  for (const name of ['init-rerun', 'restored-data', 'held-etcd-not-empty']) {
    test(`${name}: nothing is reset, and whether the machine is a node comes first`, () => {
      const found = judged(name);
      assert.equal(found.cleanup, 'none');
      const text = formatVerdict(found);
      const [advice = ''] = text.split('\n').filter((line) => line.startsWith('What to do: '));
      assert.match(advice, /systemctl is-active kubelet/);
      assert.doesNotMatch(text, /reset -f|Before another attempt/);
      const act = advice.search(/kubeadm reset|`mv /);
      assert.ok(act < 0 || act > advice.indexOf('If it is, run nothing'));
    });
  }

  test('on a machine that is a node, nothing at all is to be done', () => {
    const log = readFileSync(new URL('../../fixtures/incidents/init-rerun.log', import.meta.url), 'utf8');
    const found = verdict({ lines: readSavedLog(log), isNode: true });
    assert.match(found.remedy, /^This machine is a node already: .* Run nothing\./);
    assert.deepEqual([found.cleanup, found.retryable], ['none', false]);
    assert.doesNotMatch(formatVerdict(found), /reset/);
  });
});
