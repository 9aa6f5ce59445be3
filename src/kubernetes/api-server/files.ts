import { typeMeta } from '@machineadm/document/kubernetes-releases/configurations.ts';
import { minorOf } from '@machineadm/document/kubernetes-releases/minor.ts';
import type {
  AdmissionModel,
  ApiServerModel,
  Authorizer,
  EncryptionModel,
  EncryptionProvider,
  KubernetesModel,
  StructuredAuthentication,
  WebhookConnection,
} from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  ADMISSION_CONFIG,
  API_SERVER_DIRECTORY_MODE,
  API_SERVER_FILE_MODE,
  AUDIT_POLICY,
  AUDIT_WEBHOOK,
  AUTHENTICATION_CONFIG,
  AUTHENTICATION_WEBHOOK,
  AUTHORIZATION_CONFIG,
  AUTHORIZATION_WEBHOOK,
  authorizerKubeconfig,
  ENCRYPTION_CONFIG,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import { keyProblem } from '@machineadm/document/sections/api-server/encryption-key.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { type Fields, goDuration } from '@machineadm/kubeadm/fields.ts';
import { writeDocument } from '@machineadm/kubeadm/yaml.ts';
import type { NewFile } from '../../host/seam/host.ts';
import type { SecretLookup } from '../secrets.ts';

/**
 * The files that the API server reads besides its certificates, in the API versions that its Kubernetes version
 * supports. Some contain keys, so all are readable by root only.
 *
 * @throws MachineadmError `EncryptionConfigInvalid` for a key that the API server would refuse, without printing it
 */
export function apiServerFiles(
  { version, role, controlPlane: { apiServer } }: Pick<KubernetesModel, 'version' | 'role' | 'controlPlane'>,
  secrets: SecretLookup,
): readonly NewFile[] {
  if (role === 'Worker') return [];
  const minor = minorOf(version);
  const { audit, encryptionAtRest, authentication, authorization, admission } = apiServer;
  const files = new Map<string, string>();
  if (audit !== undefined) files.set(AUDIT_POLICY, auditPolicy(audit, minor));
  if (audit?.webhook !== undefined) files.set(AUDIT_WEBHOOK, webhookKubeconfig(audit.webhook, secrets));
  if (encryptionAtRest !== undefined) files.set(ENCRYPTION_CONFIG, encryption(encryptionAtRest, secrets, minor));
  if (authentication?.webhook !== undefined) {
    files.set(AUTHENTICATION_WEBHOOK, webhookKubeconfig(authentication.webhook, secrets));
  }
  if (authentication?.structured !== undefined) {
    files.set(AUTHENTICATION_CONFIG, structuredAuthentication(authentication.structured, minor));
  }
  if (authorization?.kind === 'webhook') {
    files.set(AUTHORIZATION_WEBHOOK, webhookKubeconfig(authorization.webhook, secrets));
  }
  if (authorization?.kind === 'structured') {
    // Written before the configuration that refers to them.
    for (const { name, webhook } of authorization.authorizers) {
      if (webhook !== undefined) files.set(authorizerKubeconfig(name), webhookKubeconfig(webhook, secrets));
    }
    files.set(AUTHORIZATION_CONFIG, structuredAuthorization(authorization.authorizers, minor));
  }
  if ((admission?.config ?? []).length > 0 && admission !== undefined) {
    files.set(ADMISSION_CONFIG, admissionConfiguration(admission, minor));
  }
  return [...files].map(([path, content]) => ({
    path,
    content,
    mode: API_SERVER_FILE_MODE,
    // /etc/kubernetes itself keeps its mode: it belongs to the kubelet's packages.
    directoryMode: path.split('/').length > 4 ? API_SERVER_DIRECTORY_MODE : 0o755,
  }));
}

/** Paths of the files that the document requires. */
export function apiServerPaths(kubernetes: KubernetesModel): readonly string[] {
  if (kubernetes.exec !== undefined) return [];
  return apiServerFiles(withoutKeys(kubernetes), () => '').map(({ path }) => path);
}

export function apiServerSecrets(kubernetes: KubernetesModel): readonly SecretValue[] {
  const { encryptionAtRest } = kubernetes.controlPlane.apiServer;
  const wanted = (encryptionAtRest?.providers ?? []).flatMap((provider) =>
    'keys' in provider ? provider.keys.map(({ key }) => key) : [],
  );
  apiServerFiles(withoutKeys(kubernetes), (value) => {
    wanted.push(value);
    return '';
  });
  return wanted;
}

/** The same without encryption keys, whose format would be checked. */
function withoutKeys(kubernetes: KubernetesModel): KubernetesModel {
  const { controlPlane } = kubernetes;
  const { encryptionAtRest } = controlPlane.apiServer;
  if (encryptionAtRest === undefined) return kubernetes;
  const apiServer: ApiServerModel = {
    ...controlPlane.apiServer,
    encryptionAtRest: { ...encryptionAtRest, providers: [] },
  };
  return { ...kubernetes, controlPlane: { ...controlPlane, apiServer } };
}

function auditPolicy({ policy }: NonNullable<ApiServerModel['audit']>, minor: number): string {
  const { rules, ...rest } = policy;
  return writeDocument(omitUndefined({ ...typeMeta('Policy', minor), ...rest, rules }));
}

/**
 * The kubeconfig with which the API server reaches a webhook (k/k
 * staging/src/k8s.io/apiserver/pkg/util/webhook/webhook.go), with embedded credentials. Contains secrets.
 */
