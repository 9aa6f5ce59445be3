import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import { afterRecord, newJournalState } from '../../../src/pipeline/journal.ts';
import { planSteps } from '../../../src/pipeline/plan.ts';
import { domainStep, joins, PASSWORD } from '../../support/windows-domain.ts';
import type { Recording } from '../../support/windows-machine.ts';
import { WindowsRuns } from '../../support/windows-runs.ts';
import {
  KUBELET_FLAGS,
  SENTINEL,
  TOKEN,
  type Worker,
  windowsWorker,
  workerModel,
  workerSteps,
} from '../../support/windows-worker.ts';
import { madeUp } from '../../unit/pipeline/fake-steps.ts';

const STORY_BEHIND_THE_REBOOT = [
  'kubeadm-reset Unchanged []',
  'active-directory Unchanged []',
  'kubeadm-config Succeeded [kubeadm-config//run/kubeadm/kubeadm-join-config.yaml]',
  'kubeadm Succeeded [kubeadm/join]',
  'kubelet-arguments Succeeded [kubelet-arguments/restart]',
  'readiness Succeeded [readiness/NodeReady]',
  'sentinel Succeeded [sentinel/file]',
];
const UNCHANGED = STORY_BEHIND_THE_REBOOT.map((line) => line.replace(/(Succeeded|Unchanged) .*/, 'Unchanged []'));

async function runsOf(worker: Worker, model?: Model): Promise<WindowsRuns> {
  return new WindowsRuns(worker.machine, workerSteps(), model ?? (await workerModel()));
}

/** Without the questions for versions that every run begins with. */
function commandsOf({ machine }: Worker): readonly string[] {
  return machine.commands.filter((command) => !/ (--version|version -o short)$/.test(command));
}

