import * as z from 'zod';

/** The parts of Kubernetes objects that the translator reads. Everything else is kept as it is. */

export const OwnerReference = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
});
export type OwnerReference = z.infer<typeof OwnerReference>;

const Texts = z.record(z.string(), z.string());

export const KubernetesObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    uid: z.string().optional(),
    resourceVersion: z.string().optional(),
    labels: Texts.nullish(),
    annotations: Texts.nullish(),
    ownerReferences: z.array(OwnerReference).nullish(),
  }),
});
export type KubernetesObject = z.infer<typeof KubernetesObject>;

/** An object of type Secret with base64 in `data`. In an admission review it may lack apiVersion and kind. */
export const SecretObject = z.looseObject({
  metadata: KubernetesObject.shape.metadata,
  type: z.string().optional(),
  data: Texts.nullish(),
});
export type SecretObject = z.infer<typeof SecretObject>;

/** API groups of Cluster API, and the label that every object of a cluster has (api/core/v1beta2/common_types.go). */
export const CORE_GROUP = 'cluster.x-k8s.io';
export const BOOTSTRAP_GROUP = 'bootstrap.cluster.x-k8s.io';
export const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';

/** The type of every Secret of Cluster API (api/core/v1beta2/common_types.go, ClusterSecretType). */
export const SECRET_TYPE = 'cluster.x-k8s.io/secret';

/** The owner of a kind and API group, whatever its version. */
export function ownerOf(
  { metadata }: Pick<KubernetesObject, 'metadata'>,
  group: string,
  ...kinds: readonly string[]
): OwnerReference | undefined {
  return metadata.ownerReferences?.find((one) => one.apiVersion.startsWith(`${group}/`) && kinds.includes(one.kind));
}
