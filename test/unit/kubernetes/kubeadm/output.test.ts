import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { endingOf, evaluateRun, type KubeadmCommand, KubeadmProgress } from '@machineadm/kubeadm/output.ts';

/** `>` marks a line of stdout, everything else is stderr, as kubeadm splits them. */
function progressOf(command: KubeadmCommand, text: string): KubeadmProgress {
  const progress = new KubeadmProgress(command);
  for (const line of text.split('\n')) {
    const stdout = line.startsWith('>');
    progress.observe({ stream: stdout ? 'stdout' : 'stderr', text: stdout ? line.slice(1) : line });
  }
  return progress;
}

function verdict(command: KubeadmCommand, status: number, text: string, expectsSuccessText = true) {
  const found = evaluateRun(command, status, progressOf(command, text), expectsSuccessText);
  return found.succeeded ? 'success' : [found.summary, ...found.evidence.map((evidence) => evidence.text)];
}

describe('kubeadm succeeded', () => {
  test('when it says so and ends with 0', () => {
    assert.equal(verdict('init', 0, '>Your Kubernetes control-plane has initialized successfully!'), 'success');
    assert.equal(verdict('join', 0, '>This node has joined the cluster:'), 'success');
    assert.equal(
      verdict('join', 0, '>This node has joined the cluster and a new control plane instance was created:'),
      'success',
    );
  });

  test('not when it ends with 0 and never said so: a wrapper may do nothing', () => {
    assert.deepEqual(verdict('join', 0, '>[preflight] Running pre-flight checks'), [
      'kubeadm join exited with status 0 but did not report success.',
      '[preflight] Running pre-flight checks',
    ]);
  });

  test('not by the words of the other command', () => {
    assert.notEqual(verdict('init', 0, '>This node has joined the cluster:'), 'success');
  });

  test('not by a message on stderr, where kubeadm prints none', () => {
    assert.notEqual(verdict('join', 0, 'This node has joined the cluster:'), 'success');
  });

  test('by its status alone where the phase that says so was skipped', () => {
    assert.equal(verdict('init', 0, '>[addons] Applied essential addon: CoreDNS', false), 'success');
  });

  test('not with another status, whatever it prints', () => {
    assert.notEqual(verdict('join', 1, '>This node has joined the cluster:'), 'success');
  });
});

describe('a failure is reported by phase and by its lines', () => {
  test('of preflight up to 1.33', () => {
    const text = `>[preflight] Running pre-flight checks
error execution phase preflight: [preflight] Some fatal errors occurred:
\t[ERROR Port-10250]: Port 10250 is in use
\t[ERROR Mem]: the system RAM (969 MB) is less than the minimum 1700 MB
[preflight] If you know what you are doing, you can make a check non-fatal with \`--ignore-preflight-errors=...\`
To see the stack trace of this error execute with --v=5 or higher`;
    assert.deepEqual(verdict('init', 1, text), [
      'kubeadm init failed in its phase preflight (exit status 1).',
      '[ERROR Port-10250]: Port 10250 is in use',
      '[ERROR Mem]: the system RAM (969 MB) is less than the minimum 1700 MB',
      'error execution phase preflight: [preflight] Some fatal errors occurred:',
    ]);
  });

  test('of preflight since 1.34', () => {
    const text = `>[preflight] Running pre-flight checks
[preflight] Some fatal errors occurred:
\t[ERROR Port-10250]: Port 10250 is in use
[preflight] If you know what you are doing, you can make a check non-fatal with \`--ignore-preflight-errors=...\`
error: error execution phase preflight: preflight checks failed
To see the stack trace of this error execute with --v=5 or higher`;
    assert.deepEqual(verdict('init', 1, text), [
      'kubeadm init failed in its phase preflight (exit status 1).',
      '[ERROR Port-10250]: Port 10250 is in use',
      'error: error execution phase preflight: preflight checks failed',
    ]);
  });

  test('of a configuration, where no phase ran: since 1.34, and before', () => {
    const words = 'your configuration file uses an old API spec: "kubeadm.k8s.io/v1beta1"';
    const hint = 'To see the stack trace of this error execute with --v=5 or higher';
    assert.deepEqual(verdict('init', 1, `error: ${words}\n${hint}`), [
      'kubeadm init failed (exit status 1).',
      `error: ${words}`,
    ]);
    assert.deepEqual(verdict('init', 1, `${words}\n${hint}`), ['kubeadm init failed (exit status 1).', words]);
  });

  test('of a killed kubeadm by where it was and its last lines', () => {
    assert.deepEqual(verdict('join', 137, '>[kubelet-start] Starting the kubelet'), [
      'kubeadm join failed in its phase kubelet-start (exit status 137).',
      '[kubelet-start] Starting the kubelet',
    ]);
  });
});

