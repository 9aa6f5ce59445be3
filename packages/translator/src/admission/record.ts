import type { Api } from '../cluster/api.ts';
import { writeConditions } from '../reports/write-conditions.ts';
import type { Outcome } from './handler.ts';

/** The condition on the KubeadmConfig, and the field manager and event source of the translator. */
export const TRANSLATED_CONDITION = 'machineadm.dev/BootstrapTranslated';
const MANAGER = 'machineadm-translator';
const LONGEST_MESSAGE = 1024;

/** What an outcome says to the user: the condition's reason and message. */
function told(outcome: Exclude<Outcome, { readonly kind: 'Untouched' }>) {
  const isTranslated = outcome.kind === 'Translated';
  const message = isTranslated
    ? 'The bootstrap data runs machineadm.'
    : `The bootstrap data stays as it was: ${outcome.error.message}`;
  return {
    isTranslated,
    reason: isTranslated ? 'Translated' : outcome.error.reason,
    message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE - 1)}…` : message,
  };
}

/**
 * Records an outcome where a user looks for it: as an Event of the KubeadmConfig and as its condition. Runs after the
 * admission was answered. Throws the first error, after both were tried.
 */
export async function recordOutcome(api: Api, outcome: Outcome): Promise<void> {
  if (outcome.kind === 'Untouched' || outcome.related === undefined) return;
  const { config } = outcome.related;
  const { isTranslated, reason, message } = told(outcome);
  const { name, namespace = '', uid } = config.metadata;
  const now = new Date().toISOString();
  const event = {
    metadata: { generateName: `${name}.`.slice(-240), namespace },
    involvedObject: { apiVersion: config.apiVersion, kind: 'KubeadmConfig', name, namespace, uid },
    type: isTranslated ? 'Normal' : 'Warning',
    reason: isTranslated ? 'BootstrapTranslated' : 'BootstrapNotTranslated',
    message: isTranslated ? message : `${reason}: ${message}`.slice(0, LONGEST_MESSAGE),
    source: { component: MANAGER },
    reportingComponent: MANAGER,
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
  const status = isTranslated ? ('True' as const) : ('False' as const);
  const results = await Promise.allSettled([
    api.request({ method: 'POST', path: `/api/v1/namespaces/${namespace}/events`, body: event }),
    writeConditions(api, 'KubeadmConfig', config, [{ type: TRANSLATED_CONDITION, status, reason, message }], MANAGER),
  ]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