describe('a Windows worker', () => {
  test('joins its domain, is rebooted, verified, joins the cluster, is proven ready, and has its sentinel', async () => {
    await using worker = await windowsWorker();
    const { ends, last } = await (await runsOf(worker)).runToTheEnd();
    assert.deepEqual(ends, ['Rebooting', 'done']);
    assert.deepEqual(last.story, STORY_BEHIND_THE_REBOOT);
    assert.deepEqual(
      commandsOf(worker).map((command) => command.replace(/ \{.*/, '')),
      [
        'nltest.exe /dsgetdc:corp.example.com /force',
        'w32tm.exe /stripchart /computer:DC1.corp.example.com /samples:1 /dataonly',
        'powershell.exe <find-computer>',
        'powershell.exe <join-domain>',
        'kubeadm.exe config validate --config=/run/kubeadm/kubeadm-join-config.yaml.candidate',
        'kubeadm.exe join --config=/run/kubeadm/kubeadm-join-config.yaml',
        'powershell.exe -NoLogo -NoProfile -NonInteractive -ExecutionPolicy Bypass -File C:\\k\\RestartKubelet.ps1',
      ],
    );
    assert.equal(worker.machine.read(SENTINEL), 'success\n');
    worker.machine.assertExpected();
  });

  test('and its second run changes nothing', async () => {
    await using worker = await windowsWorker();
    const runs = await runsOf(worker);
    await runs.runToTheEnd();
    const before = worker.machine.effects;
    assert.deepEqual((await runs.run()).story, UNCHANGED);
    assert.equal(worker.machine.effects, before);
  });

  test('with a name of its own takes the name first: one reboot for each', async () => {
    await using worker = await windowsWorker();
    Object.assign(worker.machine.state, { hostname: 'WIN-4T7Q0', pendingHostname: 'WIN-4T7Q0' });
    const runs = await runsOf(worker, await workerModel({ hostname: 'win-node-1' }));
    const { ends } = await runs.runToTheEnd();
    assert.deepEqual(ends, ['Rebooting', 'Rebooting', 'done']);
    assert.deepEqual(
      runs.records.flatMap((record) => (record.is === 'reboot' ? [`${record.step} ${record.now}`] : [])),
      ['hostname', 'active-directory'].flatMap((step) => [`${step} Owed`, `${step} Requested`, `${step} Served`]),
    );
    assert.equal(worker.machine.read(SENTINEL), 'success\n');
  });

  test('has no sentinel and no kubeadm before the reboot', async () => {
    await using worker = await windowsWorker();
    assert.equal((await (await runsOf(worker)).run()).end, 'Rebooting');
    assert.equal(worker.machine.read(SENTINEL), undefined);
    assert.ok(!commandsOf(worker).some((command) => command.startsWith('kubeadm.exe')));
  });

  test('without a domain is not rebooted', async () => {
    await using worker = await windowsWorker();
    const { ends } = await (await runsOf(worker, await workerModel({ domain: false }))).runToTheEnd();
    assert.deepEqual(ends, ['done']);
  });

  test('that cannot join its domain never becomes a node', async () => {
    await using worker = await windowsWorker();
    worker.machine.record(joins(5));
    const { end, error, story } = await (await runsOf(worker)).run();
    assert.deepEqual([end, error?.exit], ['DomainPermissionDenied', 'HostStepFailed']);
    assert.deepEqual(
      story.slice(2).map((line) => line.split(' ')[1]),
      ['Skipped', 'Skipped', 'Skipped', 'Skipped', 'Skipped'],
    );
    assert.equal(worker.machine.read(SENTINEL), undefined);
  });

  test('hands kubeadm a configuration with the named pipe of containerd, closed to users', async () => {
    await using worker = await windowsWorker();
    let configuration: string | undefined;
    let rights: string | null = null;
    const { machine } = worker;
    const step = domainStep();
    const spy = {
      ...step,
      id: madeUp('spy'),
      desired: () => ({}),
      plan: () => [],
      inspect: async () => {
        configuration = machine.read('/run/kubeadm/kubeadm-join-config.yaml');
        rights = machine.descriptor('/run/kubeadm/kubeadm-join-config.yaml');
        return {};
      },
    };
    const steps = workerSteps(step).flatMap((one) => (one.id === 'kubeadm' ? [spy, one] : [one]));
    await new WindowsRuns(machine, steps, await workerModel()).runToTheEnd();
    assert.match(configuration ?? '', /criSocket: "?npipe:\/\/\/\/\.\/pipe\/containerd-containerd"?/);
    assert.match(configuration ?? '', new RegExp(TOKEN));
    assert.equal(rights, 'O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)');
  });

  test('gives no secret to a command line or to the journal', async () => {
    await using worker = await windowsWorker();
    const runs = await runsOf(worker);
    await runs.runToTheEnd();
    const seen = JSON.stringify([
      worker.machine.calls.map(({ program, args, env }) => [program, args, env]),
      runs.records,
    ]);
    for (const secret of [PASSWORD, TOKEN]) assert.ok(!seen.includes(secret));
  });

  test('reads its Node with the kubelet’s own credential from C:\\etc\\kubernetes', async () => {
    await using worker = await windowsWorker();
    await (await runsOf(worker)).runToTheEnd();
    assert.ok(worker.cluster.requests.includes('/api/v1/nodes/win-node-1'));
  });
});

describe('the readiness of a Windows worker', () => {
  const soon = (model: Model, ready: Partial<KubernetesModel['ready']> = {}): Model => {
    const { kubernetes } = model;
    assert.ok(kubernetes !== undefined);
    return { ...model, kubernetes: { ...kubernetes, ready: { ...kubernetes.ready, timeoutMs: 1, ...ready } } };
  };
  const failing = async (worker: Worker, ready: Partial<KubernetesModel['ready']> = {}) => {
    const runs = await runsOf(worker, soon(await workerModel({ domain: false }), ready));
    const { last } = await runs.runToTheEnd();
    assert.equal(worker.machine.read(SENTINEL), undefined);
    assert.equal(last.error?.exit, 'NotReady');
    return last.end;
  };

  test('fails without a healthy kubelet', async () => {
    await using worker = await windowsWorker();
    worker.healthy = false;
    assert.equal(await failing(worker), 'KubeletNotHealthy');
  });

  test('fails without a ready Node', async () => {
    await using worker = await windowsWorker();
    worker.ready = false;
    assert.equal(await failing(worker), 'NodeNotReady');
  });

  test('fails with a Node of the same name and another firmware, which is another machine’s', async () => {
    await using worker = await windowsWorker({ systemUuid: '00000000-0000-0000-0000-00000000CAFE' });
    assert.equal(await failing(worker, { require: 'NodeRegistered' }), 'NodeIdentityMismatch');
  });

  test('fails with the reason of the kubelet if the image’s script does not start it', async () => {
    await using worker = await windowsWorker();
    const { machine } = worker;
    const fails: Recording = {
      program: 'powershell.exe',
      args: [
        '-NoLogo',
        '-NoProfile',
        '-NonInteractive',
        '-ExecutionPolicy',
        'Bypass',
        '-File',
        'C:\\k\\RestartKubelet.ps1',
      ],
      stdout: 'kubelet service failed to restart.\r\n',
      effect: ({ state }) => {
        if (state.services.kubelet !== undefined) state.services.kubelet.state = 'Stopped';
      },
      from: { composed: 'image-builder, RestartKubelet.ps1: it ends with 0 all the same' },
    };
    machine.record(fails);
    const { last } = await (await runsOf(worker, await workerModel({ domain: false }))).runToTheEnd();
    assert.deepEqual([last.end, last.story.at(-3)?.split(' ')[0]], ['ServiceFailed', 'kubelet-arguments']);
    assert.equal(machine.read(SENTINEL), undefined);
  });

  test('restarts a kubelet under nssm as a service, and leaves its script alone', async () => {
    await using worker = await windowsWorker({ nssm: true });
    const { ends } = await (await runsOf(worker, await workerModel({ domain: false }))).runToTheEnd();
    assert.deepEqual(ends, ['done']);
    assert.ok(!commandsOf(worker).some((command) => command.includes('RestartKubelet')));
    assert.ok(
      commandsOf(worker).some((command) => command.includes('<change-service>') && command.includes('restart')),
    );
  });

  test('gives the kubelet the arguments that kubeadm changed since, once', async () => {
    await using worker = await windowsWorker();
    const runs = await runsOf(worker, await workerModel({ domain: false }));
    await runs.runToTheEnd();
    worker.machine.write(KUBELET_FLAGS, 'KUBELET_KUBEADM_ARGS="--node-labels=pool=other"\n');
    assert.ok((await runs.run()).story.includes('kubelet-arguments Succeeded [kubelet-arguments/restart]'));
    assert.deepEqual(
      (await runs.run()).story.filter((line) => !line.endsWith('Unchanged []')),
      [],
    );
  });
});

describe('a Windows worker that loses its power', () => {
  test('at any point ends as one that does not', async () => {
    const effects = await (async () => {
      await using worker = await windowsWorker();
      await (await runsOf(worker)).runToTheEnd();
      return worker.machine.effects;
    })();
    assert.ok(effects >= 8, `${effects}`);
    for (let effect = 1; effect <= effects; effect += 1) {
      await using worker = await windowsWorker({ recordings: RESET });
      const runs = await runsOf(worker);
      const { ends, last } = await runs.runToTheEnd(effect);
      assert.ok(ends.includes('killed'), `effect ${effect}: ${ends.join(', ')}`);
      assert.equal(last.end, 'done', `effect ${effect}: ${ends.join(', ')} ${last.error?.message}`);
      assert.equal(worker.machine.read(SENTINEL), 'success\n');
      assert.deepEqual((await runs.run()).story, UNCHANGED, `effect ${effect}`);
    }
  });

  for (const [what, point] of [
    ['just behind kubeadm, which had joined', { after: 'kubeadm.exe join' }],
    ['just behind the restart of the kubelet', { after: 'RestartKubelet' }],
  ] as const) {
    test(`${what}, does not join twice`, async () => {
      await using worker = await windowsWorker({ recordings: RESET });
      worker.machine.killAt(point);
      const runs = await runsOf(worker, await workerModel({ domain: false }));
      assert.deepEqual((await runs.runToTheEnd()).ends, ['killed', 'done']);
      assert.equal(commandsOf(worker).filter((command) => command.startsWith('kubeadm.exe join')).length, 1);
    });
  }
});

describe('a join that lost its power in the middle', () => {
  test('is cleaned up by kubeadm reset, and made again', async () => {
    await using worker = await windowsWorker({ recordings: RESET });
    const { machine } = worker;
    machine.record({
      program: 'kubeadm.exe',
      args: ['join', '--config=/run/kubeadm/kubeadm-join-config.yaml'],
      effect: (windows) => windows.write('/etc/kubernetes/bootstrap-kubelet.conf', 'apiVersion: v1\n'),
      from: { composed: 'k/k cmd/kubeadm/app/cmd/phases/join/kubelet.go: what it writes first' },
    });
    machine.killAt({ after: 'kubeadm.exe join' });
    const runs = await runsOf(worker, await workerModel({ domain: false }));
    const { ends, last } = await runs.runToTheEnd();
    assert.deepEqual(ends, ['killed', 'done'], last.error?.message);
    assert.deepEqual(
      commandsOf(worker)
        .filter((command) => /^kubeadm.exe (join|reset)/.test(command))
        .map((command) => command.split(' ')[1]),
      ['join', 'reset', 'join'],
    );
  });
});

/** What is cleaned up with where a join was cut off before it came to its end. */
const RESET: readonly Recording[] = [
  {
    program: 'kubeadm.exe',
    args: ['reset', '--force', '--cri-socket=npipe:////./pipe/containerd-containerd', '--kubeconfig=/dev/null'],
    stdout: '[reset] Deleting contents of directories\n',
    from: { composed: 'k/k cmd/kubeadm/app/cmd/reset.go' },
  },
];

describe('the plan of a Windows worker', () => {
  test('names every step, asks only, and knows what is known after what', async () => {
    await using worker = await windowsWorker();
    const facts = await worker.machine.facts();
    const identity = { uid: undefined, cloudInstanceId: undefined, machineId: facts.machineId };
    const { changes } = await planSteps(workerSteps(), {
      model: await workerModel(),
      facts,
      host: worker.machine.queryHost(),
      journal: [].reduce(afterRecord, newJournalState(identity, false)),
      scope: 'all',
    });
    assert.deepEqual(
      changes.map(({ id, knownAfter }) => (knownAfter === undefined ? id : `${id} after ${knownAfter}`)),
      [
        'active-directory/join',
        'kubeadm-config//run/kubeadm/kubeadm-join-config.yaml',
        'kubeadm/join',
        'kubelet-arguments/restart after kubeadm',
        'readiness/NodeReady after kubeadm',
        'sentinel/file',
      ],
    );
    assert.equal(worker.machine.effects, 0);
    assert.ok(!JSON.stringify(changes).includes(TOKEN));
  });
});
