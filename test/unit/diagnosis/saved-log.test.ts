import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readSavedLog } from '@machineadm/failures/saved-log.ts';

const sourcesOf = (log: string, file?: string): readonly string[] =>
  readSavedLog(log, file).map(({ source }) => source);

describe('the kind of a line in a saved log is recognised', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['a journal line of the kubelet', 'Nov 20 17:36:09 n1 kubelet[308]: F1120 x', 'kubelet'],
    ['a journal line with microseconds', 'Nov 20 17:36:09.123456 n1 containerd[90]: time="x"', 'containerd'],
    ['an ISO journal line of systemd', '2026-11-20T17:36:09+0000 n1 systemd[1]: Started kubelet.service', 'systemd'],
    ['a kernel line of the journal', 'Nov 20 17:36:09 n1 kernel: Out of memory: Killed process 1 (etcd)', 'kernel'],
    ['a kernel line of the console', '[   12.345678] Out of memory: Killed process 1 (etcd)', 'kernel'],
    ["cloud-init's console line", '[   12.345678] cloud-init[812]: [preflight] Running pre-flight checks', 'kubeadm'],
    ["a container's line", '2026-11-20T17:57:58.149393095Z stderr F Error: broken', 'container'],
    ["Docker's JSON", '{"log":"Error: broken\\n","stream":"stderr","time":"2026-11-20T17:57:58Z"}', 'container'],
    ['JSON of the journal', '{"MESSAGE":"F1120 x","SYSLOG_IDENTIFIER":"kubelet"}', 'kubelet'],
    ['JSON of the journal without identifier', '{"MESSAGE":"F1120 x","_COMM":"kubelet"}', 'kubelet'],
    ['a bare line of the kubelet', 'E1120 17:46:21.8 240 pod_workers.go:191] Error syncing pod', 'kubelet'],
    ["kubeadm's own", 'error execution phase preflight: x', 'kubeadm'],
    ["etcd's own", '2026-11-20 17:51:17.503539 I | etcdmain: etcd Version: 3.4.23', 'container'],
  ];
  for (const [what, line, source] of cases) test(what, () => assert.deepEqual(sourcesOf(line), [source]));

  test('an error of kubeadm counts in the section of another program', () => {
    assert.deepEqual(sourcesOf('-- journal: kubelet.service --\n\t[ERROR Swap]: on\nsomething else'), [
      'kubeadm',
      'kubelet',
    ]);
  });

  test('the name of the file decides where nothing else does', () => {
    assert.deepEqual(sourcesOf('Error: unknown flag: --x', '/tmp/kube-apiserver.log'), ['container']);
    assert.deepEqual(sourcesOf('unable to do it', '/tmp/kubelet.log'), ['kubelet']);
    assert.deepEqual(sourcesOf('unable to do it', '/var/log/cloud-init-output.log'), ['kubeadm']);
  });

  test('lines keep their numbers, and messages of journalctl itself are omitted', () => {
    const lines = readSavedLog('-- kubeadm --\n\none\n-- No entries --\r\ntwo\r\n');
    assert.deepEqual(
      lines.map(({ line, text }) => [line, text]),
      [
        [3, 'one'],
        [5, 'two'],
      ],
    );
  });
});
