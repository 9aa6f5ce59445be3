import type { LoadedDocument } from './load.ts';
import { Secret, type SecretValue } from './secret.ts';
import { toPlain } from './tree.ts';

/**
 * Every secret of a document: those that a field of its model uses, wherever it is, and those that are written under
 * `secrets` without being used, which tools that carry the document keep as well.
 */
export function documentSecrets({ model, tree }: Pick<LoadedDocument, 'model' | 'tree'>): readonly SecretValue[] {
  const used = secretsIn(model);
  const names = new Set([...used].map(({ name }) => name));
  const unused = literals(toPlain(tree)).filter(({ name }) => !names.has(name));
  return [...used, ...unused];
}

/** Every secret that a part of a model uses. */
export function secretsIn(node: unknown): ReadonlySet<SecretValue> {
  const found = new Set<SecretValue>();
  collect(node, found);
  return found;
}

function collect(node: unknown, found: Set<SecretValue>): void {
  if (node === null || typeof node !== 'object' || node instanceof Uint8Array || node instanceof Secret) return;
  if (isSecretValue(node)) found.add(node);
  for (const child of Object.values(node)) collect(child, found);
}

const KINDS: Readonly<Record<SecretValue['source']['kind'], true>> = {
  value: true,
  file: true,
  env: true,
  systemdCredential: true,
  exec: true,
  http: true,
  awsSecretsManager: true,
  awsParameter: true,
};

/** Whether a part of a model holds a secret. */
export function isSecretValue(node: object): node is SecretValue {
  if (!('name' in node) || typeof node.name !== 'string' || !('source' in node)) return false;
  const { source } = node;
  if (source === null || typeof source !== 'object' || !('kind' in source) || typeof source.kind !== 'string')
    return false;
  return Object.hasOwn(KINDS, source.kind);
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
