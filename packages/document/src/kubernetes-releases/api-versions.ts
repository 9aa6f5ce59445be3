import { includes, type MinorWindow } from './minor.ts';

/**
 * The API groups and versions that an API server has, whether it serves them or not: k/k staging/src/k8s.io/{api,
 * kube-aggregator,apiextensions-apiserver} of the same releases. `+` and `-`: the first and the last minor, where it is not all.
 */
const API_VERSIONS = `
admission.k8s.io v1 v1beta1
admissionregistration.k8s.io v1 v1alpha1 v1beta1
apidiscovery.k8s.io v2 v2beta1
apiextensions.k8s.io v1 v1beta1
apiregistration.k8s.io v1 v1beta1
apps v1 v1beta1 v1beta2
authentication.k8s.io v1 v1alpha1 v1beta1
authorization.k8s.io v1 v1beta1
autoscaling v1 v2 v2beta1-35 v2beta2-35
batch v1 v1beta1
certificates.k8s.io v1 v1alpha1 v1beta1
coordination.k8s.io v1 v1alpha1-31 v1alpha2+32 v1beta1
discovery.k8s.io v1 v1beta1
events.k8s.io v1 v1beta1
extensions v1beta1
flowcontrol.apiserver.k8s.io v1 v1beta1 v1beta2 v1beta3
imagepolicy.k8s.io v1alpha1
internal.apiserver.k8s.io v1alpha1
networking.k8s.io v1 v1alpha1-33 v1beta1
node.k8s.io v1 v1alpha1 v1beta1
policy v1 v1beta1
rbac.authorization.k8s.io v1 v1alpha1 v1beta1
resource.k8s.io v1+34 v1alpha3 v1beta1+32 v1beta2+33
scheduling.k8s.io v1 v1alpha1-35 v1alpha2+36 v1beta1
storage.k8s.io v1 v1alpha1 v1beta1
storagemigration.k8s.io v1alpha1-34 v1beta1+35
`;

/** The minors whose API versions are known. */
export const API_VERSIONS_MINORS = { since: 31, until: 36 } as const satisfies MinorWindow;

/** The versions that an API server of the minor has, by group. */
export function apiVersions(minor: number): ReadonlyMap<string, readonly string[]> {
  return new Map(
    API_VERSIONS.trim()
      .split('\n')
      .map((line) => {
        const [group = '', ...entries] = line.split(' ');
        const versions = entries.flatMap((entry) => {
          const [, name = '', since, until] = /^(\w+?)(?:\+(\d+))?(?:-(\d+))?$/.exec(entry) ?? [];
          const window = { since: Number(since ?? 0), until: Number(until ?? Number.POSITIVE_INFINITY) };
          return includes(window, minor) ? [name] : [];
        });
        return [group, versions] as const;
      }),
  );
}
