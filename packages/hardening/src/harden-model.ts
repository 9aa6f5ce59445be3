import type { Finding } from '@machineadm/document/diagnostics/index.ts';
import type { HardeningModel, Model } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import type { Control } from './controls/control.ts';
import { hardenControlPlane } from './harden-control-plane.ts';
import { hardenHost } from './harden-host.ts';
import { hardenKubelet } from './harden-kubelet.ts';
import { applied, select } from './select.ts';

export interface Hardened {
  readonly model: Model;
  /** Contradictions between the document and its hardening profiles. */
  readonly findings: readonly Finding[];
}

/** The first kubeadm that can configure the kubelet of a single joining machine (k/k#110405). */
const KUBELET_PATCHES_SINCE = 25;

/**
 * Adds the settings of the profiles to the model: arguments, the kubelet's configuration, kernel settings, modules,
 * accounts and files, which the usual steps then apply. Settings of the document are kept where they satisfy the
 * control; where they contradict it, that is a finding, and only an exception accepts it. Pure.
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
    // An older kubeadm reads it from the cluster; the step corrects what the cluster does not set.
    renders: kubernetes.role === 'InitControlPlane' || (minor ?? 0) >= KUBELET_PATCHES_SINCE,
  });
  const plane = hardenControlPlane(kubelet.kubernetes, controls);
  return {
    model: { ...model, host: host.host, kubernetes: plane.kubernetes },
    findings: [...findings, ...kubelet.findings, ...plane.findings],
  };
}

/** An exception for a control that is not selected indicates a mistake. */
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
