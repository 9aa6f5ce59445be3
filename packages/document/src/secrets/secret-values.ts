import { Secret, type SecretValue } from './secret.ts';

/** Every secret in a part of a model. */
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

/** Whether a part of a model contains a secret. */
export function isSecretValue(node: object): node is SecretValue {
  if (!('name' in node) || typeof node.name !== 'string' || !('source' in node)) return false;
  const { source } = node;
  if (source === null || typeof source !== 'object' || !('kind' in source) || typeof source.kind !== 'string')
    return false;
  return Object.hasOwn(KINDS, source.kind);
}