describe('facts for the next run are recorded as they happen', () => {
  test('the phase, the etcd member, the success', () => {
    const progress = new KubeadmProgress('join');
    const observe = (text: string): boolean => progress.observe({ stream: 'stdout', text });
    assert.equal(observe('[preflight] Running pre-flight checks'), true);
    assert.equal(observe('[preflight] Reading configuration from the cluster...'), false);
    assert.equal(observe('\t[WARNING Hostname]: hostname "x" could not be reached'), false);
    assert.equal(observe('[etcd] Announced new etcd member joining to the existing etcd cluster'), true);
    assert.deepEqual(progress.note, { lastPhase: 'etcd', etcdMemberAnnounced: true, succeeded: false });
    assert.equal(observe('This node has joined the cluster and a new control plane instance was created:'), true);
    assert.equal(progress.note.succeeded, true);
  });
});

describe('the recorded runs of a real kubeadm', () => {
  const directory = join(import.meta.dirname, '../../../fixtures/transcripts');
  const kubeadmPart = (name: string): string =>
    readFileSync(join(directory, `${name}.log`), 'utf8')
      .split('-- journal:')[0]
      ?.replace('-- kubeadm --\n', '') ?? '';

  for (const [name, command, status, succeeded] of [
    ['02-worker-join-ok', 'join', 0, true],
    ['04-init-ok-procsys-ro', 'init', 0, true],
    ['10-join-wrong-ca-hash', 'join', 1, false],
    ['32-init-port-10250-foreign', 'init', 1, false],
    ['28-cpjoin-peer-port-blocked', 'join', 124, false],
  ] as const) {
    test(name, () => {
      const progress = new KubeadmProgress(command);
      // The recording joined both streams; kubeadm's phase text and success are stdout's.
      for (const text of kubeadmPart(name).split('\n')) {
        progress.observe({
          stream: /^(error|\s*\[(ERROR|WARNING)|[IWEF]\d{4} )/.test(text) ? 'stderr' : 'stdout',
          text,
        });
      }
      const found = evaluateRun(command, status, progress);
      assert.equal(found.succeeded, succeeded);
      assert.equal(progress.note.succeeded, succeeded);
      if (!found.succeeded)
        assert.match(found.summary, /failed in its phase (preflight|kubelet-check) \(exit status \d+\)/);
      assert.equal(progress.note.etcdMemberAnnounced, name.startsWith('28-'));
    });
  }
});

describe('the phase in which kubeadm failed', () => {
  const ending = (status: number, text: string) => endingOf(status, progressOf('join', text));

  test('is the one that its last error names, whatever it printed last', () => {
    const conflict =
      'error execution phase kubelet-start: a Node with name "w" and status "Ready" already exists in the cluster.';
    const progress = progressOf('join', `>[preflight] Running pre-flight checks\n${conflict}`);
    assert.deepEqual(endingOf(1, progress), { killed: false, phase: 'kubelet-start' });
    assert.equal(progress.note.nodeNameConflict, true);
    assert.deepEqual(ending(1, '>[preflight] Running\nerror: error execution phase preflight: failed'), {
      killed: false,
      phase: 'preflight',
    });
  });

  test('is before all phases if kubeadm refuses its arguments', () => {
    assert.deepEqual(ending(1, 'error: unknown flag: --x'), { killed: false, phase: 'configuration' });
  });

  test('is unknown if kubeadm printed nothing, or was killed', () => {
    assert.deepEqual(ending(2, '>[preflight] Running\npanic: runtime error'), { killed: false, phase: undefined });
    assert.deepEqual(ending(137, '>[preflight] Running'), { killed: true, phase: undefined });
  });
});
