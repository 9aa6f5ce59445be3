import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ExecModel, Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { execBootstrapper } from '../../../../src/features/exec-bootstrapper/index.ts';
import { execReadiness } from '../../../../src/features/exec-readiness/index.ts';
import { commandKilled } from '../../../../src/host/commands/killed.ts';
import { PIPELINE } from '../../../../src/pipeline/pipeline.ts';
import { startHealthz } from '../../../support/api-server.ts';
import { facts } from '../../../support/facts.ts';
import { fileModel, hostModel } from '../../../support/host-model.ts';
import { inlineSecret, kubernetesModel } from '../../../support/kubernetes-model.ts';
import { type MemoryProgram, memoryHost } from '../../../support/memory-host.ts';
import { shortPauses } from '../../../support/short-pauses.ts';
import { bench } from '../../../support/step-bench.ts';

const PROGRAM = '/usr/local/bin/k3s-bootstrap';
const TOKEN = 'K10abc::server:0123456789';

function machine(exec: Partial<ExecModel> = {}): Model {
  const model: ExecModel = {
    command: PROGRAM,
    args: ['--quiet'],
    env: [{ name: 'INSTALL_K3S_SKIP_DOWNLOAD', value: 'true' }],
    timeoutMs: 60_000,
    proof: 'Command',
    successTest: ['k3s', 'kubectl', 'get', 'nodes'],
    failurePatterns: [],
    reset: undefined,
    retry: { attempts: 3, backoffMs: 1000 },
    ...exec,
  };
  const discovery = {
    token: inlineSecret(TOKEN, 'joinToken'),
    endpoint: '10.0.0.1:6443',
    caCertHashes: [],
    unsafeSkipCAVerification: false,
  };
  const join = { discovery, tlsBootstrapToken: undefined, caCertPath: '/etc/kubernetes/pki/ca.crt' };
  const kubernetes = kubernetesModel({ version: 'v1.30.4+k3s1', role: 'Worker', exec: model, join });
  return { ...hostModel(), kubernetes };
}

function programs(program: MemoryProgram = () => ({}), k3s: MemoryProgram = () => ({ status: 1 })) {
  return { programs: { [PROGRAM]: program, k3s } };
}

