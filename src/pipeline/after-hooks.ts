import type { Model } from '@machineadm/document/model/index.ts';
import { gatherFacts } from '../host/index.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Execution, Step } from '../step/index.ts';
import { stepsFor } from './pipeline.ts';
import { pendingHooks, programsOf, programsToCome, requireAfter, waitsForHooks } from './preflight.ts';
import { priorStates } from './prior-states.ts';
import type { RunOptions } from './run-options.ts';
import type { RunTrace } from './run-trace.ts';
import { HOOK_EDIT } from './step-record.ts';

/** A run whose hooks may install programs that later steps need. */
export interface RunWithHooks extends Omit<RunOptions, 'facts' | 'model'> {
  /** Renewed after hooks. */
  facts: Facts;
  /** With what steps found on the machine. */
  model: Model;
  readonly trace: RunTrace;
  /** These steps and the postponed ones, right after the hooks. */
  withPostponed(steps: readonly Step[]): readonly Step[];
}

/**
 * Prepares a run for hooks that may install runc, containerd, kubeadm and the kubelet. After each group of hooks the
 * versions are read again, files of earlier steps that depend on a version are renewed, and requirements are checked
 * again. After files and archives that bring one of these programs, the versions and the requirements are, too.
 */
export function withHooks(
  base: Omit<RunOptions, 'hooksRan' | 'recheck' | 'postpones'> & { readonly trace: RunTrace },
  steps: readonly Step[] = stepsFor(base.scope, base.model.host.platform),
  gather: () => Promise<Facts> = () => gatherFacts(base.host),
): RunWithHooks {
  const postponed = new Set<Step>();
  const asked = () => ({
    ...base,
    facts: run.facts,
    model: run.model,
    record: (step: string) => base.journal.record(step),
  });
  const run: RunWithHooks = {
    ...base,

    resolved(model) {
      run.model = model;
      base.resolved?.(model);
    },

    async hooksRan(hooks, execution) {
      await noteHookEdits(hooks, run);
      const before = run.facts;
      run.facts = afterHooks(before, await gather());
      await renew(steps.slice(0, steps.indexOf(hooks)), before, run, execution);
    },

    async recheck(installer, hasChanged) {
      if (installer.hooks === undefined) {
        // Programs that are there already may have got another version.
        const upgrades = run.journal.record(installer.id).upgrade !== undefined;
        const replaces = hasChanged && programsOf(installer, asked()).length > 0;
        if (!upgrades && !replaces && programsToCome(installer, asked()).length === 0) return;
        run.facts = afterHooks(run.facts, await gather());
      }
      await requireAfter(installer, steps, asked());
    },

    postpones(step) {
      const waits = waitsForHooks(step, steps, asked());
      if (waits) postponed.add(step);
      return waits;
    },

    withPostponed(phase) {
      const [hooks] = pendingHooks(steps, asked()).filter((step) => phase.includes(step));
      const waiting = steps.filter((step) => postponed.has(step));
      postponed.clear();
      return phase.flatMap((step) => (step === hooks ? [step, ...waiting] : [step]));
    },
  };
  return run;
}

/**
 * The facts that hooks may change. The identity and the environment of the machine stay as they were at the start of
 * the run.
 */
function afterHooks(before: Facts, now: Facts): Facts {
  const { hostname, nodeAddresses, addresses, interfaces, runtimeSockets, containerd, kubeadm, kubelet } = now;
  const known = {
    ...(addresses && { addresses }),
    ...(interfaces && { interfaces }),
    ...(runtimeSockets && { runtimeSockets }),
  };
  return { ...before, hostname, nodeAddresses, ...known, containerd, kubeadm, kubelet };
}

/**
 * Records how hooks changed files of earlier steps. A `sed` over a file of the document is common in hooks (Cluster
 * API's preKubeadmCommands), and hooks run once: without the record the next run would restore the document's file, and
 * lose the edit.
 */
async function noteHookEdits(
  hooks: Step,
  { model, facts, host, journal }: Pick<RunOptions, 'model' | 'facts' | 'host' | 'journal'>,
): Promise<void> {
  const steps: readonly Step[] = stepsFor('all', model.host.platform);
  for (const step of steps.slice(0, steps.indexOf(hooks))) {
    const desired = step.afterHooks?.edits === undefined ? undefined : step.desired(model, facts);
    if (desired === undefined) continue;
    for (const [path, note] of (await step.afterHooks?.edits?.(host, desired, journal.record(step.id))) ?? []) {
      // A hook belongs to the document: its edit of a file is not drift.
      await priorStates(host, hooks.id, journal).around([`path:${path}`], () =>
        journal.append({ is: 'note', step: hooks.id, change: `${HOOK_EDIT}${path}`, note }),
      );
    }
  }
}

/** Before the journal records that the hooks ran, so that a killed run repeats this. */
async function renew(
  steps: readonly Step[],
  before: Facts,
  { model, facts, host, journal }: RunWithHooks,
  execution: Execution,
): Promise<void> {
  for (const step of steps) {
    if (step.afterHooks?.renew === undefined) continue;
    const [old, desired] = [step.desired(model, before), step.desired(model, facts)];
    if (desired === undefined || JSON.stringify(old) === JSON.stringify(desired)) continue;
    for (const [change, note] of await step.afterHooks.renew(host, desired, journal.record(step.id), execution))
      journal.append({ is: 'note', step: step.id, change, note });
  }
}
