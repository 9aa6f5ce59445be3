import type { Model } from '@machineadm/document/model/index.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { requiredComponents } from '../../kubernetes/control-plane-health.ts';
import type { Renewal } from '../../kubernetes/upgrade/certificate-renewal.ts';
import {
  dueCertificates,
  type ManagedCertificate,
  managedCertificates,
  type RenewalWish,
} from '../../kubernetes/upgrade/certificates.ts';

/** The change that renews certificates. */
export const RENEWAL_CHANGE = 'upgrade-certificates/renew';

/** Whether `machineadm upgrade` has certificates to renew on this node. */
export async function areCertificatesDue(host: QueryHost, model: Model): Promise<boolean> {
  const wish = model.host.platform === 'linux' ? wishOf(model) : undefined;
  if (wish === undefined) return false;
  return (await dueCertificates(host, wish, Date.now())).some(({ kept }) => kept === undefined);
}

/** The certificates of a renewal that was begun. */
export function renewedCertificates(wish: RenewalWish, { names }: Renewal): readonly ManagedCertificate[] {
  return managedCertificates(wish).filter(({ name }) => names.includes(name));
}

/** undefined: the document asks for no renewal. */
export function wishOf({ kubernetes, host: { files, links } }: Model): RenewalWish | undefined {
  const renewBeforeMs = kubernetes?.controlPlane.certificates.renewBeforeMs;
  if (kubernetes === undefined || kubernetes.role === 'Worker' || renewBeforeMs === undefined) return undefined;
  return {
    directory: kubernetes.cluster.certificatesDirectory,
    renewBeforeMs,
    hasLocalEtcd: requiredComponents(kubernetes).includes('etcd'),
    given: new Set([...files, ...links].map(({ path }) => path)),
  };
}
