import { resolve } from 'node:path';
import { type Diagnostic, type Finding, formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { refuseSecretsOf } from '@machineadm/document/loading/added-sinks.ts';
import { type LoadedDocument, loadDocument } from '@machineadm/document/loading/load.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redactFromNowOn } from '@machineadm/document/redaction/process-redactor.ts';
import { sensitiveTexts } from '@machineadm/document/redaction/sensitive.ts';
import { toPlain } from '@machineadm/document/trees/tree.ts';
import { firstUnprivilegedPort } from '../host/network/unprivileged-ports.ts';
import { readSource, type SourcePiece } from '../host/secrets/document-source.ts';
import { distrustedDocument, distrustedSecret, exposedSecrets, exposure, warningsOfDistrusted } from './provenance.ts';

/** An invalid document; `problems` has each problem with its place. */
export class DocumentError extends MachineadmError {
  constructor(reason: 'DocumentInvalid' | 'RequiresNewerAgent', problems: readonly Diagnostic[]) {
    const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
    super({
      reason,
      summary: reason === 'RequiresNewerAgent' ? 'the document needs a newer agent' : `the document has ${count}`,
      remedy:
        'Fix the problems listed above and check with `machineadm validate`. Nothing on this machine was changed.',
      evidence: problems.map((problem) => ({ source: 'document', text: formatDiagnostic(problem) })),
      problems,
    });
  }
}

/**
 * The content of a source (a file, a directory of drop-ins, `-`), not parsed. Throws `DocumentNotFound`,
 * `DocumentTooLarge`.
 */
export function readInputText(
  source: string,
): Promise<readonly { readonly name: string; readonly bytes: Uint8Array }[]> {
  return readSource(source);
}

/**
 * Reads and validates the document in the given sources (files, drop-in directories, `-`), merged in order. Variables
 * are resolved if it is for this machine; otherwise their values are not checked. `sinks` are those of the command
 * line. Throws `DocumentError` with all problems, `DocumentNotTrusted`, `SecretReadableByAll`, `UsageInvalid` (a secret
 * among `sinks`), `DocumentNotFound`, `DocumentTooLarge` or `MetadataUnavailable`.
 */
export async function openDocument(
  sources: readonly string[],
  agentVersion: string,
  options: OpenOptions = {},
): Promise<OpenedDocument> {
  const read: SourcePiece[] = [];
  for (const source of sources) read.push(...(await readSource(source)));
  const { distrust = 'warn' } = options;
  const refusals: MachineadmError[] = [];
  const refuse = (error: MachineadmError | undefined): void => {
    if (error !== undefined && distrust === 'refuse') throw error;
    if (error !== undefined) refusals.push(error);
  };
  if (distrust !== 'warn') refuse(distrustedDocument(read));
  // Loaded on demand, as the variables below: `validate` does not inspect the machine.
  const unprivilegedFrom =
    options.forThisMachine === true
      ? await firstUnprivilegedPort((await import('../host/index.ts')).openQueryHost())
      : undefined;
  const result = await loadDocument(read, {
    agentVersion,
    complete: completeModel,
    ...(unprivilegedFrom === undefined ? {} : { unprivilegedFrom }),
    ...(options.forThisMachine === true
      ? { resolveVariables: (await import('../host/secrets/variables.ts')).variableResolver() }
      : {}),
    ...(options.sinks === undefined ? {} : { sinks: options.sinks }),
  });
  if (result.ok) redactFromNowOn(sensitiveTexts(toPlain(result.document.tree)));
  if (!result.ok) throw new DocumentError(result.reason, result.problems);
  const { sinks } = result.document.model.reporting;
  refuseSecretsOf(sinks.slice(sinks.length - (options.sinks?.length ?? 0)));
  const exposed = exposedSecrets(result.document, read);
  if (distrust === 'warn') {
    const warnings = [...warningsOfDistrusted(read), ...exposed, ...result.document.warnings];
    return { ...result.document, warnings, refusals, agentVersion, sources: sources.map(absoluteSource) };
  }
  const exposes = exposure(exposed);
  refuse(exposes);
  refuse(await distrustedSecret(result.document));
  const accepted = exposes === undefined ? exposed : [];
  const warnings = [...accepted, ...result.document.warnings];
  return { ...result.document, warnings, refusals, agentVersion, sources: sources.map(absoluteSource) };
}

/** A document with the errors with which a run refuses it because of who can read or change it. */
export interface OpenedDocument extends LoadedDocument {
  /** Only with `distrust: 'collect'`. */
  readonly refusals: readonly MachineadmError[];
  /** The version that read it. */
  readonly agentVersion: string;
  /** Where it was read from, as `absoluteSource` names it. */
  readonly sources: readonly string[];
}

export interface OpenOptions {
  readonly forThisMachine?: boolean;
  readonly sinks?: readonly string[];
  /**
   * A document that other users may change, or that exposes secrets to all users: is refused, or listed in `refusals` for a
   * command that shows what a run would do. Default: a warning.
   */
  readonly distrust?: 'refuse' | 'collect' | 'warn';
}

/** The model with its benchmarks, and what its kubeadm could not express. The code for both is loaded on demand. */
export async function completeModel(
  model: Model,
): Promise<{ readonly model: Model; readonly findings: readonly Finding[] }> {
  const hardened =
    model.hardening === undefined
      ? { model, findings: [] }
      : (await import('@machineadm/hardening/harden-model.ts')).hardenModel(model);
  if (hardened.findings.length > 0 || model.kubernetes === undefined) return hardened;
  const { renderFindings } = await import('@machineadm/kubeadm/render-findings.ts');
  return { ...hardened, findings: renderFindings(hardened.model) };
}

/** A canonical name of a source, independent of the working directory. */
export function absoluteSource(source: string): string {
  return source === '-' ? source : resolve(source);
}
