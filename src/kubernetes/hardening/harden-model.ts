import type { Finding } from '@machineadm/document/diagnostics.ts';
import type { HardeningModel, Model } from '@machineadm/document/model.ts';
import type { Control } from '@machineadm/hardening/control.ts';
import { parseVersion } from '../../host/seam/version.ts';
import { hardenControlPlane } from './harden-control-plane.ts';
import { hardenHost } from './harden-host.ts';
import { hardenKubelet } from './harden-kubelet.ts';
import { applied, select } from './select.ts';

export interface Hardened {
  readonly model: Model;
  /** Where the document contradicts the profiles that it asks for. */
  readonly findings: readonly Finding[];
}

/** The first kubeadm that can give the kubelet of one joining machine a configuration of its own (k/k#110405). */
const KUBELET_PATCHES_SINCE = 25;

/**
 * The model with the settings that its profiles ask for: arguments, the kubelet's configuration, kernel settings, modules,
 * accounts and files, which the steps that are there for them then apply. What the document says itself stays, where it
 * satisfies the control; where it contradicts one, that is a finding, and only an exception makes it right. Pure.
 */
export function hardenModel(model: Model): Hardened {
  const { hardening } = model;
  if (hardening === undefined) return { model, findings: [] };
  const { kubernetes } = model;
  const minor = kubernetes === undefined ? undefined : parseVersion(kubernetes.version)?.minor;
  const selected = select(hardening);
  const ownEtcd = kubernetes?.controlPlane.etcd.kind === 'local';
  const controls = applied(selected, kubernetes?.role, minor).filter(({ applies }) => applies !== 'etcd' || ownEtcd);
  const host = hardenHost(model.host, controls);
  const findings = [
    ...uselessExceptions(
      hardening,
      selected.map(({ control }) => control),
    ),
    ...host.findings,
  ];
  if (kubernetes === undefined || kubernetes.exec !== undefined) {
    return { model: { ...model, host: host.host }, findings };
  }
  const kubelet = hardenKubelet(kubernetes, model.host, controls, {
    // An older kubeadm takes it from the cluster; the step mends what the cluster does not say.
    renders: kubernetes.role === 'InitControlPlane' || (minor ?? 0) >= KUBELET_PATCHES_SINCE,
  });
  const plane = hardenControlPlane(kubelet.kubernetes, controls);
  return {
    model: { ...model, host: host.host, kubernetes: plane.kubernetes },
    findings: [...findings, ...kubelet.findings, ...plane.findings],
  };
}

/** An exception from what is not asked for says that the writer expects something else. */
function uselessExceptions({ exceptions }: HardeningModel, selected: readonly Control[]): readonly Finding[] {
  return exceptions.flatMap(({ id }, index) =>
    selected.some((control) => control.id === id)
      ? []
      : [
          {
            path: ['hardening', 'exceptions', index, 'id'],
            message: `${id} is in none of the profiles chosen`,
            hint: 'remove the exception, or choose its profile',
          },
        ],
  );
}
