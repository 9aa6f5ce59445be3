import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { ObservedLine } from '@machineadm/failures/classify.ts';
import { type CollectContext, collect } from '../../../src/diagnosis/collect.ts';
import { verdictOn } from '../../../src/diagnosis/index.ts';
import { staticPodLines } from '../../../src/diagnosis/static-pod-lines.ts';
import type { CriContainer } from '../../../src/host/cri/queries.ts';
import { parseServiceState } from '../../../src/host/linux/systemd.ts';
import { type MemoryMachine, memoryHost } from '../../support/memory-host.ts';

const CONTEXT: CollectContext = {
  since: { realTimeMs: 0 },
  role: 'Worker',
  criSocket: 'unix:///run/containerd/containerd.sock',
};
const DROP_IN = 'Environment="A=--bootstrap-kubeconfig=/b --kubeconfig=/k" C=--config=/var/lib/kubelet/config.yaml\n';

/** A service as `systemctl show` prints it. */
function service(properties: string, argv = '/usr/bin/kubelet $A $C') {
  const shown = `LoadState=loaded\nExecStart={ path=x ; argv[]=${argv} ; ignore_errors=no ; pid=0 }\n${properties}`;
  return parseServiceState(shown, 0);
}

const RUNNING = service(`ActiveState=active\nSubState=running\nResult=success\nMainPID=7\n${DROP_IN}`);
const CONTAINERD = service('ActiveState=active\nSubState=running\nResult=success\nMainPID=9\n', '/usr/bin/containerd');

/** What a readiness failure on such a machine is called. */
async function named(machine: MemoryMachine, more: readonly ObservedLine[] = []): Promise<string> {
  const host = memoryHost({ ...machine, services: { kubelet: RUNNING, containerd: CONTAINERD, ...machine.services } });
  const error = new MachineadmError({
    reason: 'KubeletNotHealthy',
    summary: 'The kubelet did not become healthy within 120 s.',
    remedy: 'Read its journal.',
  });
  const { reason, summary } = verdictOn(error, [...(await collect(host, CONTEXT)), ...more]);
  assert.ok(reason === 'KubeletNotHealthy' || summary.includes('did not become healthy'));
  return reason;
}

const SWAP: ObservedLine = {
  source: 'kubelet',
  origin: 'journal of kubelet',
  text: '"command failed" err="failed to run Kubelet: running with swap on is not supported"',
};

