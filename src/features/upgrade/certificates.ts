import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import {
  beginRenewal,
  forgetRenewal,
  holdersOf,
  notRenewed,
  podProcesses,
  readRenewal,
  renewCertificates,
} from '../../kubernetes/upgrade/certificate-renewal.ts';
import {
  certificateOf,
  type DueCertificate,
  dueCertificates,
  type ManagedCertificate,
  type RenewalWish,
} from '../../kubernetes/upgrade/certificates.ts';
import { quorumOf } from '../../kubernetes/upgrade/check-machine.ts';
import { ClusterUnanswered, ownCredential, serverVersion } from '../../kubernetes/upgrade/cluster.ts';
import { leaseHolder, upgradeLocked } from '../../kubernetes/upgrade/lease.ts';
import { skipped, type UpgradeObstacle } from '../../kubernetes/upgrade/obstacle.ts';
import { replacePod, untilReplaced, untilServed } from '../../kubernetes/upgrade/pod-restart.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution } from '../../step/index.ts';
import { changes, type Upgrade } from '../../step/upgrade-order.ts';
import { nodeNameOf, type UpgradeDesired, upgradeDesired } from './desired.ts';
import { RENEWAL_CHANGE, renewedCertificates, wishOf } from './renewal.ts';
import { takeTurn, untilAnswered } from './turn.ts';

const MINUTE_MS = 60_000;
const DEFAULT_TIMEOUT_MS = 4 * MINUTE_MS;
/** The turn, each static pod, and the proof. */
const MOST_WAITS = 8;

interface CertificatesDesired extends UpgradeDesired {
  readonly wish: RenewalWish;
}

interface CertificatesActual {
  readonly upgrade: Upgrade | undefined;
  readonly isDone: boolean;
  /** An earlier run was killed, or failed, during it. */
  readonly isUnfinished: boolean;
  readonly due: readonly DueCertificate[];
}

interface CertificatesPayload {
  readonly desired: CertificatesDesired;
  readonly due: readonly DueCertificate[];
  readonly isUnfinished: boolean;
}

/**
 * Renews the certificates of a control plane that expire within the time of the document, and restarts the static pods that
 * hold them. In an upgrade to another version it comes after kubeadm, which renews those of the pods that it replaces.
 */
export const upgradeCertificates: FeatureStep<CertificatesDesired, CertificatesActual, CertificatesPayload> = {
  id: 'upgrade-certificates',
  section: 'kubernetes.controlPlane.certificates',
  isRequested: STAYS,

  desired(model, facts) {
    const desired = upgradeDesired(model, facts);
    const wish = wishOf(model);
    return desired === undefined || wish === undefined ? undefined : { ...desired, wish };
  },

  idle: (_desired, { upgrade }) => !changes(upgrade, 'certificates'),

  deadlineMs: ({ kubernetes }) => MOST_WAITS * (kubernetes.timeouts.controlPlaneMs ?? DEFAULT_TIMEOUT_MS),

  async preflight(host, desired, record) {
    const renews = record !== undefined && changes(record.upgrade, 'certificates') && !record.done.has(RENEWAL_CHANGE);
    const due = await dueCertificates(host, desired.wish, Date.now());
    const kept = due.flatMap(({ name, until, kept: why }): UpgradeObstacle[] =>
      why === undefined
        ? []
        : [
            {
              reason: 'CertificatesNotRenewed',
              what: `the certificate ${name} expires at ${until.toISOString()} and is not renewed: ${why}`,
              remedy: 'Until then it has to be replaced by hand.',
              severity: 'warning',
            },
          ],
    );
    // What it began must come to an end.
    const isBegun = record?.interrupted.has(RENEWAL_CHANGE) === true;
    const found =
      !renews || isBegun || due.every(isKept) ? [] : await obstaclesOf(host, desired, due.filter(isRenewable));
    return [...kept, ...found].map((one) => ({ ...one, change: RENEWAL_CHANGE, scope: 'node', certain: true }));
  },

  async inspect(host, { wish }, { upgrade, done, interrupted }) {
    return {
      upgrade,
      isDone: done.has(RENEWAL_CHANGE),
      isUnfinished: interrupted.has(RENEWAL_CHANGE),
      due: (await dueCertificates(host, wish, Date.now())).filter(isRenewable),
    };
  },

  plan(desired, { upgrade, isDone, isUnfinished, due }) {
    if (!changes(upgrade, 'certificates') || isDone || (due.length === 0 && !isUnfinished)) return [];
    const named = due.map(({ name, until }) => `${name} (until ${until.toISOString()})`).join(', ');
    const pods = holdersOf(due);
    const restarted = pods.length === 0 ? '' : `, and restart ${pods.join(', ')}`;
    const summary = isUnfinished
      ? 'continue the renewal of certificates that an earlier run began'
      : `renew ${due.length === 1 ? 'the certificate' : `${due.length} certificates`}: ${named}${restarted}`;
    const change: Change<CertificatesPayload> = {
      id: RENEWAL_CHANGE,
      summary,
      action: 'change',
      scope: 'node',
      repeatable: false,
      ineffective: 'CertificatesNotRenewed',
      // kubeadm renews those of the pods that it replaces.
      ...(changes(upgrade, 'version') ? { knownAfter: 'upgrade-kubeadm' as const } : {}),
      payload: { desired, due, isUnfinished },
    };
    return [change];
  },

  async apply(host, { payload }, execution) {
    const { desired, due, isUnfinished } = payload;
    const { wish } = desired;
    const begun = isUnfinished ? await readRenewal(host) : undefined;
    const certificates = begun === undefined ? due : renewedCertificates(wish, begun);
    const { signal } = execution;
    // An API server whose certificate has expired answers nobody until that is renewed.
    const isBlind = begun !== undefined || due.some(({ until }) => until.getTime() <= Date.now());
    const turn = () => takeTurn(host, desired, execution, 'the static pods of the control plane were not restarted');
    if (!isBlind) await turn();
    const renewal = await renewCertificates(host, certificates, begun ?? (await beginRenewal(host, certificates)), {
      directory: wish.directory,
      until: Date.now() + wish.renewBeforeMs,
      signal,
      line: (line) => execution.output('kubeadm', line),
    });
    if (isBlind) {
      const why = await untilAnswered(host, desired, execution);
      if (why !== undefined) throw notRenewed(`the API server does not answer with them: ${why}`, []);
      await turn();
    }
    await restartHolders(host, desired, certificates, renewal.processes, execution);
    await prove(host, desired, certificates, execution);
    await forgetRenewal(host);
  },
};