describe("a program in kubeadm's place", () => {
  shortPauses();
  test('takes the place of every step of kubeadm', () => {
    const asked = [...PIPELINE.kubernetes, ...PIPELINE.conclusion]
      .filter((step) => step.desired(machine(), facts()) !== undefined)
      .map(({ id }) => id);
    assert.deepEqual(asked, ['exec-bootstrapper', 'exec-readiness', 'sentinel']);
  });

  test('gets the order on standard input, secrets with it, and its environment', async () => {
    let order: Record<string, unknown> = {};
    let env: Readonly<Record<string, string>> = {};
    const host = memoryHost(
      programs((command) => {
        order = JSON.parse(String(command.input));
        env = command.env ?? {};
        return { stdout: `joining with ${TOKEN}\n` };
      }),
    );
    const told = await bench(execBootstrapper, host, machine()).apply();
    assert.deepEqual(host.log, [`run ${PROGRAM} --quiet`]);
    assert.deepEqual(
      [order.kind, order.role, order.version, order.nodeName, env],
      ['BootstrapOrder', 'Worker', 'v1.30.4+k3s1', 'node-1', { INSTALL_K3S_SKIP_DOWNLOAD: 'true' }],
    );
    assert.deepEqual(order.join, {
      endpoint: '10.0.0.1:6443',
      token: TOKEN,
      caCertHashes: [],
      unsafeSkipCAVerification: false,
      caCertPath: '/etc/kubernetes/pki/ca.crt',
    });
    assert.deepEqual(told.lines, ['joining with [redacted]']);
  });

  test('must be there, unless the document brings it along', async () => {
    const missing = (model: Model, host = memoryHost()) => bench(execBootstrapper, host, model).preflight();
    assert.deepEqual(
      (await missing(machine())).map(({ reason }) => reason),
      ['ExecBootstrapperMissing'],
    );
    assert.deepEqual(await missing(machine(), memoryHost(programs())), []);
    const file = fileModel(PROGRAM, '', { mode: 0o755 });
    const model = machine();
    assert.deepEqual(await missing({ ...model, host: { ...model.host, files: [file] } }), []);
  });

  test('that fails is reported with the first pattern that matches', async () => {
    const failing = memoryHost(
      programs(() => ({ status: 7, stderr: 'level=info\nlevel=fatal msg="token CA hash does not match"\nbye\n' })),
    );
    const failurePatterns = [
      { pattern: 'connection refused', reason: 'Nobody answers.', remedy: undefined, retryable: true },
      { pattern: 'CA hash .*match', reason: 'It is another cluster.', remedy: 'Correct the token.', retryable: false },
    ];
    await assert.rejects(bench(execBootstrapper, failing, machine({ failurePatterns })).apply(), {
      reason: 'ExecBootstrapperFailed',
      message: `It is another cluster. (${PROGRAM}, exit status 7)`,
      remedy: 'Correct the token.',
      retryable: false,
      evidence: [
        { source: 'bootstrapper', text: 'level=fatal msg="token CA hash does not match"' },
        { source: 'bootstrapper', text: 'level=info' },
        { source: 'bootstrapper', text: 'bye' },
      ],
    });
  });

  test('that no pattern explains is not tried again', async () => {
    const host = memoryHost(programs(() => ({ status: 1 })));
    await assert.rejects(bench(execBootstrapper, host, machine()).apply(), {
      reason: 'ExecBootstrapperFailed',
      retryable: false,
    });
  });

  test('that is killed is named by its signal, whatever it printed, and may succeed later', async () => {
    const killed = commandKilled(PROGRAM, {
      signal: 'SIGKILL',
      outOfMemory: { source: 'memory.events', text: 'oom_kill 1' },
    });
    const host = memoryHost(
      programs((command) => {
        command.onLine?.('stderr', 'installing');
        throw killed;
      }),
    );
    await assert.rejects(bench(execBootstrapper, host, machine()).apply(), {
      reason: 'BootstrapperKilled',
      exit: 'BootstrapperFailed',
      message: `${PROGRAM} was killed by SIGKILL: out of memory.`,
      remedy: /more memory/,
      retryable: true,
      evidence: [
        { source: 'memory.events', text: 'oom_kill 1' },
        { source: 'bootstrapper', text: 'installing' },
      ],
    });
  });

  test('that hangs has failed', async () => {
    const host = memoryHost(programs(() => ({ status: 137, timedOut: true })));
    await assert.rejects(bench(execBootstrapper, host, machine()).apply(), {
      reason: 'ExecBootstrapperFailed',
      message: /did not end within 1 m/,
    });
  });

  test('is not run again once it has succeeded', async () => {
    assert.deepEqual(await bench(execBootstrapper, memoryHost(), machine()).plan({ bootstrap: 'done' }), []);
  });
});

describe('after an attempt that was killed or failed', () => {
  shortPauses();
  test('the success test runs first', async () => {
    const host = memoryHost(programs(undefined, () => ({ status: 0 })));
    await bench(execBootstrapper, host, machine()).apply({ bootstrap: 'attempted' });
    assert.deepEqual(host.log, ['run k3s kubectl get nodes']);
  });

  test('its own reset undoes it before it runs again', async () => {
    const host = memoryHost(programs());
    const model = machine({ reset: ['k3s', 'uninstall'], successTest: undefined });
    await assert.rejects(bench(execBootstrapper, host, model).apply({ bootstrap: 'attempted' }), {
      reason: 'ExecBootstrapperFailed',
      message: /could not undo an earlier attempt/,
    });
    const mended = memoryHost(programs(undefined, () => ({ status: 0 })));
    await bench(execBootstrapper, mended, model).apply({ bootstrap: 'attempted' });
    assert.deepEqual(mended.log, ['run k3s uninstall', `run ${PROGRAM} --quiet`]);
  });
});