function webhookKubeconfig(connection: WebhookConnection, secrets: SecretLookup): string {
  const { server, tlsServerName, certificateAuthority, clientCertificate, token } = connection;
  const name = 'webhook';
  return writeDocument({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: omitUndefined({
          server,
          'tls-server-name': tlsServerName,
          'certificate-authority-data': base64(certificateAuthority),
        }),
      },
    ],
    users: [
      {
        name: 'api-server',
        user: omitUndefined({
          token: token === undefined ? undefined : secrets(token),
          'client-certificate-data': base64(clientCertificate?.certificate),
          'client-key-data': clientCertificate === undefined ? undefined : base64(secrets(clientCertificate.key)),
        }),
      },
    ],
    contexts: [{ name, context: { cluster: name, user: 'api-server' } }],
    'current-context': name,
  });
}

function base64(text: string | undefined): string | undefined {
  return text === undefined ? undefined : Buffer.from(text, 'utf8').toString('base64');
}

function encryption({ resources, providers }: EncryptionModel, secrets: SecretLookup, minor: number): string {
  return writeDocument({
    ...typeMeta('EncryptionConfiguration', minor),
    resources: [{ resources, providers: providers.map((provider) => providerFields(provider, secrets)) }],
  });
}

function providerFields(provider: EncryptionProvider, secrets: SecretLookup): Fields {
  if (provider.kind === 'identity') return { identity: {} };
  if (provider.kind === 'kms') {
    const { name, socket, timeoutMs, version } = provider;
    // v1 is the default, and the only version that releases before 1.25 support.
    const apiVersion = version === 'v1' ? undefined : version;
    return { kms: omitUndefined({ apiVersion, name, endpoint: `unix://${socket}`, timeout: goDuration(timeoutMs) }) };
  }
  const { kind, keys } = provider;
  return { [kind]: { keys: keys.map(({ name, key }) => ({ name, secret: sound(kind, key.name, secrets(key)) })) } };
}

function sound(kind: 'secretbox' | 'aescbc' | 'aesgcm', name: string, value: string): string {
  const problem = keyProblem(kind, value);
  if (problem === undefined) return value;
  throw new MachineadmError({
    reason: 'EncryptionConfigInvalid',
    exit: 'HostStepFailed',
    summary: `The encryption key ${name} cannot be used: ${problem}.`,
    remedy: 'Make one with: head -c 32 /dev/urandom | base64. All control planes of a cluster need the same.',
  });
}

function structuredAuthentication({ jwt, anonymous }: StructuredAuthentication, minor: number): string {
  return writeDocument(
    omitUndefined({
      ...typeMeta('AuthenticationConfiguration', minor),
      jwt: jwt.map(matchingAnyAudience),
      anonymous:
        anonymous === undefined
          ? undefined
          : omitUndefined({
              enabled: anonymous.enabled,
              conditions: anonymous.paths.length === 0 ? undefined : anonymous.paths.map((path) => ({ path })),
            }),
    }),
  );
}

/**
 * Several audiences require an audienceMatchPolicy, which has only one value (k/k …/apiserver/validation/validation.go,
 * validateAudiences).
 */
function matchingAnyAudience(jwt: Readonly<Record<string, unknown>>): Fields {
  const { issuer } = jwt;
  if (issuer === null || typeof issuer !== 'object' || !('audiences' in issuer)) return jwt;
  const several = Array.isArray(issuer.audiences) && issuer.audiences.length > 1;
  return several ? { ...jwt, issuer: { ...issuer, audienceMatchPolicy: 'MatchAny' } } : jwt;
}

function structuredAuthorization(authorizers: readonly Authorizer[], minor: number): string {
  return writeDocument({
    ...typeMeta('AuthorizationConfiguration', minor),
    authorizers: authorizers.map(({ type, name, webhook }) =>
      omitUndefined({ type, name, webhook: authorizerFields(name, webhook) }),
    ),
  });
}

function authorizerFields(name: string, webhook: Authorizer['webhook']): Fields | undefined {
  if (webhook === undefined) return undefined;
  return omitUndefined({
    timeout: goDuration(webhook.timeoutMs),
    authorizedTTL: goDuration(webhook.authorizedTTLMs),
    unauthorizedTTL: goDuration(webhook.unauthorizedTTLMs),
    subjectAccessReviewVersion: webhook.version,
    matchConditionSubjectAccessReviewVersion: 'v1',
    failurePolicy: webhook.failurePolicy,
    connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: authorizerKubeconfig(name) },
    matchConditions:
      webhook.matchConditions.length === 0 ? undefined : webhook.matchConditions.map((expression) => ({ expression })),
  });
}

function admissionConfiguration({ config }: AdmissionModel, minor: number): string {
  return writeDocument({
    ...typeMeta('AdmissionConfiguration', minor),
    plugins: config.map(({ plugin, configuration }) => ({
      name: plugin,
      configuration: { ...typeOf(plugin, minor), ...configuration },
    })),
  });
}

/** k/k plugin/pkg/admission/eventratelimit/apis. */
function typeOf(plugin: string, minor: number): Fields {
  if (plugin === 'PodSecurity') return typeMeta('PodSecurityConfiguration', minor);
  if (plugin === 'EventRateLimit')
    return { apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1', kind: 'Configuration' };
  return {};
}
