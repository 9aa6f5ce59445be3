import type { Finding } from '../../diagnostics/index.ts';
import { all, exactlyOne, must, not, textWithout, writtenSecret } from '../../fields/conditions.ts';
import { milliseconds, type ResolveSecret } from '../../fields/convert-values.ts';
import { choice, field, object } from '../../fields/field.ts';
import { duration, secret } from '../../fields/types.ts';
import { FEATURES, has } from '../../kubernetes-releases/features.ts';
import * as z from '../../schema/zod.ts';
import type { SecretValue } from '../../secrets/secret.ts';
import { type SecretsSection, writtenValue } from '../secrets.ts';
import { API_SERVER, needs } from './connection.ts';
import { keyProblem } from './encryption-key.ts';

const KINDS = ['secretbox', 'aescbc', 'aesgcm', 'kms', 'identity'] as const;

/** Base64 of a key of 16, 24 or 32 bytes. */
const KEY_PATTERNS = {
  secretbox: /^[A-Za-z0-9+/]{43}=$/,
  aescbc: /^(?:[A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{32}|[A-Za-z0-9+/]{43}=)$/,
  aesgcm: /^(?:[A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{32}|[A-Za-z0-9+/]{43}=)$/,
};

/** Kubernetes' own (k/k staging/src/k8s.io/apiserver/pkg/apis/apiserver/v1/defaults.go). */
const DEFAULT_KMS_TIMEOUT_MS = 3_000;

export interface EncryptionModel {
  /** `secrets`, `configmaps`, `widgets.example.com`. */
  readonly resources: readonly string[];
  /** The first writes, all read. */
  readonly providers: readonly EncryptionProvider[];
}

export type EncryptionProvider =
  | { readonly kind: 'secretbox' | 'aescbc' | 'aesgcm'; readonly keys: readonly EncryptionKey[] }
  | {
      readonly kind: 'kms';
      readonly name: string;
      /** Of the socket, without `unix://`. */
      readonly socket: string;
      readonly timeoutMs: number;
      readonly version: 'v1' | 'v2';
    }
  | { readonly kind: 'identity' };

export interface EncryptionKey {
  readonly name: string;
  /** Base64 of the key's bytes. */
  readonly key: SecretValue;
}

const keys = object({
  keys: field(
    z
      .array(
        object({
          name: field(z.string().min(1), 'The name of the key, stored with what it encrypts.', { example: 'key1' }),
          key: field(secret, 'The key, random bytes in base64.', { example: { secret: 'etcdKey' } }),
        }),
      )
      .min(1, 'at least one key'),
    'The keys. The first one encrypts; all of them decrypt.',
    { example: [{ name: 'key1', key: { secret: 'etcdKey' } }] },
  ),
});

const ownKeys = field(
  keys,
  'Encryption with keys that the document gives: secretbox takes 32 bytes, aescbc and aesgcm 16, 24 or 32.',
  {
    absent: 'the entry is another kind of provider',
    example: { keys: [{ name: 'key1', key: { secret: 'etcdKey' } }] },
  },
);

export const encryptionAtRest = object(
  {
    resources: field(z.array(z.string().min(1)).min(1), 'The resources that are encrypted.', {
      default: ['secrets'],
      example: ['secrets', 'configmaps'],
    }),
    providers: field(
      z
        .array(
          object(
            {
              secretbox: ownKeys,
              aescbc: ownKeys,
              aesgcm: ownKeys,
              kms: field(
                object({
                  name: field(
                    z
                      .string()
                      .min(1)
                      .regex(/^[^:]+$/, 'must not contain ":"'),
                    'The name of the provider, stored with what it encrypts.',
                    { example: 'vault' },
                  ),
                  endpoint: field(
                    z
                      .string()
                      .regex(/^unix:\/\/\/(?:\.?[^.\s])+\.?$/, 'not a socket, such as unix:///run/kms/kms.sock'),
                    'The socket of the plug-in.',
                    { example: 'unix:///run/kms/kms.sock' },
                  ),
                  timeout: field(duration, 'How long one call may take.', { default: '3s', example: '5s' }),
                  version: field(
                    choice({ v1: 'Off from Kubernetes 1.29.', v2: 'Needs Kubernetes 1.27.' }),
                    'The version of the KMS protocol. v1 is off from Kubernetes 1.29.',
                    {
                      default: 'v2',
                      example: 'v2',
                    },
                  ),
                }),
                'Encryption with a key management service, through a plug-in on the machine.',
                {
                  absent: 'the entry is another kind of provider',
                  example: { name: 'vault', endpoint: 'unix:///run/kms/kms.sock' },
                },
              ),
              identity: field(object({}), 'No encryption, for objects that were written before encryption began.', {
                absent: 'the entry is another kind of provider',
                example: {},
              }),
            },
            () => [
              exactlyOne(...KINDS),
              ...Object.entries(KEY_PATTERNS).map(([kind, pattern]) =>
                must(`${kind}.keys[].key`, writtenSecret(pattern)),
              ),
            ],
          ),
        )
        .min(1, 'at least one provider'),
      'The providers, one kind in each entry. The first one encrypts; all of them decrypt.',
      { example: [{ secretbox: { keys: [{ name: 'key1', key: { secret: 'etcdKey' } }] } }, { identity: {} }] },
    ),
  },
  () => [
    must(
      'resources[]',
      all(
        textWithout(/[A-Z]/),
        not({ const: '*' }),
        textWithout(/^[^.]*\.(?:events\.k8s\.io|extensions)$/),
        textWithout(/^(?:[^.*][^.]*|\*[^.]+|)\.\*$/),
      ),
    ),
  ],
);

type EncryptionSection = z.infer<typeof encryptionAtRest>;

/**
 * Encryption at rest, as the API server judges it (k/k staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/
 * validation_encryption.go): what it refuses there, it refuses by not starting.
 */
export function checkEncryption(section: EncryptionSection, minor: number, secrets: SecretsSection): Finding[] {
  const path = [...API_SERVER, 'encryptionAtRest'];
  const findings: Finding[] = [];
  const kmsNames = new Set<string>();
  section.providers.forEach((provider, index) => {
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
        const problem = keyProblem(kind, writtenValue(key, secrets));
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
    if (version === 'v2' && !has('kmsV2', minor)) {
      const hint = 'version: v1, or raise kubernetes.version';
      findings.push({ path: [...at, 'kms'], message: `KMS v2 needs Kubernetes 1.${FEATURES.kmsV2.since}`, hint });
    }
    if (version === 'v1' && !has('kmsV1', minor)) {
      const message = `KMS v1 is switched off since Kubernetes 1.${FEATURES.kmsV1.until + 1}`;
      findings.push({ path: [...at, 'kms', 'version'], message, hint: 'version: v2' });
    }
  });
  section.resources?.forEach((resource, index) => {
    const at = [...path, 'resources', index];
    const message = resourceProblem(resource);
    if (message !== undefined) findings.push({ path: at, message });
    else if (resource.includes('*') && !has('encryptWildcards', minor))
      findings.push(...needs('encryptWildcards', at, minor));
    else if (isCovered(resource, index, section.resources ?? [])) {
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

export function toEncryption({ resources, providers }: EncryptionSection, resolve: ResolveSecret): EncryptionModel {
  return {
    resources: resources ?? ['secrets'],
    providers: providers.map((provider, index): EncryptionProvider => {
      const { kms } = provider;
      if (kms !== undefined) {
        return {
          kind: 'kms',
          name: kms.name,
          socket: kms.endpoint.slice('unix://'.length),
          timeoutMs: milliseconds(kms.timeout) ?? DEFAULT_KMS_TIMEOUT_MS,
          version: kms.version ?? 'v2',
        };
      }
      for (const kind of ['secretbox', 'aescbc', 'aesgcm'] as const) {
        const keys = provider[kind]?.keys;
        if (keys === undefined) continue;
        const path = `${API_SERVER.join('.')}.encryptionAtRest.providers[${index}].${kind}.keys`;
        return {
          kind,
          keys: keys.map(({ name, key }, place) => ({ name, key: resolve(key, `${path}[${place}].key`) })),
        };
      }
      return { kind: 'identity' };
    }),
  };
}
