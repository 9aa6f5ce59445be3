import { EXAMPLE_ENDPOINT } from '@machineadm/document/example.ts';
import { placeOf } from '@machineadm/document/tree.ts';
import type { Finding } from '../../diagnosis/checks/finding.ts';
import type { OpenedDocument } from '../../pipeline/load.ts';

/** The placeholder of `machineadm example`, which users must replace. */
export function placeholderChecks({ model, tree }: OpenedDocument): readonly Finding[] {
  const { cluster, join } = model.kubernetes ?? {};
  const fields = [
    ['kubernetes.cluster.controlPlaneEndpoint', cluster?.controlPlaneEndpoint],
    ['kubernetes.join.discovery.token.endpoint', join?.discovery.endpoint],
  ] as const;
  return fields.flatMap(([field, endpoint]): readonly Finding[] => {
    if (endpoint?.replace(/^https?:\/\//, '') !== EXAMPLE_ENDPOINT) return [];
    const text = `${field} is ${EXAMPLE_ENDPOINT}, the placeholder of machineadm example`;
    const remedy = `Set ${field} to the address of your API server, unless it is this one.`;
    return [
      {
        id: `document/placeholder/${field}`,
        title: 'document',
        severity: 'warning',
        text,
        remedy,
        field,
        position: placeOf(tree, field.split('.')),
      },
    ];
  });
}
