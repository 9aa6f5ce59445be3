import type { ExecModel, FileModel, KubernetesModel, Metadata } from '@machineadm/document/model/index.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import type { Host } from '../../host/seam/host.ts';
import { bootstrapOrder, secretsOfOrder } from '../../kubernetes/exec/order.ts';
import { passesSuccessTest, resetProgram, runProgram } from '../../kubernetes/exec/runner.ts';
import { expectedNodeName } from '../../kubernetes/node-name.ts';
import { resolveSecrets } from '../../kubernetes/secrets.ts';
import { scriptEnvironment } from '../../shell/single-script.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Execution } from '../../step/index.ts';
import { RUN } from './reset-command.ts';

export interface ExecBootstrapperDesired {
  readonly kubernetes: KubernetesModel;
  readonly exec: ExecModel;
  readonly machine: Metadata;
  readonly nodeName: string;
  readonly files: readonly FileModel[];
  /** True where it is a part of the script of the hooks around it. */
  readonly isInScript: boolean;
}

export interface ExecBootstrapperActual {
  readonly bootstrap: 'none' | 'attempted' | 'done';
}

export interface ExecBootstrapperPayload {
  readonly desired: ExecBootstrapperDesired;
  /** An earlier attempt began, and its success is not recorded. */
  readonly again: boolean;
}

/**
 * A program of the document that replaces kubeadm (`kubernetes.bootstrapper.exec`). It runs once, like kubeadm: after
 * an attempt that was killed or failed, the success test runs first, then the program's own reset, and then the program
 * again.
 */
export const execBootstrapper: FeatureStep<ExecBootstrapperDesired, ExecBootstrapperActual, ExecBootstrapperPayload> = {
  id: 'exec-bootstrapper',
  section: 'kubernetes.bootstrapper',
  isRequested: STAYS,
  leaves({ notes }) {
    const command = member(notes.get(RUN), 'reset');
    const isUndone = Array.isArray(command) && command.length > 0;
    return isUndone ? [] : ['what the program of the document did: the document has no command that undoes it'];
  },
  // The program of the document resets what it wrote itself.
  bootstrapper: { inventory: async () => undefined },

  desired(model, facts) {
    const { kubernetes, metadata, host } = model;
    if (kubernetes?.exec === undefined) return undefined;
    const nodeName = expectedNodeName(kubernetes, model, facts);
    const isInScript = host.hooks.beforeBootstrap?.onError === 'Script';
    return { kubernetes, exec: kubernetes.exec, machine: metadata, nodeName, files: host.files, isInScript };
  },

  async preflight(host, { exec, files }) {
    // A program that this document itself provides exists in time.
    if (files.some(({ path }) => path === exec.command)) return [];
    if ((await host.which(exec.command)) !== undefined) return [];
    return [
      {
        reason: 'ExecBootstrapperMissing',
        what: `the bootstrapper ${exec.command} is not installed`,
        remedy: `Install ${exec.command}, bring it along with host.files, or correct kubernetes.bootstrapper.exec.command.`,
        scope: 'node',
      },
    ];
  },

  secrets: ({ kubernetes, machine }) => secretsOfOrder(kubernetes, machine),

  async inspect(_host, _desired, record) {
    return { bootstrap: record.bootstrap };
  },

  plan(desired, { bootstrap }) {
    if (bootstrap === 'done') return [];
    const again = bootstrap === 'attempted';
    const { command } = desired.exec;
    const summary = again ? `${command}, unless an earlier attempt turns out to have succeeded` : command;
    const payload: ExecBootstrapperPayload = { desired, again };
    return [{ id: RUN, summary, scope: 'node', repeatable: false, payload }];
  },

  async apply(host, { payload }, execution) {
    const { desired, again } = payload;
    const { exec, kubernetes } = desired;
    const watch = { signal: execution.signal, line: (text: string) => execution.output('bootstrapper', text) };
    if (again && (await hadSucceeded(host, exec, execution))) return;
    // `machineadm reset` has no document: this note contains the program's reset command.
    execution.remember({ reset: exec.reset ?? [] });
    if (again) await resetProgram(host, exec, watch);
    const secrets = await resolveSecrets(host, secretsOfOrder(kubernetes, desired.machine));
    const order = bootstrapOrder(kubernetes, desired.machine, desired.nodeName, secrets);
    execution.waitingFor(exec.command);
    const shellEnvironment = desired.isInScript ? await scriptEnvironment(host) : undefined;
    await runProgram(host, exec, `${JSON.stringify(order)}\n`, watch, shellEnvironment);
    execution.waitingFor(undefined);
  },
};

async function hadSucceeded(host: Host, exec: ExecModel, execution: Execution): Promise<boolean> {
  const { passed } = await passesSuccessTest(host, exec, execution.signal);
  if (passed !== true) return false;
  execution.output('bootstrapper', 'an earlier attempt had succeeded: the success test passes');
  return true;
}
