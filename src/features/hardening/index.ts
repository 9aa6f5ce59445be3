import { dirname } from 'node:path/posix';
import type { HardeningModel, HostModel, KubernetesModel } from '@machineadm/document/model/index.ts';
import { KUBELET_CONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { HARDENING_RECORD } from '@machineadm/document/ownership/paths.ts';
import { QUIET } from '@machineadm/document/yaml/foreign-yaml.ts';
import type { Control } from '@machineadm/hardening/controls/control.ts';
import { evaluateControl } from '@machineadm/hardening/evaluate.ts';
import { type Remediations, remediationsFor } from '@machineadm/hardening/remediate.ts';
import { applied, select } from '@machineadm/hardening/select.ts';
import type { Host } from '../../host/seam/host.ts';
import { changeComponent, type Pace, USUAL_PACE } from '../../kubernetes/hardening/component-restart.ts';
import { withoutFlag } from '../../kubernetes/hardening/kubelet-flags.ts';
import { observe } from '../../kubernetes/hardening/observe.ts';
import { recordText } from '../../kubernetes/hardening/record.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution } from '../../step/index.ts';
import { changesFor, type HardeningPlace } from './changes.ts';

export interface HardeningDesired {
  readonly hardening: HardeningModel;
  /** The controls that apply to a machine of this role and version. */
  readonly controls: readonly Control[];
  readonly kubernetes: KubernetesModel;
  readonly host: Pick<HostModel, 'hostname'>;
  /** The kubelet's default name. */
  readonly hostname: string;
  readonly minor: number | undefined;
}

export interface HardeningActual {
  readonly remediations: Remediations;
  readonly record: string | undefined;
  /** These profiles were applied on this instance before. */
  readonly done: boolean;
  /** Their application was begun. */
  readonly interrupted: boolean;
}

export type HardeningPayload =
  | HardeningPlace
  | { readonly kind: 'record'; readonly text: string }
  | { readonly kind: 'all'; readonly desired: HardeningDesired; readonly interrupted: boolean };

/**
 * The second part of hardening: applies the profiles to the files of kubeadm and its packages, and keeps them so. The
 * first time it is a single change, because the details are unknown before kubeadm ran; later runs name each place that
 * has drifted. A control that only the cluster can satisfy is reported as a warning.
 */
export const hardening = hardeningStep(USUAL_PACE);

/** The step with a given pace: for tests. */
export function hardeningStep(pace: Pace): FeatureStep<HardeningDesired, HardeningActual, HardeningPayload> {
  return {
    id: 'hardening',
    section: 'hardening',
    isRequested: STAYS,
    followUps: { settles: ['restart:kubelet'] },

    desired(model, facts) {
      const { hardening: section, kubernetes } = model;
      if (section === undefined || kubernetes === undefined || kubernetes.exec !== undefined) return undefined;
      const minor = facts.kubelet?.minor;
      const controls = applied(select(section), kubernetes.role, minor);
      const hostname = (model.host.hostname ?? facts.hostname).toLowerCase();
      return { hardening: section, controls, kubernetes, host: model.host, hostname, minor };
    },

    async inspect(host, desired, record) {
      const seen = await observe(host, desired.controls, desired.minor);
      return {
        remediations: remediationsFor(desired.controls, seen, desired),
        record: await host.readText(HARDENING_RECORD),
        done: record.done.has(firstChangeId(desired)),
        interrupted: record.interrupted.has(firstChangeId(desired)),
      };
    },

    plan(desired, { remediations: mends, record, done, interrupted }) {
      const changes: Change<HardeningPayload>[] = [];
      if (done) changes.push(...changesFor(mends));
      else {
        changes.push({
          id: firstChangeId(desired),
          summary: `bring what kubeadm wrote to ${requestedControls(desired).join(', ')}`,
          scope: 'node',
          // Repeating it is harmless; only the record that it was done must not be lost.
          repeatable: false,
          knownAfter: 'kubeadm',
          payload: { kind: 'all', desired, interrupted },
        });
      }
      const text = recordText(desired.hardening);
      if (record !== text) {
        const summary = `${HARDENING_RECORD}: ${record === undefined ? 'create' : 'content'}`;
        changes.push({ id: 'hardening/record', summary, scope: 'node', payload: { kind: 'record', text } });
      }
      return changes;
    },

    async apply(host, { payload }, execution) {
      if (payload.kind === 'all') return await applyAll(host, payload, execution, pace);
      if (payload.kind !== 'record') return await applyPlace(host, payload, execution, pace);
      await host.writeFile({ path: HARDENING_RECORD, content: payload.text, mode: 0o644 });
    },

    async settled(host, desired, execution) {
      await host.sync('/etc');
      await host.sync(dirname(KUBELET_CONFIG));
      const seen = await observe(host, desired.controls, desired.minor);
      for (const control of desired.controls) {
        const verdict = evaluateControl(control, seen);
        if (verdict.state !== 'fails') continue;
        const why = verdict.evidence.map(({ source, text }) => `${source}: ${text}`).join('; ');
        execution.warn(`${control.id} does not hold: ${why}`);
      }
    },
  };
}

function requestedControls({ hardening: { profiles, include } }: HardeningDesired): readonly string[] {
  return [...profiles, ...include];
}

function firstChangeId(desired: HardeningDesired): string {
  return `hardening/${requestedControls(desired).join('+') || 'nothing'}`;
}

async function applyAll(
  host: Host,
  { desired, interrupted }: Extract<HardeningPayload, { kind: 'all' }>,
  execution: Execution,
  pace: Pace,
): Promise<void> {
  const seen = await observe(host, desired.controls, desired.minor);
  const changes = changesFor(remediationsFor(desired.controls, seen, desired));
  for (const { payload } of changes) await applyPlace(host, payload, execution, pace);
  // A run that was killed here may have written files that the kubelet has not read yet.
  if (interrupted || changes.some(({ owes }) => owes?.includes('restart:kubelet'))) {
    await host.services.restart('kubelet');
  }
}

/**
 * Applies the controls of one place. The kubelet reads its files when it restarts, which is a follow-up of the change.
 */
async function applyPlace(host: Host, place: HardeningPlace, execution: Execution, pace: Pace): Promise<void> {
  switch (place.kind) {
    case 'component':
      return await changeComponent(host, place.component, place.edits, {
        pace,
        signal: execution.signal,
        waitingFor: (what) => execution.waitingFor(what),
      });
    case 'kubelet':
      if (place.kubeletFields.size > 0) await changeConfiguration(host, place.kubeletFields);
      for (const [path, flags] of place.kubeletFlags) {
        await rewrite(host, path, (text) => flags.reduce(withoutFlag, text));
      }
      return;
    case 'files':
      for (const [path, { uid, gid }] of place.owners) await host.chown(path, uid, gid);
      // After the owner: chown clears setuid and setgid (chown(2)).
      for (const [path, mode] of place.modes) await host.chmod(path, mode);
      return;
    case 'services':
      for (const { name, act } of place.services) await host.services[act](name);
  }
}

async function changeConfiguration(host: Host, fields: ReadonlyMap<string, unknown>): Promise<void> {
  const { parseDocument } = await import('yaml');
  await rewrite(host, KUBELET_CONFIG, (text) => {
    const document = parseDocument(text, QUIET);
    for (const [field, value] of fields) {
      const path = field.split('.');
      if (value === null) document.deleteIn(path);
      else document.setIn(path, document.createNode(value));
    }
    return document.toString({ lineWidth: 0 });
  });
}

/** The same file with different content. */
async function rewrite(host: Host, path: string, change: (text: string) => string): Promise<void> {
  const [text, stat] = [await host.readText(path), await host.stat(path)];
  if (text === undefined || stat === undefined) return;
  const { mode, uid, gid } = stat;
  await host.writeFile({ path, content: change(text), mode, uid, gid });
}