describe('the service manager names the cause', () => {
  test('nothing of units that run', async () => assert.equal(await named({}), 'KubeletNotHealthy'));

  test('a kubelet that a user stopped', async () => {
    const kubelet = service(`ActiveState=inactive\nSubState=dead\nResult=success\n${DROP_IN}`);
    assert.equal(await named({ services: { kubelet } }), 'KubeletStopped');
  });

  test('a kubelet that was masked, whatever its log said before', async () => {
    const kubelet = parseServiceState('LoadState=masked\nActiveState=inactive\n', 0);
    assert.equal(await named({ services: { kubelet } }, [SWAP]), 'KubeletServiceMissing');
  });

  test('a kubelet that ends with an error: what its log says, and only without that its end', async () => {
    const kubelet = service(
      `ActiveState=activating\nSubState=auto-restart\nResult=exit-code\nExecMainCode=1\nExecMainStatus=1\nNRestarts=9\n${DROP_IN}`,
    );
    assert.equal(await named({ services: { kubelet } }, [SWAP]), 'SwapEnabled');
    assert.equal(await named({ services: { kubelet } }), 'KubeletCrashLoop');
  });

  test('a kubelet that is a text file, and one that is gone', async () => {
    const kubelet = service(
      `ActiveState=activating\nSubState=auto-restart\nResult=exit-code\nExecMainCode=1\nExecMainStatus=203\n${DROP_IN}`,
    );
    const files = { '/usr/bin/kubelet': { content: 'hello', mode: 0o755 } };
    assert.equal(await named({ services: { kubelet }, files }), 'ProgramNotExecutable');
    assert.equal(await named({ services: { kubelet } }), 'KubeletNotInstalled');
  });

  test("a kubelet without kubeadm's drop-in; with a wrapper nothing is known of that", async () => {
    const running = 'ActiveState=active\nSubState=running\nResult=success\nMainPID=7\n';
    assert.equal(await named({ services: { kubelet: service(running, '/usr/bin/kubelet') } }), 'KubeletDropInMissing');
    assert.equal(
      await named({ services: { kubelet: service(running, '/opt/bin/start-kubelet') } }),
      'KubeletNotHealthy',
    );
    const inFile = service(`${running}EnvironmentFiles=/etc/default/kubelet (ignore_errors=yes)\n`);
    const files = { '/etc/default/kubelet': 'A="--config=/c"\n' };
    assert.equal(await named({ services: { kubelet: inFile }, files }), 'KubeletNotHealthy');
  });

  test('a kubelet that is killed again and again, between two kills', async () => {
    const killed = JSON.stringify({
      MESSAGE: 'kubelet.service: Main process exited, code=killed, status=9/KILL',
      SYSLOG_IDENTIFIER: 'systemd',
    });
    const journal = (count: number): MemoryMachine => ({
      programs: {
        journalctl: ({ args }) => ({ stdout: args.includes('kubelet.service') ? `${killed}\n`.repeat(count) : '' }),
      },
    });
    assert.equal(await named(journal(5)), 'KubeletKilled');
    assert.equal(await named(journal(1)), 'KubeletNotHealthy');
  });

  test('a unit whose memory limit is too low', async () => {
    const containerd = service(
      'ActiveState=failed\nSubState=failed\nResult=oom-kill\nExecMainCode=2\nExecMainStatus=9\nMemoryMax=16777216\n',
      '/usr/bin/containerd',
    );
    assert.equal(await named({ services: { containerd } }), 'OutOfMemory');
  });

  test('containerd that was stopped, or killed; not where another runtime serves', async () => {
    const stopped = service('ActiveState=inactive\nSubState=dead\nResult=success\n', '/usr/bin/containerd');
    assert.equal(await named({ services: { containerd: stopped } }), 'ContainerRuntimeNotRunning');
    const host = memoryHost({ services: { kubelet: RUNNING, containerd: stopped } });
    const lines = await collect(host, { ...CONTEXT, criSocket: 'unix:///run/crio/crio.sock' });
    assert.deepEqual(
      lines.filter(({ text }) => text.startsWith('containerd')),
      [],
    );
  });

  test('CRI-O, where it is the runtime that is installed', async () => {
    const stopped = service('ActiveState=inactive\nSubState=dead\nResult=success\n', '/usr/bin/crio');
    const said: string[] = [];
    const host = memoryHost({
      services: { kubelet: RUNNING, crio: stopped },
      programs: {
        crio: () => ({}),
        journalctl: ({ args = [] }) => {
          said.push(args.at(-1) ?? '');
          return {};
        },
      },
    });
    const lines = await collect(host, { ...CONTEXT, criSocket: undefined });
    assert.ok(
      lines.some(({ text }) => text.startsWith('crio')),
      JSON.stringify(lines),
    );
    assert.deepEqual(
      said.filter((unit) => /crio|containerd/.test(unit)),
      ['crio.service'],
    );
  });

  test('containerd as a service of the host: by its unit only, and of containerd only', async () => {
    const killed = service(
      'ActiveState=failed\nSubState=failed\nResult=signal\nExecMainCode=2\nExecMainStatus=9\n',
      '/usr/bin/containerd',
    );
    const lines = [
      ...(await collect(memoryHost({ services: { kubelet: RUNNING, containerd: killed } }), CONTEXT)),
      SWAP,
    ];
    const of = (reason: Reason, summary: string) =>
      verdictOn(new MachineadmError({ reason, summary, remedy: 'Read.' }), lines).reason;
    assert.equal(of('ContainerdUnhealthy', 'containerd was not ready within 60 s'), 'ContainerRuntimeKilled');
    assert.equal(of('ServiceFailed', 'containerd could not be restarted: it failed'), 'ContainerRuntimeKilled');
    assert.equal(of('ServiceFailed', 'chrony could not be restarted: it failed'), 'ServiceFailed');
  });

  test('containerd as a service of the host: what it says itself that the machine lacks', () => {
    const of = (text: string) =>
      verdictOn(
        new MachineadmError({
          reason: 'ContainerdUnhealthy',
          summary: 'containerd does not work with the generated configuration: it failed',
          remedy: 'Correct it.',
        }),
        [{ source: 'containerd', origin: 'journal of containerd', text }, SWAP],
      );
    const watchers =
      'level=warning msg="failed to load plugin" error="failed to create CRI service: failed to create cni conf monitor for default: failed to create fsnotify watcher: couldn\'t initialize inotify: too many open files" id=io.containerd.grpc.v1.cri';
    const limit = of(watchers);
    assert.equal(limit.reason, 'OpenFilesLimitReached');
    assert.match(limit.summary, /^No inotify instance is left on this machine .*generated configuration/);
    assert.match(limit.remedy, /fs\.inotify\.max_user_instances/);
    const full = 'containerd: failed to load plugin: mkdir /var/lib/containerd/x: no space left on device';
    assert.equal(of(full).reason, 'DiskFull');
    const ofContainer = 'level=error msg="StartContainer failed" error="write /run/x: no space left on device"';
    assert.equal(of(ofContainer).reason, 'ContainerdUnhealthy');
  });

  test('nothing of a stopped kubelet where kubeadm failed before it came to it', async () => {
    const kubelet = service(`ActiveState=inactive\nSubState=dead\nResult=success\n${DROP_IN}`);
    const error = new MachineadmError({
      reason: 'BootstrapperFailed',
      summary: 'kubeadm init failed.',
      remedy: 'Read it.',
      transcript: [
        { source: 'kubeadm', text: '[ERROR NumCPU]: the number of available CPUs 1 is less than the required 2' },
      ],
    });
    const lines = await collect(memoryHost({ services: { kubelet, containerd: CONTAINERD } }), CONTEXT);
    assert.equal(verdictOn(error, lines).reason, 'InsufficientCPU');
  });
});

