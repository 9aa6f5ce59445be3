import type { Finding } from '@machineadm/document/diagnostics/index.ts';
import type { ApiServerModel } from '@machineadm/document/model/index.ts';
import { apiServerComponent } from '@machineadm/kubeadm/api-server-component.ts';
import { findUncovered } from './audit-policy.ts';
import { contradiction } from './contradiction.ts';
import type { Control } from './controls/control.ts';
import { writesEncrypted } from './encryption.ts';

const API_SERVER = ['kubernetes', 'controlPlane', 'apiServer'];

/**
 * Where a section of the API server contradicts a control about its file: the document's file is kept, so the control
 * would be dropped silently. The audit checks files that the document names in `args`.
 */
export function sectionContradictions(apiServer: ApiServerModel, control: Control): readonly Finding[] {
  const { audit, encryptionAtRest } = apiServer;
  const { id, check } = control;
  if (check.kind === 'audit-policy' && audit !== undefined) {
    const gaps = findUncovered(audit.policy, check.covers);
    const must = `cover what the control asks for: ${gaps.join(', ')}`;
    return gaps.length === 0 ? [] : [contradiction([...API_SERVER, 'audit', 'policy'], control, must)];
  }
  if (check.kind !== 'encryption') return [];
  if (encryptionAtRest !== undefined) {
    const [first] = encryptionAtRest.providers;
    if (writesEncrypted(encryptionAtRest.resources, first?.kind)) return [];
    const must = 'encrypt secrets, with aescbc, secretbox or kms as the first provider';
    return [contradiction([...API_SERVER, 'encryptionAtRest'], control, must)];
  }
  if (apiServerComponent(apiServer).args.some(({ name }) => name === 'encryption-provider-config')) return [];
  return [
    {
      path: ['kubernetes', 'controlPlane'],
      message: `${id} needs encryption at rest, whose keys only the document can provide`,
      hint: `give ${API_SERVER.join('.')}.encryptionAtRest, or remove ${id} from hardening.include`,
    },
  ];
}
