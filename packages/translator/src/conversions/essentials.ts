import type { KubernetesObject, SecretObject } from '../cluster/objects.ts';

/**
 * The parts of the objects that the converter reads: what else they contain (status, field managers, annotations) changes
 * all the time, and would make every machine of a template look different.
 */
export function essentials(
  secret: SecretObject,
  related: readonly KubernetesObject[],
): [SecretObject, readonly KubernetesObject[]] {
  const { type, data } = secret;
  return [
    { metadata: metadataOf(secret), type, data },
    related.map((object) => ({
      apiVersion: object.apiVersion,
      kind: object.kind,
      metadata: metadataOf(object),
      spec: object.spec,
    })),
  ];
}

function metadataOf({ metadata }: Pick<KubernetesObject, 'metadata'>): KubernetesObject['metadata'] {
  const { name, namespace, uid, labels, ownerReferences } = metadata;
  return { name, namespace, uid, labels, ownerReferences };
}
