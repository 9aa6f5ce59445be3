import { CONFIGURATIONS } from '@machineadm/document/kubernetes-releases/configurations.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { Placed } from '../report/report.ts';
import type { Source } from '../values/source.ts';

/** What kubeadm's configuration supports, by the minor version of Kubernetes. */
export interface Target {
  /** `v1.35.2` */
  readonly version: string;
  readonly minor: number;
}

/** v1beta4 of kubeadm's configuration (cluster-api bootstrap/kubeadm/pkg/types/utils.go decides in the same way). */
export const V1BETA4_MINOR = CONFIGURATIONS.kubeadm.versions[2].since;

const EXACT = /^v?1\.(\d+)\.\d+/;

/**
 * The version, from the configuration itself or related objects, or from the options where these have none. Reported if
 * missing: the document needs an exact one.
 */
export function readTarget(at: Source, conversion: Conversion): Target | undefined {
  const { options, related, report, object, resolved } = conversion;
  const inConfiguration = at.text() || undefined;
  const [first, second] = resolved
    ? [inConfiguration, related.kubernetesVersion]
    : [related.kubernetesVersion, inConfiguration];
  const known = [first, second, options.kubernetesVersion].filter((one) => one !== undefined);
  const version = known.find((one) => EXACT.test(one)) ?? known[0];
  const minor = EXACT.exec(version ?? '')?.[1];
  if (version === undefined || minor === undefined) {
    const hint = 'give --kubernetes-version, or the Machine or MachineDeployment beside it';
    report.add('VersionMissing', object, version === undefined ? hint : `the version given is not exact: ${hint}`);
    return undefined;
  }
  if (options.kubernetesVersion !== undefined && withV(options.kubernetesVersion) !== withV(version)) {
    report.add('WithoutEffect', object, `--kubernetes-version ${options.kubernetesVersion}: the input says ${version}`);
  }
  if (inConfiguration !== undefined && inConfiguration !== version) {
    report.add('ClusterValue', at, `${version}, not ${inConfiguration}`);
  }
  return { version: withV(version), minor: Number(minor) };
}

function withV(version: string): string {
  return version.startsWith('v') ? version : `v${version}`;
}

/** Leaves out a field that the provider loses silently for this version, after the user accepted that. */
export function onlySince<T>(
  minor: number,
  value: T | undefined,
  at: Placed,
  target: Target,
  { report }: Conversion,
): T | undefined {
  if (value === undefined || target.minor >= minor) return value;
  report.add('NotInThisKubeadm', at, `kubeadm has had it since 1.${minor}; this is ${target.version}`);
  return undefined;
}
