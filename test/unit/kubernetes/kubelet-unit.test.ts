import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseServiceState } from '../../../src/host/linux/systemd.ts';
import { KubeletUnitWatch, requireStartableKubelet } from '../../../src/kubernetes/kubelet-unit.ts';
import { memoryHost } from '../../support/memory-host.ts';

const state = (properties: string) => parseServiceState(`LoadState=loaded\n${properties}`, 0);
const RUNNING = state('ActiveState=active\nSubState=running\nResult=success\nMainPID=7\n');
const STOPPED = state('ActiveState=inactive\nSubState=dead\nResult=success\n');
const MASKED = parseServiceState('LoadState=masked\nActiveState=inactive\n', 0);
const restarting = (result: string, code: number, status: number, restarts: number) =>
  state(
    `ActiveState=activating\nSubState=auto-restart\nResult=${result}\nExecMainCode=${code}\nExecMainStatus=${status}\nNRestarts=${restarts}\n`,
  );

describe('waiting for the kubelet is futile', () => {
  test('once it was masked for some seconds, and not at once', () => {
    const watch = new KubeletUnitWatch();
    assert.equal(watch.observe(MASKED, 0), undefined);
    assert.equal(watch.observe(MASKED, 2_000), undefined);
    assert.equal(watch.observe(MASKED, 4_000), 'kubelet.service: masked');
  });

  test('once it was stopped for longer than a restart takes', () => {
    const watch = new KubeletUnitWatch();
    for (const at of [0, 2_000, 4_000, 8_000]) assert.equal(watch.observe(STOPPED, at), undefined);
    assert.equal(watch.observe(RUNNING, 9_000), undefined);
    for (const at of [10_000, 18_000]) assert.equal(watch.observe(STOPPED, at), undefined);
    assert.equal(watch.observe(STOPPED, 20_000), 'kubelet.service: stopped (inactive)');
  });

  test('once its program cannot be executed', () => {
    const watch = new KubeletUnitWatch();
    assert.equal(watch.observe(restarting('exit-code', 1, 203, 1), 0), undefined);
    assert.match(watch.observe(restarting('exit-code', 1, 203, 2), 10_000) ?? '', /cannot be executed/);
  });

  test('once it was killed three times, though it runs in between', () => {
    const watch = new KubeletUnitWatch();
    for (const restarts of [0, 1]) {
      assert.equal(watch.observe(restarting('signal', 2, 9, restarts), restarts), undefined);
      assert.equal(watch.observe(RUNNING, restarts), undefined);
    }
    assert.match(watch.observe(restarting('signal', 2, 9, 2), 3) ?? '', /^kubelet\.service: killed by SIGKILL/);
  });

  test('never while it ends with an error and is started again: its configuration may come', () => {
    const watch = new KubeletUnitWatch();
    for (let restarts = 0; restarts < 50; restarts += 1) {
      assert.equal(watch.observe(restarting('exit-code', 1, 1, restarts), restarts * 10_000), undefined);
    }
  });
});

describe('kubeadm is not run', () => {
  const refused = async (kubelet: ReturnType<typeof state>) => {
    const error = await requireStartableKubelet(memoryHost({ services: { kubelet } })).catch(
      (thrown: unknown) => thrown,
    );
    return error === undefined ? undefined : error;
  };

  test('where the kubelet was masked meanwhile, or starts without its drop-in', async () => {
    await assert.rejects(requireStartableKubelet(memoryHost({ services: { kubelet: MASKED } })), {
      reason: 'KubeletNotHealthy',
      exit: 'BootstrapperFailed',
      transcript: [{ source: 'service manager', text: 'kubelet.service: masked' }],
    });
    const bare = state(
      'ActiveState=inactive\nResult=success\nExecStart={ path=x ; argv[]=/usr/bin/kubelet ; ignore_errors=no ; pid=0 }\n',
    );
    await assert.rejects(requireStartableKubelet(memoryHost({ services: { kubelet: bare } })), {
      transcript: [
        { source: 'service manager', text: "kubelet.service: starts without kubeadm's drop-in: /usr/bin/kubelet" },
      ],
    });
  });

  test('unless nothing is wrong: it is stopped, or ends for want of a configuration, or nothing is known', async () => {
    assert.equal(await refused(STOPPED), undefined);
    assert.equal(await refused(restarting('exit-code', 1, 1, 9)), undefined);
    await requireStartableKubelet(memoryHost());
  });
});
