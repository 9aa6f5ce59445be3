import { setTimeout as pause } from 'node:timers/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { whyFixed } from '@machineadm/document/sections/kubernetes/fixed-kubelet-settings.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import type { Host } from '../../host/seam/host.ts';
import { waitUntilSteady } from '../../kubernetes/steady-kubelet.ts';
import { runningConfiguration } from '../../kubernetes/upgrade/kubelet-configz.ts';
import { forgetKubelet, keepKubelet, keptKubelet } from '../../kubernetes/upgrade/kubelet-kept.ts';
import {
  changedFiles,
  lacksOf,
  type SettingChange,
  settingChanges,
  shown,
} from '../../kubernetes/upgrade/kubelet-settings.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Execution, UnmetRequirement } from '../../step/index.ts';
import { changes as concerns, type Upgrade } from '../../step/upgrade-order.ts';
import { isNodeReady, type UpgradeDesired, upgradeDesired } from './desired.ts';
import { KUBELET_CHANGE as RUN } from './kubelet-back.ts';

const PAUSE_MS = 1_000;
const SLACK_MS = 120_000;
const FIELD = 'kubernetes.node.kubelet';

interface SettingsActual {
  readonly upgrade: Upgrade | undefined;
  readonly isDone: boolean;
  readonly isUnfinished: boolean;
  /** Whether the Node was Ready before; undefined: not known yet. */
  readonly wasReady: boolean | undefined;
  readonly differences: readonly SettingChange[];
}

interface SettingsPayload {
  readonly desired: UpgradeDesired;
  readonly isUnfinished: boolean;
  readonly wasReady: boolean | undefined;
  /** In an upgrade to another version, the kubelet is restarted after this. */
  readonly restarts: boolean;
}

/**
 * Changes the configuration and the arguments of a kubelet that runs, restarts it, and proves that it works with them. In an
 * upgrade to another version it comes after kubeadm, which writes the configuration of the cluster.
 */
export const upgradeKubeletSettings: FeatureStep<UpgradeDesired, SettingsActual, SettingsPayload> = {
  id: 'upgrade-kubelet-settings',
  section: 'kubernetes.node.kubelet',
  isRequested: STAYS,

  desired: upgradeDesired,

  idle: (_desired, { upgrade }) => !concerns(upgrade, 'kubelet'),

  // Its health, and then its configuration.
  deadlineMs: ({ kubernetes }) => 2 * kubernetes.ready.timeoutMs + SLACK_MS,

  async preflight(host, { kubernetes }, record) {
    const upgrade = record?.upgrade;
    if (record === undefined || !concerns(upgrade, 'kubelet') || record.done.has(RUN)) return [];
    const refused = (await settingChanges(host, kubernetes)).flatMap((change): UnmetRequirement[] => {
      const why = whyFixed(change);
      return why === undefined ? [] : [fixed(change, why, kubernetes.node.kubelet.args)];
    });
    const { patches, patchesDirectory } = kubernetes.kubeadm;
    const index = patches.findIndex(({ target }) => target === 'kubeletconfiguration');
    if (index === -1 && patchesDirectory === undefined) return refused;
    const field = `kubernetes.bootstrapper.kubeadm.patches${index === -1 ? '.directory' : `[${index}]`}`;
    return [
      ...refused,
      {
        reason: 'DocumentChanged',
        what: 'the document patches the configuration of the kubelet, and only kubeadm knows the result',
        remedy: `Change the kubelet of this node together with an upgrade to another version, with the new value in ${field}.`,
        ...{ field, scope: 'node', certain: true },
      },
    ];
  },

  async inspect(host, { kubernetes }, { upgrade, done, interrupted, notes }) {
    const wasReady = member(notes.get(RUN), 'wasReady');
    return {
      wasReady: typeof wasReady === 'boolean' ? wasReady : undefined,
      upgrade,
      isDone: done.has(RUN),
      isUnfinished: interrupted.has(RUN),
      differences: await settingChanges(host, kubernetes),
    };
  },

  plan(desired, { upgrade, isDone, isUnfinished, wasReady, differences }) {
    if (!concerns(upgrade, 'kubelet') || isDone || (differences.length === 0 && !isUnfinished)) return [];
    const restarts = !concerns(upgrade, 'version');
    const named = differences.map(
      ({ kind, name, from, to }) => `${kind === 'field' ? name : `--${name}`}: ${shown(from)} -> ${shown(to)}`,
    );
    const what = named.length === 0 ? 'as an earlier run began it' : named.join('; ');
    return [
      {
        id: RUN,
        summary: `change the kubelet: ${what}${restarts ? ', and restart it' : ''}`,
        action: 'change',
        scope: 'node',
        repeatable: false,
        ineffective: 'KubeletNotReconfigured',
        payload: { desired, isUnfinished, wasReady, restarts },
      },
    ];
  },

  async apply(host, { payload: { desired, isUnfinished, restarts, ...known } }, execution) {
    const { kubernetes } = desired;
    const wasReady = known.wasReady ?? (await isNodeReady(host, desired, execution.signal));
    execution.remember({ wasReady });
    if (!isUnfinished || (await keptKubelet(host)) === undefined) await keepKubelet(host);
    const changes = await settingChanges(host, kubernetes);
    for (const { path, content } of await changedFiles(host, changes)) {
      const stat = await host.stat(path);
      await host.writeFile({ path, content, mode: stat?.mode ?? 0o644, gid: stat?.gid ?? 0 });
      await host.sync(path);
    }
    if (!restarts) return;
    const { signal } = execution;
    await host.services.restart('kubelet');
    const { timeoutMs } = kubernetes.ready;
    const waitingFor = (what: string | undefined): void => execution.waitingFor(what);
    const demand = wasReady ? ({ ...desired.readiness, require: 'NodeReady' } as const) : desired.readiness;
    await waitUntilSteady(host, demand, { timeoutMs, signal, waitingFor });
    if (desired.isControlPlane) await prove(host, desired, execution);
    await forgetKubelet(host);
  },
};