describe('the proof that its node works', () => {
  shortPauses();
  test('is the success test, which is repeated until it passes', async () => {
    let asked = 0;
    const host = memoryHost(
      programs(undefined, () => {
        asked += 1;
        return { status: asked < 2 ? 1 : 0 };
      }),
    );
    const step = bench(execReadiness, host, machine());
    const { notes } = await step.apply();
    assert.equal(asked, 2);
    assert.deepEqual(await step.plan({ notes: new Map([['exec-readiness/Command', notes[0]]]) }), []);
  });

  test('does not come from an earlier boot', async () => {
    const [change] = await bench(execReadiness, memoryHost(programs()), machine()).plan({
      notes: new Map([['exec-readiness/Command', { bootId: 'another' }]]),
    });
    assert.equal(change?.id, 'exec-readiness/Command');
  });

  test('fails with the last output of the test', async () => {
    const host = memoryHost(programs(undefined, () => ({ status: 1, stderr: 'no nodes\n' })));
    const model = machine();
    const { kubernetes } = model;
    assert.ok(kubernetes);
    const hurried = { ...model, kubernetes: { ...kubernetes, ready: { ...kubernetes.ready, timeoutMs: 1 } } };
    await assert.rejects(bench(execReadiness, host, hurried).apply(), {
      reason: 'SuccessTestFailed',
      exit: 'NotReady',
      evidence: [{ source: 'success test', text: 'no nodes' }],
    });
  });
});

describe("the proof by the kubelet's health", () => {
  shortPauses();
  const byKubelet = machine({ proof: 'KubeletHealthy', successTest: undefined });
  const PROVED = { notes: new Map([['exec-readiness/KubeletHealthy', { bootId: facts().bootId }]]) };

  test('is asked for in every run, and names what is wrong with the kubelet now', async () => {
    const host = memoryHost({ files: { '/var/lib/kubelet/config.yaml': 'healthzPort: 1\n' } });
    for (const record of [PROVED, { notes: new Map() }]) {
      const [change, ...more] = await bench(execReadiness, host, byKubelet).plan(record);
      assert.deepEqual(more, []);
      assert.deepEqual([change?.id, change?.action, change?.scope], ['exec-readiness/KubeletHealthy', 'run', 'node']);
      assert.deepEqual([change?.knownAfter, change?.ineffective], ['exec-bootstrapper', 'KubeletNotHealthy']);
      assert.match(change?.summary ?? '', /^wait until the kubelet is healthy \(now: .*127\.0\.0\.1:1.*\)$/);
    }
  });

  test('passes where the kubelet answers, and then counts until the next boot', async () => {
    await using kubelet = await startHealthz();
    const host = memoryHost({ files: { '/var/lib/kubelet/config.yaml': `healthzPort: ${kubelet.port}\n` } });
    const step = bench(execReadiness, host, byKubelet);
    assert.deepEqual(
      (await step.plan({ notes: new Map() })).map(({ summary }) => summary),
      ['wait until the kubelet is healthy (now: it is)'],
    );
    const { notes } = await step.apply();
    assert.deepEqual(notes[0], { bootId: facts().bootId });
    assert.deepEqual(await step.plan(PROVED), []);
  });

  test('fails at its deadline with what the kubelet said', async () => {
    const host = memoryHost({ files: { '/var/lib/kubelet/config.yaml': 'healthzPort: 1\n' } });
    const { kubernetes } = byKubelet;
    assert.ok(kubernetes);
    const hurried = { ...byKubelet, kubernetes: { ...kubernetes, ready: { ...kubernetes.ready, timeoutMs: 1 } } };
    await assert.rejects(bench(execReadiness, host, hurried).apply(), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.deepEqual([error.reason, error.exit, error.retryable], ['KubeletNotHealthy', 'NotReady', true]);
      assert.match(error.message, /^\/usr\/local\/bin\/k3s-bootstrap ended well, but .*127\.0\.0\.1:1/);
      assert.equal(error.evidence[0]?.source, 'kubelet');
      return true;
    });
  });
});