describe('the container runtime names the component that ends again and again', () => {
  const end = (name: string, different: Partial<CriContainer> = {}): CriContainer => ({
    id: name,
    name,
    namespace: 'kube-system',
    exitCode: 1,
    attempt: 4,
    reason: 'Error',
    finishedAtMs: 5,
    logPath: `/var/log/pods/${name}.log`,
    ...different,
  });
  const verdictOf = (...exited: readonly CriContainer[]) =>
    verdictFor('The control plane of this machine is not healthy.', exited);
  const verdictFor = async (summary: string, exited: readonly CriContainer[]) => {
    const files = Object.fromEntries(
      exited.map(({ logPath, name }) => [logPath, `2026-11-20T10:00:05.0Z stderr F the last line of ${name}\n`]),
    );
    const host = memoryHost({ files, cri: { exitedContainers: async () => exited }, services: { kubelet: RUNNING } });
    const error = new MachineadmError({
      reason: 'ControlPlaneComponentNotHealthy',
      summary,
      remedy: 'Read it.',
    });
    return verdictOn(error, await collect(host, { ...CONTEXT, role: 'InitControlPlane' }));
  };

  test('in the summary, with its end, its restarts and its last lines', async () => {
    const { reason, summary, evidence, retryable } = await verdictOf(end('etcd', { exitCode: 137 }));
    assert.equal(reason, 'StaticPodCrashLoop');
    assert.match(summary, /etcd ended 5 times, last by SIGKILL\./);
    assert.deepEqual(
      evidence.slice(0, 2).map(({ source, text }) => `${source}: ${text}`),
      ['container runtime: etcd ended 5 times, last by SIGKILL', 'log of container etcd: the last line of etcd'],
    );
    assert.equal(retryable, true);
  });

  test('as one that never ran, where the runtime could not start it', async () => {
    const { reason, summary } = await verdictOf(end('etcd', { exitCode: 128, reason: 'StartError' }));
    assert.equal(reason, 'OCIRuntimeCreateFailed');
    assert.match(summary, /etcd ended 5 times, last because it could not be started \(StartError\)\./);
  });

  test('by the one that the others need', async () => {
    const { summary } = await verdictOf(end('kube-scheduler'), end('kube-apiserver'), end('etcd', { exitCode: 2 }));
    assert.match(summary, /etcd ended 5 times, last with exit status 2\./);
  });

  test('but not one that is healthy again, where the run found another that is not', async () => {
    const summary = 'kube-controller-manager is not healthy: connect ECONNREFUSED 127.0.0.1:10257.';
    const restarted = end('kube-apiserver', { exitCode: 137, attempt: 1 });
    const waiting = end('kube-controller-manager', { attempt: 6 });
    // The ends of the scheduler are older, or later in the order: they explain nothing.
    const found = await verdictFor(summary, [restarted, waiting, end('kube-scheduler', { exitCode: 2 })]);
    assert.match(found.summary, /kube-controller-manager ended 7 times, last with exit status 1\./);
    assert.match(found.remedy, /at most 5 minutes after its last end/);
    assert.deepEqual([found.reason, found.retryable, found.cleanup], ['StaticPodCrashLoop', true, 'none']);
    const looping = await verdictFor(summary, [end('kube-apiserver', { exitCode: 137, attempt: 2 }), waiting]);
    assert.match(looping.summary, /kube-apiserver ended 3 times, last by SIGKILL\./);
  });

  test('not for one end, one that was asked for, one of long ago, or one of another program', async () => {
    for (const container of [
      end('etcd', { attempt: 0 }),
      end('etcd', { exitCode: 0 }),
      end('etcd', { namespace: 'default' }),
      end('coredns'),
      end('kube-scheduler', { attempt: 1 }),
    ]) {
      assert.equal((await verdictOf(container)).reason, 'ControlPlaneComponentNotHealthy');
    }
    assert.deepEqual(staticPodLines([]), []);
  });

  test('for lack of memory', async () => {
    const killed = end('kube-apiserver', { exitCode: 137, reason: 'OOMKilled' });
    assert.equal((await verdictOf(killed)).reason, 'OutOfMemory');
  });
});
