import * as z from 'zod';
import { field, object } from '../../sections/field.ts';
import { SIZE_PATTERN } from '../../units.ts';
import {
  absolutePath,
  certificatePem,
  clientCertificate,
  dnsSubdomain,
  duration,
  EXAMPLE_CERTIFICATE,
  httpsUrl,
  secret,
  url,
} from './fields.ts';

/** What the API server is given as files. Words of Kubernetes' own formats are kept; API versions are chosen by us. */

const connection = {
  server: field(
    url('https', 'not an https URL, such as https://auth.example:8443/authenticate'),
    'The URL of the server.',
    { example: 'https://auth.example:8443/authenticate' },
  ),
  tlsServerName: field(z.string().min(1), 'The name that the certificate of the server must have.', {
    absent: 'the host of server',
    example: 'auth.example',
  }),
  certificateAuthority: field(certificatePem, 'The authority that signs for the server, in PEM form.', {
    absent: 'those that the image of the API server trusts',
    example: EXAMPLE_CERTIFICATE,
  }),
  clientCertificate: field(
    clientCertificate,
    'The certificate that the API server presents to the server. Excludes token.',
    { absent: 'none is presented', example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'clientKey' } } },
  ),
  token: field(secret, 'The bearer token that the API server sends to the server. Excludes clientCertificate.', {
    absent: 'none is sent',
    example: { secret: 'webhookToken' },
  }),
};

const version = field(z.enum(['v1', 'v1beta1']), 'The API version of the review object.', {
  default: 'v1',
  example: 'v1',
});

const size = z
  .string({ error: 'expected a size in quotes' })
  .regex(SIZE_PATTERN, 'not a size: write a number with its unit, such as "100Mi"');

const auditMode = z.enum(['Batch', 'Blocking', 'BlockingStrict']);
const stages = z.array(z.enum(['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic']));
const words = z.array(z.string());

