import type { Finding } from '../../diagnostics.ts';
import { keyProblem } from '../../encryption-key.ts';
import type { ApiServerFilesSection } from './api-server.ts';
import { API_SERVER, since } from './api-server-findings.ts';
import type { SecretField } from './fields.ts';
import type { Sections } from './sections.ts';

const KINDS = ['secretbox', 'aescbc', 'aesgcm', 'kms', 'identity'] as const;

/**
 * Encryption at rest, as the API server judges it (k/k staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/
 * validation_encryption.go): what it refuses there, it refuses by not starting.
 */
export function checkEncryption(
  { encryptionAtRest }: ApiServerFilesSection,
  minor: number,
  secrets: NonNullable<Sections['secrets']>,
): Finding[] {
  if (encryptionAtRest === undefined) return [];
  const path = [...API_SERVER, 'encryptionAtRest'];
  const findings: Finding[] = [];
  const kmsNames = new Set<string>();
  encryptionAtRest.providers.forEach((provider, index) => {
    const at = [...path, 'providers', index];
    const given = KINDS.filter((kind) => provider[kind] !== undefined);
    if (given.length !== 1) {
      const message = given.length === 0 ? 'no kind of provider is given' : `${given.join(' and ')} exclude each other`;
      findings.push({ path: at, message, hint: `one of ${KINDS.join(', ')} each` });
      return;
    }
    for (const kind of ['secretbox', 'aescbc', 'aesgcm'] as const) {
      const names = new Set<string>();
      provider[kind]?.keys.forEach(({ name, key }, place) => {
        const problem = keyProblem(kind, literalOf(key, secrets));
        // The value itself is never shown.
        if (problem !== undefined) findings.push({ path: [...at, kind, 'keys', place, 'key'], message: problem });
        if (names.has(name))
          findings.push({
            code: 'Duplicate',
            path: [...at, kind, 'keys', place, 'name'],
            message: `a second key "${name}"`,
          });
        names.add(name);
      });
    }
    const { kms } = provider;
    if (kms === undefined) return;
    if (kmsNames.has(kms.name))
      findings.push({ code: 'Duplicate', path: [...at, 'kms', 'name'], message: `a second KMS "${kms.name}"` });
    kmsNames.add(kms.name);
    const version = kms.version ?? 'v2';
    if (version === 'v2' && minor < 27) {
      const hint = 'version: v1, or raise kubernetes.version';
      findings.push({ path: [...at, 'kms'], message: 'KMS v2 needs Kubernetes 1.27', hint });
    }
    if (version === 'v1' && minor >= 29) {
      const message = 'KMS v1 is switched off since Kubernetes 1.29';
      findings.push({ path: [...at, 'kms', 'version'], message, hint: 'version: v2' });
    }
  });
  encryptionAtRest.resources?.forEach((resource, index) => {
    const at = [...path, 'resources', index];
    const message = resourceProblem(resource);
    if (message !== undefined) findings.push({ path: at, message });
    else if (resource.includes('*') && minor < 27) findings.push(since(at, 27));
    else if (isCovered(resource, index, encryptionAtRest.resources ?? [])) {
      findings.push({ code: 'Duplicate', path: at, message: `${resource} is named twice`, hint: 'keep one of them' });
    }
  });
  return findings;
}

function resourceProblem(resource: string): string | undefined {
  const dot = resource.indexOf('.');
  const [name, group] = dot === -1 ? [resource, ''] : [resource.slice(0, dot), resource.slice(dot + 1)];
  if (resource !== resource.toLowerCase()) return 'a resource is written in lower case';
  if (resource === '*') return 'write "*." for all of the core group, or "*.*" for all';
  if (group === 'events.k8s.io') return 'events are stored under "events"';
  if (group === 'extensions') return 'the group extensions has been removed';
  if (group === '*' && name !== '*') return 'one resource across all groups cannot be named';
  return undefined;
}

/** Named before, or masked by a wildcard of the list. */
function isCovered(resource: string, index: number, all: readonly string[]): boolean {
  if (all.indexOf(resource) < index) return true;
  const dot = resource.indexOf('.');
  const group = dot === -1 ? '' : resource.slice(dot + 1);
  return all.some((other) => other !== resource && (other === '*.*' || other === `*.${group}`));
}

/** The value of a secret field where the document itself holds it. */
function literalOf(field: SecretField, secrets: NonNullable<Sections['secrets']>): string | undefined {
  if (typeof field === 'string') return field;
  const source = secrets[field.secret];
  return source !== undefined && 'value' in source ? source.value : undefined;
}
