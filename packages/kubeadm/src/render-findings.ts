import type { Finding } from '@machineadm/document/diagnostics/index.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { renderingProblems } from './index.ts';

/**
 * What kubeadm of `kubernetes.version` cannot express, as mistakes of the document: what `validate` accepts, `render` and a
 * run can render.
 */
export function renderFindings({
  kubernetes,
  containerd,
}: Pick<Model, 'kubernetes' | 'containerd'>): readonly Finding[] {
  const kubeadm = kubernetes === undefined ? undefined : parseVersion(kubernetes.version);
  if (kubernetes === undefined || kubernetes.exec !== undefined || kubeadm === undefined) return [];
  const secrets = () => '[redacted]';
  const problems = renderingProblems({ kubernetes, kubeadm, cgroupDriver: containerd?.cgroupDriver, secrets });
  return problems.map(({ field, problem, remedy }) => ({
    code: 'UnsupportedVersion',
    path: segmentsOf(field),
    message: problem,
    hint: remedy.replace(/\.$/, ''),
  }));
}

/** `kubernetes.cluster.bootstrapTokens[0].usages` as a path. */
function segmentsOf(field: string): Finding['path'] {
  return (field.match(/[^.[\]]+/g) ?? []).map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}
