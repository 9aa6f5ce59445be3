import type { JsonSchema } from '@machineadm/document/sections/conditions.ts';
import {
  all,
  any,
  atLeastOne,
  atMostOne,
  contains,
  exactlyOne,
  exclusive,
  given,
  has,
  is,
  must,
  not,
  text,
  textWithout,
  when,
  without,
  writtenSecret,
} from '@machineadm/document/sections/conditions.ts';
import { OWNERS, VOLUMES } from '@machineadm/document/versions/v1alpha1/checks-api-server-arguments.ts';

const API_SERVER = 'kubernetes.controlPlane.apiServer';
const FILES = ['audit', 'encryptionAtRest', 'authentication', 'authorization', 'admission'];

const oneCredential = [exclusive('token', 'clientCertificate')];
const some = { type: 'array', minItems: 1 };

/** Base64 of a key of 16, 24 or 32 bytes. */
const KEYS = {
  secretbox: /^[A-Za-z0-9+/]{43}=$/,
  aescbc: /^(?:[A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{32}|[A-Za-z0-9+/]{43}=)$/,
  aesgcm: /^(?:[A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{32}|[A-Za-z0-9+/]{43}=)$/,
};

const resource = all(
  textWithout(/[A-Z]/),
  not({ const: '*' }),
  textWithout(/^[^.]*\.(?:events\.k8s\.io|extensions)$/),
  textWithout(/^(?:[^.*][^.]*|\*[^.]+|)\.\*$/),
);

const claim = (withPrefix: boolean): JsonSchema =>
  all(
    exactlyOne('claim', 'expression'),
    when(has('expression'), without('prefix')),
    ...(withPrefix ? [when(has('claim'), has('prefix'))] : []),
  );

const issuerUrl = textWithout(/[?#@]/);

const mode = (name: string): JsonSchema => contains({ const: name });

export const API_SERVER_CONDITIONS: Readonly<Record<string, readonly JsonSchema[]>> = {
  [API_SERVER]: [
    ...OWNERS.map(({ field, argument }) => when(given(field), must('args[].name', textWithout(argument)))),
    when(atLeastOne(...FILES), must('volumes[].name', textWithout(VOLUMES))),
  ],
  [`${API_SERVER}.audit`]: [atLeastOne('log', 'webhook'), must('log.path', textWithout(/^\/[^/]*$/))],
  [`${API_SERVER}.audit.policy.rules[]`]: [
    when(
      given('nonResourceURLs', some),
      all(not(given('resources', some)), any(has('resources'), not(given('namespaces', some)))),
    ),
  ],
  [`${API_SERVER}.audit.policy.rules[].resources[]`]: [when(given('resourceNames', some), given('resources', some))],
  [`${API_SERVER}.audit.webhook`]: oneCredential,
  [`${API_SERVER}.authentication.webhook`]: oneCredential,
  [`${API_SERVER}.authorization.webhook`]: oneCredential,
  [`${API_SERVER}.authorization.structured[].webhook`]: oneCredential,
  [`${API_SERVER}.encryptionAtRest`]: [must('resources[]', resource)],
  [`${API_SERVER}.encryptionAtRest.providers[]`]: [
    exactlyOne('secretbox', 'aescbc', 'aesgcm', 'kms', 'identity'),
    ...Object.entries(KEYS).map(([kind, pattern]) => must(`${kind}.keys[].key`, writtenSecret(pattern))),
  ],
  [`${API_SERVER}.authentication`]: [atLeastOne('webhook', 'structured')],
  [`${API_SERVER}.authentication.structured.anonymous`]: [when(is('enabled', false), without('paths'))],
  [`${API_SERVER}.authentication.structured.jwt[]`]: [
    must('issuer.url', issuerUrl),
    must('issuer.discoveryURL', issuerUrl),
    must('claimMappings.username', { type: 'object', ...claim(true) }),
    must('claimMappings.groups', { type: 'object', ...claim(true) }),
    must('claimMappings.uid', { type: 'object', ...claim(false) }),
  ],
  [`${API_SERVER}.authentication.structured.jwt[].claimMappings.extra[]`]: [
    // A key with its domain, which is none of Kubernetes' own.
    must(
      'key',
      all(text(/^[a-z0-9.-]+\/[^/\s]\S*$/), textWithout(/[A-Z]/), textWithout(/^(?:[^/]*\.)?(?:k8s|kubernetes)\.io\//)),
    ),
  ],
  [`${API_SERVER}.authentication.structured.jwt[].claimValidationRules[]`]: [
    exactlyOne('claim', 'expression'),
    exclusive('claim', 'message'),
    exclusive('expression', 'requiredValue'),
  ],
  [`${API_SERVER}.authorization`]: [
    when(has('structured'), without('webhook', 'modes'), has('webhook')),
    must('modes', all(mode('Node'), mode('RBAC'), mode('Webhook'), { type: 'array', uniqueItems: true })),
    must(
      'structured',
      all(
        contains(is('type', 'Node')),
        contains(is('type', 'RBAC')),
        atMostOne(is('type', 'Node')),
        atMostOne(is('type', 'RBAC')),
      ),
    ),
  ],
  [`${API_SERVER}.authorization.structured[]`]: [when(is('type', 'Webhook'), has('webhook'), without('webhook'))],
  [`${API_SERVER}.admission.config[]`]: [
    when(
      given('plugin', { enum: ['PodSecurity', 'EventRateLimit'] }),
      without('configuration.apiVersion', 'configuration.kind'),
    ),
  ],
};
