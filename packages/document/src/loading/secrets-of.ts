import { Secret, type SecretValue } from '../secrets/secret.ts';
import { secretsIn } from '../secrets/secret-values.ts';
import { toPlain } from '../trees/tree.ts';
import type { LoadedDocument } from './load.ts';

/**
 * Every secret of a document: those used in its model, and unused inline ones under `secrets`, which tools that pass on
 * the document also keep.
 */
export function documentSecrets({ model, tree }: Pick<LoadedDocument, 'model' | 'tree'>): readonly SecretValue[] {
  const used = secretsIn(model);
  const names = new Set([...used].map(({ name }) => name));
  const unused = literals(toPlain(tree)).filter(({ name }) => !names.has(name));
  return [...used, ...unused];
}

function literals(document: unknown): SecretValue[] {
  if (document === null || typeof document !== 'object' || !('secrets' in document)) return [];
  const { secrets } = document;
  if (secrets === null || typeof secrets !== 'object') return [];
  return Object.entries(secrets).flatMap(([name, source]: [string, unknown]) =>
    source !== null && typeof source === 'object' && 'value' in source && typeof source.value === 'string'
      ? [{ name: `secrets.${name}`, source: { kind: 'value' as const, secret: new Secret(source.value) } }]
      : [],
  );
}
