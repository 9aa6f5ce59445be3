import { KUBELET_CONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { formatMode } from '@machineadm/document/text/units.ts';
import type { Component } from '@machineadm/hardening/controls/control.ts';
import type { ManifestEdit } from '@machineadm/hardening/manifest.ts';
import { manifestPath } from '@machineadm/hardening/observed.ts';
import type { Remediations } from '@machineadm/hardening/remediate.ts';
import type { Change } from '../../step/index.ts';

/** The effect of one change on one place. */
export type HardeningPlace =
  | { readonly kind: 'component'; readonly component: Component; readonly edits: readonly ManifestEdit[] }
  | ({ readonly kind: 'kubelet' } & Pick<Remediations, 'kubeletFields' | 'kubeletFlags'>)
  | ({ readonly kind: 'files' } & Pick<Remediations, 'modes' | 'owners'>)
  | ({ readonly kind: 'services' } & Pick<Remediations, 'services'>);

/** One change for each place that has drifted, with its controls. */
export function changesFor(remediations: Remediations): readonly Change<HardeningPlace>[] {
  const ids = (...places: readonly Parameters<Remediations['controls']['get']>[0][]): string =>
    [...new Set(places.flatMap((place) => remediations.controls.get(place) ?? []))].join(', ');
  const common = { scope: 'node', ineffective: 'HardeningNotEffective' } as const;
  const changes: Change<HardeningPlace>[] = [];
  const { kubeletFields, kubeletFlags, modes, owners, services } = remediations;
  if (modes.size + owners.size > 0) {
    const files = [
      ...[...modes].map(([path, mode]) => `${path} ${formatMode(mode)}`),
      ...[...owners].map(([path, { uid, gid }]) => `${path} ${uid}:${gid}`),
    ];
    changes.push({
      ...common,
      id: 'hardening/files',
      summary: `${files.join(', ')}: ${ids('modes', 'owners')}`,
      payload: { kind: 'files', modes, owners },
    });
  }
  if (kubeletFields.size + kubeletFlags.size > 0) {
    const places = [...(kubeletFields.size > 0 ? [KUBELET_CONFIG] : []), ...kubeletFlags.keys()];
    const what = [...kubeletFields.keys(), ...[...kubeletFlags.values()].flat().map((flag) => `--${flag}`)];
    changes.push({
      ...common,
      id: 'hardening/kubelet',
      summary: `${places.join(', ')}: ${what.join(', ')}: ${ids('kubeletFields', 'kubeletFlags')}`,
      owes: ['restart:kubelet'],
      payload: { kind: 'kubelet', kubeletFields, kubeletFlags },
    });
  }
  for (const [component, edits] of remediations.manifests) {
    const summary =
      edits.length === 0
        ? `wait until ${component} runs with what its manifest says: ${ids(component)}`
        : `${manifestPath(component)}, and wait until it runs so: ${ids(component)}`;
    // The previous step restores the document's settings of the API server.
    const later = component === 'kube-apiserver' ? { knownAfter: 'api-server' as const } : {};
    const payload = { kind: 'component', component, edits } as const;
    changes.push({ ...common, ...later, id: `hardening/${component}`, summary, payload });
  }
  if (services.length > 0) {
    const summary = `${services.map(({ name, act }) => `${act} ${name}`).join(', ')}: ${ids('services')}`;
    changes.push({ ...common, id: 'hardening/services', summary, payload: { kind: 'services', services } });
  }
  return changes;
}
