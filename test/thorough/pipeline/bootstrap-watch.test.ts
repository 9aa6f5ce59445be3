import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { watchBootstrap } from '../../../src/pipeline/bootstrap-watch.ts';
import { runSteps, StepFailure } from '../../../src/pipeline/runner.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { hostModel } from '../../support/host-model.ts';
import { type KubernetesOverrides, kubernetesModel } from '../../support/kubernetes-model.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { fakeSteps, runBench } from '../../unit/pipeline/fake-steps.ts';

const LINE =
  'E1128 03:00:00.000000 1 run.go:72] "command failed" err="failed to parse kubelet flag: unknown flag: --nonsense"';

/** A kubelet that has exited twice with an unknown flag. */
const host = () =>
  memoryHost({
    files: { '/var/lib/kubelet/config.yaml': 'kind: KubeletConfiguration\n' },
    services: {
      kubelet: {
        detail: 'activating',
        unit: {
          ...{ loadState: 'loaded', activeState: 'activating', subState: 'auto-restart', result: 'exit-code' },
          ...{ command: ['/usr/bin/kubelet', '--config=/var/lib/kubelet/config.yaml'], environment: '' },
          ...{ environmentFiles: [], memoryMax: undefined, ended: { by: 'exit', status: 1 }, restarts: 0 },
        },
      },
    },
    programs: {
      journalctl: ({ args }) => ({
        stdout: args.includes('kubelet.service') ? JSON.stringify({ MESSAGE: LINE, SYSLOG_IDENTIFIER: 'kubelet' }) : '',
      }),
    },
  });
async function watched(kubernetes: KubernetesOverrides) {
  using clock = fakeClock();
  const told: (string | undefined)[] = [];
  const ended: MachineadmError[] = [];
  const stop = new AbortController();
  clock.at(30_000, () => stop.abort());
  const model: Model = { ...hostModel(), kubernetes: kubernetesModel(kubernetes) };
  const machine = host();
  let looks = 0;
  // systemd starts it again every ten seconds.
  const service: typeof machine.service = async (name) => {
    const state = await machine.service(name);
    looks += 1;
    return {
      ...state,
      ...(state.unit === undefined ? {} : { unit: { ...state.unit, restarts: Math.floor(looks / 5) } }),
    };
  };
  const reporter = { waitingFor: (_step: string, what: string | undefined) => void told.push(what) };
  const end = (error: MachineadmError): void => void ended.push(error);
  await clock.until(watchBootstrap({ ...machine, service }, model, reporter, 'kubeadm', end, stop.signal));
  return { told, ended };
}

describe('a bootstrapper that waits for a kubelet with an unknown flag', () => {
  test('is reported, and ended after the second exit with the proof', async () => {
    const { told, ended } = await watched({});
    assert.match(
      told[0] ?? '',
      /^the bootstrapper, probably in vain \(KubeletUnknownFlag\): The kubelet does not know a flag/,
    );
    const [error] = ended;
    assert.equal(error?.reason, 'BootstrapperFailed');
    assert.match(
      error.message,
      /^The bootstrapper was ended, because it waited for something that cannot come: The kubelet/,
    );
    assert.match(error.evidence[0]?.text ?? '', /--nonsense/);
  });

  test('is only reported where the document says so, or its program is not kubeadm', async () => {
    const patient = await watched({ kubeadm: { failFast: false } });
    assert.deepEqual([patient.told.length > 0, patient.ended], [true, []]);
  });
});

describe('a step that bootstraps', () => {
  test('is ended by the watch with its error; other steps and changes are not watched', async () => {
    const watchedSteps: string[] = [];
    const cause = new MachineadmError({ reason: 'BootstrapperFailed', summary: 'in vain', remedy: 'Correct it.' });
    const aborted = ({ signal }: { readonly signal: AbortSignal }) =>
      new Promise<void>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    const bench = {
      ...runBench(),
      async watchBootstrap(step: { readonly id: string }, end: (error: MachineadmError) => void, signal: AbortSignal) {
        watchedSteps.push(step.id);
        end(cause);
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    };
    const steps = fakeSteps(
      { id: 'files', changes: [{ id: 'files/a', repeatable: false }] },
      {
        id: 'bootstrap',
        bootstraps: true,
        changes: [{ id: 'bootstrap/enable' }, { id: 'bootstrap/run', repeatable: false, apply: aborted }],
      },
    );
    await assert.rejects(runSteps(steps, bench), (error: unknown) => {
      assert.ok(error instanceof StepFailure && error.error instanceof MachineadmError);
      assert.equal(error.step, 'bootstrap');
      assert.equal(error.error.reason, 'BootstrapperFailed');
      assert.match(error.error.message, /in vain/);
      return true;
    });
    assert.deepEqual(watchedSteps, ['bootstrap']);
  });
});
