import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { type LoadResult, loadDocument } from '@machineadm/document/loading/load.ts';
import type { DocumentVersion } from '@machineadm/document/versions/version.ts';
import type { OpenedDocument } from '../../src/pipeline/load.ts';

/** Three lines. */
export const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n';

/** Loads one source called `doc.yaml`. */
export function load(text: string, versions?: readonly DocumentVersion[]): Promise<LoadResult> {
  const sources = [{ name: 'doc.yaml', bytes: new TextEncoder().encode(text) }];
  return loadDocument(sources, { agentVersion: '0.1.0', ...(versions === undefined ? {} : { versions }) });
}

/** The problems of a document that begins with a right header (three lines), as people see them. */
export async function problemsOf(body: string): Promise<string[]> {
  const result = await load(HEADER + body);
  return result.ok ? [] : result.problems.map(formatDiagnostic);
}

/** The document behind a right header and this body. Throws when it has problems. */
export async function loaded(body: string): Promise<OpenedDocument> {
  const result = await load(HEADER + body);
  if (!result.ok) throw new Error(result.problems.map(formatDiagnostic).join('\n'));
  return { ...result.document, refusals: [], agentVersion: '0.1.0', sources: ['doc.yaml'] };
}
