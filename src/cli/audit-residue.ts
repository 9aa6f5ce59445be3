import { documentSecrets } from '@machineadm/document/secrets-of.ts';
import type { Finding } from '../diagnosis/checks/finding.ts';
import {
  auditResidue,
  openQueryHost,
  overwrite,
  type Residue,
  type ResidueReport,
  requireLinux,
} from '../diagnosis/residue.ts';
import { openDocument } from '../pipeline/load.ts';
import { buildInfo } from './build-info.ts';
import { type CheckFormat, printCheckReport } from './findings.ts';
import type { DocumentOptions } from './options.ts';

/** `machineadm audit --residue`: where other tools left the secrets of the document; with `--scrub` they are overwritten. */
export async function auditResidueCommand(
  options: Omit<DocumentOptions, 'output'> & { readonly output: CheckFormat; readonly scrub?: true },
): Promise<number> {
  requireLinux('machineadm audit --residue');
  const document = await openDocument(options.document, buildInfo().version);
  const report = await auditResidue(
    openQueryHost(),
    documentSecrets(document),
    options.scrub === true ? { overwrite } : {},
  );
  const remains = report.residues.some(({ state }) => state !== 'Scrubbed');
  return await printCheckReport(options.output, {
    kind: 'ResidueAudit',
    name: 'machineadm audit --residue',
    data: report,
    text: () => formatReport(report),
    findings: () => findingsOf(report),
    exit: remains ? 'DifferencesFound' : 'Success',
  });
}

function findingsOf({ residues, skipped }: ResidueReport): readonly Finding[] {
  const found = residues.map((residue): Finding => {
    const { path: id, tool: title, state } = residue;
    return { id, title, severity: state === 'Scrubbed' ? 'passed' : 'failed', text: formatResidue(residue) };
  });
  return [
    ...found,
    ...skipped.map(({ what: id, why: text }): Finding => ({ id, title: '', severity: 'skipped', text })),
  ];
}

function formatReport({ residues, searched, skipped }: ResidueReport): string {
  const lines = residues.map(formatResidue);
  lines.push(...skipped.map(({ what, why }) => `not searched: ${what}: ${why}`));
  const found = residues.length === 1 ? 'one file holds' : `${residues.length} files hold`;
  const count = searched.length === 1 ? 'one secret' : `${searched.length} secrets`;
  lines.push(residues.length === 0 ? `none of ${count} was found` : `${found} secrets of the document`);
  return lines.join('\n');
}

function formatResidue(residue: Residue): string {
  const { path, tool, mode, secrets, forms, state, why } = residue;
  const readable = residue.worldReadable ? ', readable by every user' : '';
  const line = `${state.toLowerCase()}: ${path} (${tool}, ${mode}${readable}): ${secrets.join(', ')}, as ${forms.join(' and ')}`;
  return why === undefined ? line : `${line}\n  ${why}`;
}
