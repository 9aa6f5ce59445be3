import type { KubernetesObject } from '../cluster/objects.ts';
import type { Stored } from '../handover/mark.ts';
import type { Judged } from '../reports/conditions.ts';

/** The condition on the KubeadmConfig and the Machine: whether the bootstrap data that is stored runs machineadm. */
export const TRANSLATED_CONDITION = 'machineadm.dev/BootstrapTranslated';

/** Reasons of the condition besides those of `KEPT_REASONS` (docs/cluster-api.md). */
export const STORED_REASONS = {
  Translated: 'The stored bootstrap data runs machineadm.',
  NotTranslated: 'The stored bootstrap data is that of the provider, and the translator did not see it.',
  ChangedAfterTranslation: 'The Secret was changed after it was translated.',
  NotVerified: 'The translator may not read the Secret.',
} as const;

const LONGEST_MESSAGE = 1024;
const REPLACE = 'Replace the machine to boot it with machineadm.';

/** What a stored Secret means; `unreadable` = the translator may not read it. */
export function verdictOn(stored: Stored | 'unreadable'): Judged {
  if (stored === 'unreadable') {
    return verdict(
      'Unknown',
      'NotVerified',
      'The translator may not read the Secret: bind the ClusterRole machineadm-translator-namespace in this namespace.',
    );
  }
  if (stored.kind === 'Kept') {
    return verdict('False', stored.reason, `The bootstrap data stays as it was: ${stored.message}`);
  }
  if (stored.kind === 'Changed') {
    return verdict('False', 'ChangedAfterTranslation', `${STORED_REASONS.ChangedAfterTranslation} ${REPLACE}`);
  }
  if (stored.kind === 'Unmarked') {
    return verdict(
      'False',
      'NotTranslated',
      'The bootstrap data is that of the provider: it was written before the machine opted in, or while the API server ' +
        `could not reach the translator, or did not wait for it. ${REPLACE}`,
    );
  }
  const { codes = [], notes = [] } = stored.mark ?? {};
  const accepted = codes.length === 0 ? [] : [`Differences: ${codes.join(', ')} (docs/convert-codes.md).`];
  return verdict('True', 'Translated', ['The bootstrap data runs machineadm.', ...notes, ...accepted].join(' '));
}

function verdict(status: Judged['status'], reason: string, message: string): Judged {
  const isLong = message.length > LONGEST_MESSAGE;
  return {
    type: TRANSLATED_CONDITION,
    status,
    reason,
    message: isLong ? `${message.slice(0, LONGEST_MESSAGE - 1)}…` : message,
  };
}

/** The Event that tells of it. */
export function eventOf(object: KubernetesObject, { status, reason, message }: Judged, now: Date): object {
  const { name, namespace = '', uid } = object.metadata;
  const isTranslated = status === 'True';
  const time = now.toISOString();
  return {
    metadata: { generateName: `${name}.`.slice(-240), namespace },
    involvedObject: { apiVersion: object.apiVersion, kind: object.kind, name, namespace, uid },
    type: isTranslated ? 'Normal' : 'Warning',
    reason: isTranslated ? 'BootstrapTranslated' : 'BootstrapNotTranslated',
    message: isTranslated ? message : `${reason}: ${message}`.slice(0, LONGEST_MESSAGE),
    source: { component: 'machineadm-translator' },
    reportingComponent: 'machineadm-translator',
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}