const isKept = ({ kept }: DueCertificate): boolean => kept !== undefined;
const isRenewable = (one: DueCertificate): boolean => !isKept(one);

/** What is in the way of a renewal, before any change. */
async function obstaclesOf(
  host: QueryHost,
  desired: CertificatesDesired,
  due: readonly DueCertificate[],
): Promise<readonly UpgradeObstacle[]> {
  const { programs, hasLocalEtcd } = desired;
  const found: UpgradeObstacle[] = [];
  if (programs.kubeadm === undefined) {
    found.push({
      reason: 'KubeadmNotInstalled',
      what: 'kubeadm is not installed, and it renews the certificates',
      remedy: 'Install kubeadm with the minor version of the cluster.',
    });
  }
  const isExpired = due.some(({ until }) => until.getTime() <= Date.now());
  try {
    const holder = await leaseHolder(await ownCredential(host, true));
    if (holder !== undefined && holder !== (await nodeNameOf(host, desired))) {
      const { reason, message, remedy } = upgradeLocked(holder);
      found.push({ reason, what: message, remedy });
    }
    if (!isExpired) await serverVersion(await ownCredential(host, true));
  } catch (error) {
    if (!(error instanceof ClusterUnanswered)) throw error;
    if (!isExpired) {
      const remedy = 'Make sure that the API server answers, then run machineadm upgrade again.';
      found.push({ reason: 'PreflightFailed', what: `the cluster cannot be asked: ${error.why}`, remedy });
    }
  }
  if (!hasLocalEtcd || !holdersOf(due).includes('etcd')) return found;
  if (isExpired) return [...found, skipped('whether etcd keeps its quorum', 'a certificate has expired')];
  const { obstacle, outlook } = await quorumOf(host);
  if (obstacle !== undefined) return [...found, obstacle];
  const pauses = (outlook?.members ?? 0) <= 2;
  const warning: UpgradeObstacle = {
    reason: 'EtcdQuorumAtRisk',
    what: 'etcd has fewer than three members: the API pauses while the member of this machine restarts',
    remedy: 'With three control planes it does not.',
    severity: 'warning',
  };
  return pauses ? [...found, warning] : found;
}

/** Restarts the static pods that still run with the previous certificates, one after the other. */
async function restartHolders(
  host: Host,
  { kubernetes }: UpgradeDesired,
  certificates: readonly ManagedCertificate[],
  before: readonly string[],
  execution: Execution,
): Promise<void> {
  const { signal } = execution;
  const waitingFor = (what: string | undefined): void => execution.waitingFor(what);
  const timeoutMs = kubernetes.timeouts.controlPlaneMs ?? DEFAULT_TIMEOUT_MS;
  for (const component of holdersOf(certificates)) {
    const running = await podProcesses(host, component);
    if (running.length === 0 || running.some((process) => before.includes(process))) await replacePod(host, component);
    const why = await untilReplaced(host, component, before, { timeoutMs, signal, waitingFor });
    if (why !== undefined) {
      const evidence = [{ source: component, text: why }];
      throw notRenewed(`${component} did not come back after its restart: ${why}`, evidence);
    }
  }
}

/** The servers show the new certificates, and the API server accepts the new one of the administrator. */
async function prove(
  host: Host,
  desired: UpgradeDesired,
  certificates: readonly ManagedCertificate[],
  execution: Execution,
): Promise<void> {
  const wrong: { source: string; text: string }[] = [];
  const { signal } = execution;
  const waitingFor = (what: string | undefined): void => execution.waitingFor(what);
  const timeoutMs = desired.kubernetes.timeouts.controlPlaneMs ?? DEFAULT_TIMEOUT_MS;
  for (const component of holdersOf(certificates)) {
    const why = await untilServed(host, component, { timeoutMs, signal, waitingFor });
    if (why !== undefined) wrong.push({ source: component, text: why });
  }
  for (const one of certificates) {
    const found = await certificateOf(host, one);
    if (found?.hasKey !== true) wrong.push({ source: one.name, text: `${one.path} holds no certificate with its key` });
  }
  const unanswered = await untilAnswered(host, desired, execution);
  if (unanswered !== undefined) wrong.push({ source: 'API server', text: unanswered });
  if (wrong.length === 0) return;
  throw new MachineadmError({
    reason: 'CertificatesNotRenewed',
    summary: `The renewal of certificates is not proven: ${wrong.map(({ source, text }) => `${source}: ${text}`).join('; ')}.`,
    remedy: 'Correct the cause, then run machineadm upgrade again.',
    evidence: wrong,
    retryable: true,
  });
}
