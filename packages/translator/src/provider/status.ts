import type { Api } from '../cluster/api.ts';
import { type Condition, conditionsToApply, type Judged } from '../reports/conditions.ts';
import { presentConditions } from '../reports/write-conditions.ts';
import { CONFIGS, type Config, KIND } from './objects.ts';

/** The condition that Cluster API shows on the Machine as BootstrapConfigReady. */
export const READY = 'Ready';
const PAUSED = 'Paused';
const MANAGER = 'machineadm-bootstrap';
const LONGEST_MESSAGE = 1024;

/** What becomes known of a MachineadmConfig. A paused one keeps its condition Ready. */
export type Known =
  | { readonly isPaused: true; readonly isReady?: undefined; readonly reason?: undefined; readonly message?: undefined }
  | {
      readonly isPaused?: undefined;
      readonly isReady: boolean;
      /** The Secret that is stored. */
      readonly secret: string | undefined;
      readonly reason: string;
      readonly message: string;
    };

/** Writes the status of the contract and, where Ready changed, an Event. Gives whether anything was written. */
export async function writeStatus(api: Api, config: Config, known: Known, signal: AbortSignal): Promise<boolean> {
  const { name, namespace = '', uid, generation } = config.metadata;
  const present = presentConditions(config);
  const before = present.find(({ type }) => type === READY);
  const secret = known.isPaused ? config.status?.dataSecretName : known.secret;
  const judged: Judged[] = [
    known.isPaused
      ? condition(PAUSED, 'True', 'Paused', 'The Cluster or this object is paused.')
      : condition(PAUSED, 'False', 'NotPaused', 'Neither the Cluster nor this object is paused.'),
  ];
  // Cluster API shows every message of a condition of a Machine, and takes it for something to look at.
  const message = known.isReady === true ? '' : (known.message ?? '');
  if (!known.isPaused) judged.push(condition(READY, known.isReady ? 'True' : 'False', known.reason, message));
  else if (before !== undefined) judged.push(before);
  const wanted = judged.map((one) => ({ ...one, observedGeneration: generation }));
  const conditions = conditionsToApply(wanted, present, new Date());
  if (conditions === undefined && secret === config.status?.dataSecretName) return false;
  await api.request({
    method: 'PATCH',
    path: `${CONFIGS}/namespaces/${namespace}/machineadmconfigs/${encodeURIComponent(name)}/status`,
    query: { fieldManager: MANAGER, force: 'true' },
    contentType: 'application/apply-patch+yaml',
    // With the uid: an object of the same name that was created since is not written to.
    body: {
      apiVersion: config.apiVersion,
      kind: KIND,
      metadata: { name, namespace, uid },
      status: {
        // Without an empty message: an API server before 1.21 takes it for null.
        conditions: (conditions ?? ownOf(present)).map(({ message: text, ...one }) => {
          return text === '' ? one : { ...one, message: text };
        }),
        ...(secret === undefined ? {} : { dataSecretName: secret, initialization: { dataSecretCreated: true } }),
      },
    },
    signal,
  });
  if (!known.isPaused && (before?.reason !== known.reason || before.message !== message)) {
    await api.request({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/events`,
      body: eventOf(config, known.isReady, known.reason, known.message, new Date()),
      signal,
    });
  }
  return true;
}

function ownOf(present: readonly Condition[]): readonly Condition[] {
  return present.filter(({ type }) => type === READY || type === PAUSED);
}

function condition(type: string, status: Judged['status'], reason: string, message: string): Judged {
  const isLong = message.length > LONGEST_MESSAGE;
  return { type, status, reason, message: isLong ? `${message.slice(0, LONGEST_MESSAGE - 1)}…` : message };
}

function eventOf(config: Config, isReady: boolean, reason: string, message: string, now: Date): object {
  const { name, namespace = '', uid } = config.metadata;
  const time = now.toISOString();
  return {
    metadata: { generateName: `${name}.`.slice(-240), namespace },
    involvedObject: { apiVersion: config.apiVersion, kind: KIND, name, namespace, uid },
    type: isReady ? 'Normal' : 'Warning',
    reason,
    message: message.slice(0, LONGEST_MESSAGE),
    source: { component: MANAGER },
    reportingComponent: MANAGER,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}
