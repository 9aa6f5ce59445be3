import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseServiceState } from '../../../../src/host/linux/systemd.ts';
import { unitTrouble } from '../../../../src/host/services/unit-trouble.ts';

/** What `systemctl show kubelet` prints, with this instead. */
function shown(different: Readonly<Record<string, string>>): string {
  const properties = {
    LoadState: 'loaded',
    ActiveState: 'activating',
    SubState: 'auto-restart',
    Result: 'exit-code',
    ExecMainCode: '1',
    ExecMainStatus: '1',
    NRestarts: '7',
    ExecStart:
      '{ path=/usr/bin/kubelet ; argv[]=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS --v=2 ; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }',
    MemoryMax: 'infinity',
    MainPID: '0',
    ...different,
  };
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

const trouble = (different: Readonly<Record<string, string>>) => unitTrouble(parseServiceState(shown(different), 0));
const DEAD = { ActiveState: 'inactive', SubState: 'dead', Result: 'success', ExecMainCode: '0', ExecMainStatus: '0' };

describe('what keeps a unit from running', () => {
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, string, boolean])[] = [
    ['a mask', { LoadState: 'masked', ActiveState: 'inactive' }, 'masked', true],
    ['no unit', { LoadState: 'not-found', ActiveState: 'inactive' }, 'not installed', true],
    ['a bad unit', { LoadState: 'bad-setting' }, 'its unit cannot be loaded (bad-setting)', true],
    ['execve', { ExecMainStatus: '203' }, 'cannot be executed: /usr/bin/kubelet (203/EXEC), 7 restarts', true],
    [
      'its memory limit',
      { Result: 'oom-kill', ExecMainCode: '2', ExecMainStatus: '9', MemoryMax: '67108864' },
      'killed for lack of memory (MemoryMax=64M), 7 restarts',
      false,
    ],
    ['a signal', { Result: 'signal', ExecMainCode: '2', ExecMainStatus: '9' }, 'killed by SIGKILL, 7 restarts', false],
    [
      'a signal, for good',
      { ActiveState: 'failed', Result: 'core-dump', ExecMainCode: '3', ExecMainStatus: '11', NRestarts: '0' },
      'killed by SIGSEGV',
      true,
    ],
    [
      'the start limit',
      { ActiveState: 'failed', Result: 'start-limit-hit' },
      'systemd gave up after its restarts (start-limit-hit), last with exit status 1',
      true,
    ],
    ['somebody who stopped it', DEAD, 'stopped (inactive)', false],
    ['itself', {}, 'ends by itself (exit-code), last with exit status 1, 7 restarts', false],
  ];
  for (const [what, different, text, permanent] of cases) {
    test(what, () =>
      assert.deepEqual(trouble(different) && { ...trouble(different), kind: '' }, { kind: '', text, permanent }),
    );
  }

  test('nothing while it runs, starts or is being stopped', () => {
    for (const state of [
      { ActiveState: 'active', SubState: 'running', Result: 'success', NRestarts: '3' },
      { ActiveState: 'activating', SubState: 'start', Result: 'success' },
      { ActiveState: 'deactivating', SubState: 'stop-sigterm', Result: 'success' },
    ]) {
      assert.equal(trouble(state), undefined);
    }
  });
});

test('the facts of a unit are read from properties that stand on several lines, and old systemd lacks some', () => {
  const state = parseServiceState(
    `${shown({ Environment: '"A=--config=/x" B=1', DropInPaths: '/a.conf /b.conf', MemoryMax: '18446744073709551615' })}EnvironmentFiles=/etc/default/kubelet (ignore_errors=yes)\nEnvironmentFiles=/run/x (ignore_errors=no)\n`,
    0,
  );
  assert.deepEqual(state.unit?.command, ['/usr/bin/kubelet', '$KUBELET_KUBECONFIG_ARGS', '--v=2']);
  assert.deepEqual(state.unit?.environmentFiles, ['/etc/default/kubelet', '/run/x']);
  assert.equal(state.unit?.memoryMax, undefined);
  assert.equal(parseServiceState('LoadState=loaded\nActiveState=failed\n', 0).unit?.restarts, 0);
});
