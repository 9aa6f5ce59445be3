import type { Model } from '../model/index.ts';
import type { Claim } from '../ownership/claim.ts';
import { RUN_DIRECTORY, STATE_DIRECTORY } from '../ownership/paths.ts';
import { hostClaims } from './host.ts';
import { kubernetesClaims } from './kubernetes.ts';

/**
 * What the steps manage on a Linux machine for this document, as far as the document decides it: used for checking a
 * document and for a run, which adds what depends on the machine (`Step.owns`). Pure.
 */
export function claimsOf(model: Model): readonly Claim[] {
  if (model.host.platform !== 'linux') return [];
  return [...OWN_STATE, ...hostClaims(model), ...kubernetesClaims(model)];
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
