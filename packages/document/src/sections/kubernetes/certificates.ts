import type * as z from 'zod';
import type { Finding } from '../../diagnostics/index.ts';
import { milliseconds } from '../../fields/convert-values.ts';
import { field, object } from '../../fields/field.ts';
import { duration } from '../../fields/types.ts';

/** The certificates that kubeadm manages on a control plane. */
export interface CertificatesModel {
  /** `machineadm upgrade` renews what expires within this time; undefined: nothing. */
  readonly renewBeforeMs: number | undefined;
}

const DAY_MS = 86_400_000;
/** k/k cmd/kubeadm/app/constants/constants.go, CertificateValidityPeriod */
const KUBEADM_VALIDITY_MS = 365 * DAY_MS;

export const certificates = object({
  renewBefore: field(
    duration,
    'How long before they expire "machineadm upgrade" renews the certificates of kubeadm on this machine. Shorter than kubernetes.cluster.certificateValidity.',
    {
      absent: 'only an upgrade to another version renews certificates',
      example: '30d',
      changes:
        'by `machineadm upgrade` alone: certificates in `/etc/kubernetes/pki` and in kubeconfigs of `/etc/kubernetes`',
    },
  ),
});

type CertificatesSection = z.infer<typeof certificates>;

export function toCertificates(section: CertificatesSection | undefined): CertificatesModel {
  return { renewBeforeMs: milliseconds(section?.renewBefore) };
}

/** A certificate that is due as soon as it is made would be renewed by every run. */
export function checkRenewal({
  cluster,
  controlPlane,
}: {
  readonly cluster?: { readonly certificateValidity?: string | undefined } | undefined;
  readonly controlPlane?: { readonly certificates?: CertificatesSection | undefined } | undefined;
}): Finding[] {
  const before = milliseconds(controlPlane?.certificates?.renewBefore);
  const validity = milliseconds(cluster?.certificateValidity);
  if (before === undefined || before < (validity ?? KUBEADM_VALIDITY_MS)) return [];
  const given = validity === undefined ? '365 days, the default of kubeadm' : (cluster?.certificateValidity ?? '');
  return [
    {
      path: ['kubernetes', 'controlPlane', 'certificates', 'renewBefore'],
      message: `not shorter than the validity of certificates (${given}): a new certificate would be due at once`,
      hint: 'write a shorter time, such as "30d"',
    },
  ];
}