function fixed(
  { kind, name, from, to }: SettingChange,
  why: string,
  args: readonly { readonly name: string }[],
): UnmetRequirement {
  const place = kind === 'field' ? `config.${name}` : `args[${args.findIndex((one) => one.name === name)}]`;
  return {
    reason: 'DocumentChanged',
    what: `${kind === 'field' ? name : `--${name}`} cannot change on a running node (${shown(from)} -> ${shown(to)}): ${why}`,
    remedy: `Write ${from === undefined ? 'no value' : shown(from)}, or replace the machine.`,
    ...{ field: `${FIELD}.${place}`, scope: 'node', certain: true },
  };
}

/** Waits until the kubelet shows the values of the document as those with which it runs. */
async function prove(host: Host, desired: UpgradeDesired, { signal, waitingFor }: Execution): Promise<void> {
  const { kubernetes } = desired;
  const wanted = Object.entries(kubernetes.node.kubelet.config).map(
    ([name, to]): SettingChange => ({ kind: 'field', name, from: undefined, to }),
  );
  const end = performance.now() + kubernetes.ready.timeoutMs;
  for (;;) {
    const found = await runningConfiguration(host, kubernetes.cluster.certificatesDirectory, signal);
    const lacking = 'why' in found ? [found.why] : lacksOf(found.config, wanted);
    if (lacking.length === 0) return waitingFor(undefined);
    waitingFor(`the kubelet to run with its new configuration: ${lacking.join('; ')}`);
    if (performance.now() > end) {
      throw new MachineadmError({
        reason: 'KubeletNotReconfigured',
        summary: `The kubelet does not run with its new configuration: ${lacking.join('; ')}.`,
        remedy: 'Correct kubernetes.node.kubelet, then run machineadm upgrade again.',
        evidence: lacking.map((text) => ({ source: 'kubelet /configz', text })),
        retryable: true,
      });
    }
    await pause(PAUSE_MS, undefined, { signal });
  }
}
