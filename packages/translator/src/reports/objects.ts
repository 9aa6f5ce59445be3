import { CORE_GROUP, type KubernetesObject, ownerOf } from '../cluster/objects.ts';

/** The label of every ConfigMap that holds a report, and the prefix of its name (packaging/management-cluster). */
export const REPORT_LABEL = 'machineadm.dev/report';
export const REPORT_PREFIX = 'machineadm-report-';

/** The name of the ConfigMap, the ServiceAccount, the Role and the RoleBinding of one machine. */
export function reportName(machine: string): string {
  return `${REPORT_PREFIX}${machine}`;
}

/** Whether an object belongs to this Machine: by group, kind, name and uid. */
export function isOwnedBy(object: Pick<KubernetesObject, 'metadata'>, machine: KubernetesObject): boolean {
  const owner = ownerOf(object, CORE_GROUP, 'Machine');
  return owner?.name === machine.metadata.name && owner.uid === machine.metadata.uid;
}
