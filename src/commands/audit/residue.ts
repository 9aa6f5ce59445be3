import { documentSecrets } from '@machineadm/document/loading/secrets-of.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { type CheckFormat, printCheckReport } from '../../cli/findings.ts';
import type { DocumentOptions } from '../../cli/options.ts';
import type { Finding } from '../../diagnosis/checks/finding.ts';
import { auditResidue, type Residue } from '../../diagnosis/residue.ts';
import { openQueryHost, requireLinux } from '../../host/index.ts';
import { overwrite } from '../../host/linux/overwrite.ts';
import { openDocument } from '../../pipeline/load.ts';

/**
 * `machineadm audit --residue`: finds the secrets of the document that other tools left on the machine; `--scrub`
 * overwrites them.
 */
export async function auditResidueCommand(
  options: Omit<DocumentOptions, 'output'> & { readonly output: CheckFormat; readonly scrub?: true },
): Promise<number> {
  requireLinux('machineadm audit --residue');
  const secrets = documentSecrets(await openDocument(options.document, buildInfo().version));
  const report = await auditResidue(openQueryHost(), secrets, options.scrub === true ? { overwrite } : {});
  const { residues, searched, skipped } = report;
  const found = residues.length === 1 ? 'one file holds' : `${residues.length} files hold`;
  const count = searched.length === 1 ? 'one secret' : `${searched.length} secrets`;
  return await printCheckReport(options.output, {
    kind: 'ResidueAudit',
    name: 'machineadm audit --residue',
    findings: [
      ...residues.map(findingOf),
      ...skipped.map(
        ({ what: id, why }): Finding => ({ id, title: '', severity: 'skipped', text: `not searched: ${why}` }),
      ),
    ],
    data: report,
    verdict: residues.length === 0 ? `none of ${count} was found` : `${found} secrets of the document`,
    exit: residues.some(({ state }) => state !== 'Scrubbed') ? 'DifferencesFound' : 'Success',
  });
}

function findingOf({ path: id, tool: title, mode, secrets, forms, state, worldReadable, why }: Residue): Finding {
  const readable = worldReadable ? ', readable by every user' : '';
  const text = `${state.toLowerCase()} (${mode}${readable}): ${secrets.join(', ')}, as ${forms.join(' and ')}`;
  const severity = state === 'Scrubbed' ? 'passed' : 'failed';
  return { id, title, severity, text: why === undefined ? text : `${text}\n${why}` };
}
