import { type Diagnostic, formatPlace } from '@machineadm/document/diagnostics/index.ts';
import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import { documentSecrets } from '@machineadm/document/loading/secrets-of.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { leaves } from '@machineadm/document/trees/tree.ts';
import { areInsecureSourcesAccepted, whyFileDistrusted } from '../host/local-files/provenance.ts';
import type { SourcePiece } from '../host/secrets/document-source.ts';

const INSECURE = 'for a test, --insecure-document accepts it';

/** Warnings for documents that a run would refuse. */
export function warningsOfDistrusted(pieces: readonly SourcePiece[]): readonly Diagnostic[] {
  return distrustedOf(pieces).map(({ name, distrust }) => ({
    code: 'DocumentNotTrusted',
    place: { file: name, line: 1, column: 1 },
    path: '',
    message: `other users could change the document: ${distrust}; a run refuses it`,
    hint: remedyFor(name),
  }));
}

/** `DocumentNotTrusted` with all documents that other users may change; undefined: none, or they are accepted. */
export function distrustedDocument(pieces: readonly SourcePiece[]): MachineadmError | undefined {
  const distrusted = distrustedOf(pieces);
  const [first] = distrusted;
  if (first === undefined || areInsecureSourcesAccepted()) return undefined;
  return new MachineadmError({
    reason: 'DocumentNotTrusted',
    summary: `users other than root and the caller could change the document ${first.name}: ${first.distrust}`,
    remedy: `Make it accessible to root only (${remedyFor(first.name)}); ${INSECURE}.`,
    evidence: distrusted.map(({ name, distrust = '' }) => ({ source: name, text: distrust })),
  });
}

/** `DocumentNotTrusted` where other users may change a file with a secret of the document. */
export async function distrustedSecret(
  document: Pick<LoadedDocument, 'model' | 'tree'>,
): Promise<MachineadmError | undefined> {
  if (areInsecureSourcesAccepted()) return undefined;
  for (const { name, source } of documentSecrets(document)) {
    const distrust = source.kind === 'file' ? await whyFileDistrusted(source.path) : undefined;
    if (source.kind !== 'file' || distrust === undefined) continue;
    return new MachineadmError({
      reason: 'DocumentNotTrusted',
      summary: `users other than root and the caller could change ${source.path}, the source of ${name}: ${distrust}`,
      remedy: `Make it accessible to root only (${remedyFor(source.path)}); ${INSECURE}.`,
      evidence: [{ source: source.path, text: distrust }],
    });
  }
  return undefined;
}

/**
 * Secrets with their value in a document that every user may read, each with its place. A value in a document that only
 * root may read is accepted: clouds deliver documents that way.
 */
export function exposedSecrets(
  document: Pick<LoadedDocument, 'model' | 'tree'>,
  pieces: readonly SourcePiece[],
): readonly Diagnostic[] {
  const open = new Set(pieces.filter(({ isPublic }) => isPublic === true).map(({ name }) => name));
  if (open.size === 0) return [];
  const values = new Set(
    documentSecrets(document).flatMap(({ source }) => (source.kind === 'value' ? [source.secret.reveal()] : [])),
  );
  if (values.size === 0) return [];
  return leaves(document.tree)
    .filter(({ at, value }) => open.has(at.file) && typeof value === 'string' && values.has(value))
    .map(({ at, path }) => ({
      code: 'SecretReadableByAll',
      place: at,
      path,
      message: 'every user of the machine can read this secret; a run refuses it',
      hint: `chmod 600 ${at.file}, or read the secret from a file (secrets.NAME.file)`,
    }));
}

/** `SecretReadableByAll` with every place; undefined: there is none, or they are accepted. */
export function exposure(exposed: readonly Diagnostic[]): MachineadmError | undefined {
  const [first] = exposed;
  if (first === undefined || areInsecureSourcesAccepted()) return undefined;
  return new MachineadmError({
    reason: 'SecretReadableByAll',
    summary: `every user of this machine can read the secret ${first.path} in ${first.place.file}`,
    remedy: `Run "chmod 600 ${first.place.file}", or read the secret from a file (secrets.NAME.file); ${INSECURE}.`,
    evidence: exposed.map(({ place, path }) => ({
      source: formatPlace(place),
      text: path,
    })),
  });
}

function distrustedOf(pieces: readonly SourcePiece[]): readonly SourcePiece[] {
  return pieces.filter(({ distrust }) => distrust !== undefined);
}

function remedyFor(name: string): string {
  return `chown root: ${name}; chmod 600 ${name}; and its directories for root alone to write`;
}
