import { documentSecrets } from '@machineadm/document/secrets-of.ts';
import { auditResidue, type ResidueReport } from '../../diagnosis/residue.ts';
import { openQueryHost, requireLinux } from '../../host/index.ts';
import { overwrite } from '../../host/linux/overwrite.ts';
import { openDocument } from '../../pipeline/load.ts';

/** Searches this machine for the secrets of a document that other tools left on it; `scrub` overwrites them. */
export async function auditResidueOf(
  sources: readonly string[],
  agentVersion: string,
  scrub: boolean,
): Promise<ResidueReport> {
  requireLinux('machineadm audit --residue');
  const secrets = documentSecrets(await openDocument(sources, agentVersion));
  return await auditResidue(openQueryHost(), secrets, scrub ? { overwrite } : {});
}
