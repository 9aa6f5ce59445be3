import { hostPartClaims } from '../host-parts/index.ts';
import type { Model } from '../model/index.ts';
import type { Claim } from '../ownership/claim.ts';
import {
  CONTAINERD_CONFIGURATION,
  ORIGINAL_SUFFIX,
  PREVIOUS_SUFFIX,
  REGISTRIES_DIRECTORY,
  REGISTRY_FILES,
  RUN_DIRECTORY,
  registryDirectories,
  STATE_DIRECTORY,
} from '../ownership/paths.ts';
import { kubernetesClaims } from './kubernetes.ts';

/**
 * What the steps manage on a Linux machine for this document, as far as the document decides it: used for checking a
 * document and for a run, which adds what depends on the machine (`Step.owns`). Pure.
 */
export function claimsOf(model: Model): readonly Claim[] {
  if (model.host.platform !== 'linux') return [];
  return [...OWN_STATE, ...hostPartClaims(model.host, model), ...containerdClaims(model), ...kubernetesClaims(model)];
}

/** The name of the agent's own claims. */
export const OWN_STEP = 'machineadm';

const OWN_STATE: readonly Claim[] = [
  ...[
    'journal',
    'status.json',
    'summary.json',
    'prepared.json',
    'hardening.json',
    'network-trial.json',
    'trust.json',
  ].map((name) => ownState('file', `${STATE_DIRECTORY}/${name}`)),
  ...['archives', 'hooks', 'images', 'keys', 'prior-state', 'spool', 'upgrade'].map((name) =>
    ownState('tree', `${STATE_DIRECTORY}/${name}`),
  ),
  ownState('tree', RUN_DIRECTORY),
];

function ownState(kind: 'file' | 'tree', path: string): Claim {
  return { step: OWN_STEP, field: [], path, kind };
}

function containerdClaims({ containerd }: Model): Claim[] {
  if (containerd === undefined) return [];
  const step = 'containerd';
  const field = ['containerRuntime', 'containerd'];
  const copies = [ORIGINAL_SUFFIX, PREVIOUS_SUFFIX].map((suffix) => `${CONTAINERD_CONFIGURATION}${suffix}`);
  return [
    ...[CONTAINERD_CONFIGURATION, ...copies].map((path): Claim => ({ step, field, path, kind: 'file' })),
    ...containerd.registries.flatMap(({ host }, index) =>
      registryDirectories(host).map(
        (name): Claim => ({
          step,
          field: [...field, 'registries', index],
          path: `${REGISTRIES_DIRECTORY}/${name}`,
          kind: 'names',
          names: REGISTRY_FILES,
        }),
      ),
    ),
  ];
}
