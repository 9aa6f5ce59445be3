import type { Model } from '@machineadm/document/model/index.ts';
import type { Host } from '../../host/seam/host.ts';
import {
  holdersOf,
  podProcesses,
  type Renewal,
  readRenewal,
  restoreCertificates,
} from '../../kubernetes/upgrade/certificate-renewal.ts';
import { untilReplaced, untilServed } from '../../kubernetes/upgrade/pod-restart.ts';
import type { Execution, StepRecord } from '../../step/index.ts';
import type { UpgradeDesired } from './desired.ts';
import { RENEWAL_CHANGE, renewedCertificates, wishOf } from './renewal.ts';
import { untilAnswered } from './turn.ts';

const DEFAULT_TIMEOUT_MS = 4 * 60_000;

type Watch = Pick<Execution, 'signal' | 'waitingFor'>;

/** What became of a renewal of certificates in a run that failed. */
export interface RenewalEnd {
  /** Whether nothing is left to do: the node has its previous certificates, or all the new ones. */
  readonly isBack: boolean;
  readonly sentences: readonly string[];
}

/**
 * Puts the previous certificates back, as long as the new ones are not proven, and waits until the node works with them.
 * undefined: no certificate was touched.
 */
export async function endOfFailedRenewal(
  host: Host,
  { model, record }: { readonly model: Model; record(step: string): StepRecord },
  desired: UpgradeDesired,
  watch: Watch,
): Promise<RenewalEnd | undefined> {
  if (record('upgrade-certificates').done.has(RENEWAL_CHANGE)) {
    return {
      isBack: true,
      sentences: ['The certificates that were due are renewed, and the static pods run with them.'],
    };
  }
  const [wish, renewal] = [wishOf(model), await readRenewal(host)];
  if (wish === undefined || renewal === undefined) return undefined;
  const trouble = await restored(host, desired, renewedCertificates(wish, renewal), renewal, watch);
  return trouble === undefined
    ? { isBack: true, sentences: ['The previous certificates are restored, and the control plane works with them.'] }
    : {
        isBack: false,
        sentences: [
          `The previous certificates are restored, but the control plane does not work with them: ${trouble}.`,
        ],
      };
}

async function restored(
  host: Host,
  desired: UpgradeDesired,
  certificates: ReturnType<typeof renewedCertificates>,
  renewal: Renewal,
  { signal, waitingFor }: Watch,
): Promise<string | undefined> {
  const timeoutMs = desired.kubernetes.timeouts.controlPlaneMs ?? DEFAULT_TIMEOUT_MS;
  const holders = holdersOf(certificates);
  // Pods that were restarted hold the new certificates; the others never read them.
  const gone: string[] = [];
  for (const component of holders) {
    const running = await podProcesses(host, component);
    gone.push(...running.filter((process) => !renewal.processes.includes(process)));
  }
  await restoreCertificates(host, renewal);
  for (const component of holders) {
    const why = await untilReplaced(host, component, gone, { timeoutMs, signal, waitingFor });
    if (why !== undefined) return why;
  }
  const why = await untilAnswered(host, desired, { signal, waitingFor });
  if (why !== undefined) return why;
  for (const component of holders) {
    const other = await untilServed(host, component, { timeoutMs, signal, waitingFor });
    if (other !== undefined) return other;
  }
  return undefined;
}
