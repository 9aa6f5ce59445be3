import { FEATURES } from '@machineadm/document/kubernetes-releases/features.ts';
import type { KubernetesSection } from '@machineadm/document/sections/kubernetes/index.ts';
import { omitEmpty } from '@machineadm/document/values/defined.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { Source } from '../values/source.ts';
import { readDuration } from './durations.ts';
import { onlySince, type Target, V1BETA4_MINOR } from './target.ts';

type Timeouts = NonNullable<KubernetesSection['timeouts']>;

/**
 * `kubernetes.timeouts`. In v1beta1 two of them have other names: apiServer.timeoutForControlPlane applies to init and
 * join, discovery.timeout becomes tlsBootstrapSeconds (cluster-api api/bootstrap/kubeadm/v1beta1/conversion.go).
 * kubeadm v1beta3 has only these two, and uses the second one for its discovery.
 */
export function convertTimeouts(
  configuration: Source,
  cluster: Source,
  joins: boolean,
  target: Target,
  conversion: Conversion,
): Timeouts | undefined {
  const { report } = conversion;
  const timeouts = configuration.get('timeouts');
  const wrong = (at: Source): void => {
    report.add('InputInvalid', at, 'expected a duration, such as "10m0s"');
  };
  const read = (field: string, owner = timeouts): string | undefined => readDuration(owner, field, wrong);
  const since = (field: string, minor: number = V1BETA4_MINOR): string | undefined =>
    onlySince(minor, read(field), timeouts.get(`${field}Seconds`), target, conversion);
  const controlPlane =
    read('controlPlaneComponentHealthCheck') ?? read('timeoutForControlPlane', cluster.get('apiServer'));
  const tlsBootstrap = read('tlsBootstrap') ?? (joins ? read('timeout', configuration.get('discovery')) : undefined);
  const isNew = target.minor >= V1BETA4_MINOR;
  return omitEmpty({
    controlPlane,
    kubelet: since('kubeletHealthCheck'),
    api: since('kubernetesAPICall'),
    etcd: since('etcdAPICall', FEATURES.etcdAPICallTimeout.since),
    tlsBootstrap: isNew ? tlsBootstrap : undefined,
    discovery: isNew ? read('discovery') : (tlsBootstrap ?? since('discovery')),
  });
}