const audit = object({
  policy: field(
    object({
      rules: field(
        z
          .array(
            object({
              level: field(
                z.enum(['None', 'Metadata', 'Request', 'RequestResponse']),
                'How much of a matching request is recorded.',
                { example: 'Metadata' },
              ),
              users: field(words, 'Users that the rule is about.', {
                absent: 'all users',
                example: ['system:kube-proxy'],
              }),
              userGroups: field(words, 'Groups of users that the rule is about.', {
                absent: 'all groups',
                example: ['system:nodes'],
              }),
              verbs: field(words, 'Verbs that the rule is about.', {
                absent: 'all verbs',
                example: ['get', 'list', 'watch'],
              }),
              resources: field(
                z.array(
                  object({
                    group: field(
                      z
                        .string()
                        .regex(
                          /^(?:|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/,
                          'not an API group; write it without its version',
                        ),
                      'The API group, without its version.',
                      { default: '', example: 'apps' },
                    ),
                    resources: field(words, 'The resources of the group. pods/log names a subresource.', {
                      absent: 'all resources of the group',
                      example: ['secrets', 'configmaps'],
                    }),
                    resourceNames: field(words, 'Names of objects. They need resources.', {
                      absent: 'all objects',
                      example: ['ingress-leader'],
                    }),
                  }),
                ),
                'Resources that the rule is about. Excludes nonResourceURLs.',
                { absent: 'all resources', example: [{ group: '', resources: ['secrets'] }] },
              ),
              namespaces: field(words, 'Namespaces that the rule is about. Excludes nonResourceURLs.', {
                absent: 'all namespaces',
                example: ['kube-system'],
              }),
              nonResourceURLs: field(
                z.array(
                  z.string().regex(/^(?:\*|\/[^*]*\*?)$/, 'not a URL path: it begins with "/", and "*" comes last'),
                ),
                'URL paths that the rule is about. "*" may be the last character. Excludes resources and namespaces.',
                { absent: 'the rule is not about URL paths', example: ['/healthz*'] },
              ),
              omitStages: field(stages, 'Stages of a request at which no event is recorded.', {
                default: [],
                example: ['RequestReceived'],
              }),
              omitManagedFields: field(
                z.boolean(),
                'Whether managedFields are left out of recorded objects. Needs Kubernetes 1.23.',
                { default: false, example: true },
              ),
            }),
          )
          .min(1, 'a policy without rules: the API server refuses it'),
        'The rules. The first that matches a request decides.',
        { example: [{ level: 'Metadata' }] },
      ),
      omitStages: field(stages, 'Stages of a request at which no event is recorded.', {
        default: [],
        example: ['RequestReceived'],
      }),
      omitManagedFields: field(
        z.boolean(),
        'Whether managedFields are left out of recorded objects. Needs Kubernetes 1.23.',
        { default: false, example: true },
      ),
    }),
    'The audit policy, without apiVersion and kind.',
    { example: { rules: [{ level: 'None', users: ['system:kube-proxy'] }, { level: 'Metadata' }] } },
  ),
  log: field(
    object({
      path: field(absolutePath, 'The path of the file. Its directory is mounted into the pod.', {
        default: '/var/log/kubernetes/audit/audit.log',
        example: '/var/log/kubernetes/audit/audit.log',
      }),
      maxAge: field(duration, 'How long rotated files are kept, in whole days.', { default: '30d', example: '7d' }),
      maxBackups: field(z.int().min(0), 'How many rotated files are kept.', { default: 10, example: 5 }),
      maxSize: field(size, 'The size at which the file is rotated, in whole Mi.', {
        default: '100Mi',
        example: '200Mi',
      }),
      mode: field(auditMode, 'Whether events are batched, or a request waits until they are written.', {
        default: 'Blocking',
        example: 'Batch',
      }),
    }),
    'Writes events to a file. At least log or webhook is required.',
    { absent: 'no file', example: { maxAge: '30d' } },
  ),
  webhook: field(
    object({
      ...connection,
      mode: field(auditMode, 'Whether events are batched, or a request waits until they are sent.', {
        default: 'Batch',
        example: 'Batch',
      }),
    }),
    'Sends events to a server. At least log or webhook is required.',
    { absent: 'no server', example: { server: 'https://audit.example/events' } },
  ),
});

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

const encryptionAtRest = object({
  resources: field(z.array(z.string().min(1)).min(1), 'The resources that are encrypted.', {
    default: ['secrets'],
    example: ['secrets', 'configmaps'],
  }),
  providers: field(
    z
      .array(
        object({
          secretbox: field(
            keys,
            'Encryption with keys that the document gives: secretbox takes 32 bytes, aescbc and aesgcm 16, 24 or 32.',
            {
              absent: 'the entry is another kind of provider',
              example: { keys: [{ name: 'key1', key: { secret: 'etcdKey' } }] },
            },
          ),
          aescbc: field(
            keys,
            'Encryption with keys that the document gives: secretbox takes 32 bytes, aescbc and aesgcm 16, 24 or 32.',
            {
              absent: 'the entry is another kind of provider',
              example: { keys: [{ name: 'key1', key: { secret: 'etcdKey' } }] },
            },
          ),
          aesgcm: field(
            keys,
            'Encryption with keys that the document gives: secretbox takes 32 bytes, aescbc and aesgcm 16, 24 or 32.',
            {
              absent: 'the entry is another kind of provider',
              example: { keys: [{ name: 'key1', key: { secret: 'etcdKey' } }] },
            },
          ),
          kms: field(
            object({
              name: field(
                z
                  .string()
                  .min(1)
                  .regex(/^[^:]+$/, 'may not hold ":"'),
                'The name of the provider, stored with what it encrypts.',
                { example: 'vault' },
              ),
              endpoint: field(
                z.string().regex(/^unix:\/\/\/(?:\.?[^.\s])+\.?$/, 'not a socket, such as unix:///run/kms/kms.sock'),
                'The socket of the plug-in.',
                { example: 'unix:///run/kms/kms.sock' },
              ),
              timeout: field(duration, 'How long one call may take.', { default: '3s', example: '5s' }),
              version: field(z.enum(['v1', 'v2']), 'The version of the KMS protocol. v1 is off from Kubernetes 1.29.', {
                default: 'v2',
                example: 'v2',
              }),
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
        }),
      )
      .min(1, 'at least one provider'),
    'The providers, one kind in each entry. The first one encrypts; all of them decrypt.',
    { example: [{ secretbox: { keys: [{ name: 'key1', key: { secret: 'etcdKey' } }] } }, { identity: {} }] },
  ),
});

const claim = field(z.string().min(1), 'The claim that holds the value. Excludes expression.', {
  absent: 'expression gives the value',
  example: 'sub',
});
const expression = field(z.string().min(1), 'A CEL expression that gives the value. Excludes claim.', {
  absent: 'claim gives the value',
  example: 'claims.sub',
});
const prefix = field(z.string(), 'What is put before the value of the claim, "" for nothing. Required with claim.', {
  absent: 'an expression has no prefix',
  example: '',
});
const claimOrExpression = object({ claim, prefix, expression });
const rulesOfUser = z.array(
  object({
    expression: field(z.string().min(1), 'A CEL expression over the user that must be true.', {
      example: '!user.username.startsWith("system:")',
    }),
    message: field(z.string(), 'The message when the expression is false.', {
      absent: 'a message of the API server',
      example: 'reserved name',
    }),
  }),
);

const jwt = object({
  issuer: field(
    object({
      url: field(httpsUrl, 'The URL of the issuer, as the tokens name it.', { example: 'https://issuer.example' }),
      discoveryURL: field(
        httpsUrl,
        'The URL of the discovery document, where it differs from that of the issuer. Needs Kubernetes 1.30.',
        {
          absent: 'url and /.well-known/openid-configuration',
          example: 'https://issuer.internal/.well-known/openid-configuration',
        },
      ),
      certificateAuthority: field(certificatePem, 'The authority that signs for the issuer, in PEM form.', {
        absent: 'those that the image of the API server trusts',
        example: EXAMPLE_CERTIFICATE,
      }),
      audiences: field(
        z.array(z.string().min(1)).min(1),
        'Audiences of tokens that are accepted. More than one needs Kubernetes 1.30.',
        { example: ['kubernetes'] },
      ),
    }),
    'The issuer of the tokens.',
    { example: { url: 'https://issuer.example', audiences: ['kubernetes'] } },
  ),
  claimValidationRules: field(
    z.array(
      object({
        claim: field(z.string().min(1), 'The claim that must have requiredValue. Excludes expression.', {
          absent: 'expression is the rule',
          example: 'hd',
        }),
        requiredValue: field(z.string(), 'The value that the claim must have. Belongs to claim.', {
          absent: 'the empty text',
          example: 'example.com',
        }),
        expression: field(z.string().min(1), 'A CEL expression over claims that must be true. Excludes claim.', {
          absent: 'claim is the rule',
          example: 'claims.hd == "example.com"',
        }),
        message: field(z.string(), 'The message when the expression is false. Belongs to expression.', {
          absent: 'a message of the API server',
          example: 'the domain must be example.com',
        }),
      }),
    ),
    'What must be true of the claims of a token.',
    { default: [], example: [{ claim: 'hd', requiredValue: 'example.com' }] },
  ),
  claimMappings: field(
    object({
      username: field(claimOrExpression, 'The name of the user.', { example: { claim: 'sub', prefix: '' } }),
      groups: field(claimOrExpression, 'The groups of the user.', {
        absent: 'no groups',
        example: { claim: 'groups', prefix: '' },
      }),
      uid: field(object({ claim, expression }), 'The UID of the user.', {
        absent: 'no UID',
        example: { claim: 'sub' },
      }),
      extra: field(
        z.array(
          object({
            key: field(z.string().min(1), 'The key, in lower case and with a domain.', { example: 'example.org/team' }),
            valueExpression: field(z.string().min(1), 'A CEL expression that gives the value.', {
              example: 'claims.team',
            }),
          }),
        ),
        'Further attributes of the user.',
        { default: [], example: [{ key: 'example.org/team', valueExpression: 'claims.team' }] },
      ),
    }),
    'How claims become the attributes of a user.',
    { example: { username: { claim: 'sub', prefix: '' } } },
  ),
  userValidationRules: field(rulesOfUser, 'What must be true of the user that a token becomes.', {
    default: [],
    example: [{ expression: '!user.username.startsWith("system:")' }],
  }),
});

const authentication = object({
  webhook: field(
    object({
      ...connection,
      version,
      cacheTTL: field(duration, 'How long an answer is cached.', { absent: 'that of Kubernetes, 2m', example: '5m' }),
    }),
    'A server that checks bearer tokens (TokenReview).',
    { absent: 'no server is asked', example: { server: 'https://auth.example:8443/authenticate' } },
  ),
  structured: field(
    object({
      jwt: field(z.array(jwt).max(64), 'Issuers of tokens that are accepted.', {
        default: [],
        example: [
          {
            issuer: { url: 'https://issuer.example', audiences: ['kubernetes'] },
            claimMappings: { username: { claim: 'sub', prefix: '' } },
          },
        ],
      }),
      anonymous: field(
        object({
          enabled: field(z.boolean(), 'Whether such requests are served.', { example: true }),
          paths: field(
            z.array(z.string().regex(/^\//, 'must begin with "/"')).min(1),
            'The only paths at which they are served. kubeadm needs /readyz, /livez and /healthz.',
            { absent: 'all paths', example: ['/livez', '/readyz', '/healthz'] },
          ),
        }),
        'Requests without a credential. Needs Kubernetes 1.31, or its feature gate.',
        { absent: 'that of Kubernetes, enabled', example: { enabled: true, paths: ['/livez', '/readyz', '/healthz'] } },
      ),
    }),
    'An AuthenticationConfiguration. Needs Kubernetes 1.30, or 1.29 with its feature gate. It replaces the arguments oidc-*.',
    {
      absent: 'none',
      example: {
        jwt: [
          {
            issuer: { url: 'https://issuer.example', audiences: ['kubernetes'] },
            claimMappings: { username: { claim: 'sub', prefix: '' } },
          },
        ],
      },
    },
  ),
});

const matchTTL = {
  authorizedTTL: field(duration, 'How long the answer "allowed" is cached.', { default: '5m', example: '1m' }),
  unauthorizedTTL: field(duration, 'How long the answer "not allowed" is cached.', { default: '30s', example: '10s' }),
};

const authorization = object({
  modes: field(
    z.array(z.enum(['Node', 'RBAC', 'Webhook'])),
    'The authorizers in their order. All three are required.',
    { default: ['Node', 'RBAC', 'Webhook'], example: ['Node', 'Webhook', 'RBAC'] },
  ),
  webhook: field(
    object({
      ...connection,
      version,
      ...matchTTL,
    }),
    'A server that decides about requests (SubjectAccessReview). Excludes structured.',
    { absent: 'no server is asked', example: { server: 'https://authz.example:8443/authorize' } },
  ),
  structured: field(
    z
      .array(
        object({
          type: field(
            z.enum(['Node', 'RBAC', 'Webhook']),
            'The kind of authorizer. Node and RBAC must be among them.',
            { example: 'RBAC' },
          ),
          name: field(dnsSubdomain, 'The name of the authorizer in metrics.', { example: 'rbac' }),
          webhook: field(
            object({
              ...connection,
              version,
              ...matchTTL,
              timeout: field(duration, 'How long one request may take, at most 30s.', { default: '3s', example: '5s' }),
              failurePolicy: field(z.enum(['NoOpinion', 'Deny']), 'What happens when the server does not answer.', {
                example: 'Deny',
              }),
              matchConditions: field(
                z.array(z.string().min(1)).max(64),
                'CEL expressions. The server is asked only if all are true.',
                { default: [], example: ['has(request.resourceAttributes)'] },
              ),
            }),
            'The server of an authorizer of type Webhook.',
            {
              absent: 'the type is not Webhook',
              example: { server: 'https://authz.example:8443/authorize', failurePolicy: 'Deny' },
            },
          ),
        }),
      )
      .min(1),
    'An AuthorizationConfiguration, the authorizers in their order. Needs Kubernetes 1.30. Excludes modes and webhook.',
    {
      absent: 'modes',
      example: [
        { type: 'Node', name: 'node' },
        { type: 'RBAC', name: 'rbac' },
      ],
    },
  ),
});

const plugin = z.string().min(1);
const admission = object({
  enable: field(z.array(plugin), 'Plug-ins that are enabled beside the default ones and NodeRestriction.', {
    default: [],
    example: ['AlwaysPullImages'],
  }),
  disable: field(z.array(plugin), 'Plug-ins that are disabled.', { default: [], example: ['DefaultStorageClass'] }),
  config: field(
    z
      .array(
        object({
          plugin: field(plugin, 'The plug-in.', { example: 'PodSecurity' }),
          configuration: field(
            z.record(z.string(), z.unknown()),
            'The configuration in the words of the plug-in. For PodSecurity and EventRateLimit without apiVersion and kind, which machineadm chooses.',
            { example: { defaults: { enforce: 'baseline' } } },
          ),
        }),
      )
      .min(1),
    'The configuration of plug-ins.',
    {
      absent: 'the defaults of the plug-ins',
      example: [{ plugin: 'PodSecurity', configuration: { defaults: { enforce: 'baseline' } } }],
    },
  ),
});

/** Fields of `kubernetes.controlPlane.apiServer`. */
export const apiServerFiles = {
  audit: field(audit, 'The audit log of the API server, which records who did what.', {
    absent: 'no audit log',
    example: { policy: { rules: [{ level: 'Metadata' }] }, log: {} },
  }),
  encryptionAtRest: field(encryptionAtRest, 'How objects are encrypted in etcd.', {
    absent: 'objects are not encrypted',
    example: { providers: [{ secretbox: { keys: [{ name: 'key1', key: { secret: 'etcdKey' } }] } }, { identity: {} }] },
  }),
  authentication: field(
    authentication,
    'How the API server checks the identity of users. Give webhook, structured or both.',
    {
      absent: 'certificates, service accounts and bootstrap tokens',
      example: { webhook: { server: 'https://auth.example:8443/authenticate' } },
    },
  ),
  authorization: field(authorization, 'How the API server decides what a user may do. Give webhook or structured.', {
    absent: 'Node and RBAC',
    example: { webhook: { server: 'https://authz.example:8443/authorize' } },
  }),
  admission: field(admission, 'The admission plug-ins of the API server.', {
    absent: 'the default ones and NodeRestriction',
    example: { enable: ['AlwaysPullImages'] },
  }),
};

const section = object(apiServerFiles);
export type ApiServerFilesSection = z.infer<typeof section>;
export type ConnectionSection = Pick<
  NonNullable<NonNullable<ApiServerFilesSection['audit']>['webhook']>,
  keyof typeof connection
>;
