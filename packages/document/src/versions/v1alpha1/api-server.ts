import * as z from 'zod';
import { SIZE_PATTERN } from '../../units.ts';
import {
  absolutePath,
  certificatePem,
  clientCertificate,
  dnsSubdomain,
  duration,
  httpsUrl,
  secret,
  url,
} from './fields.ts';

/** What the API server is given as files. Words of Kubernetes' own formats are kept; API versions are chosen by us. */

const connection = {
  server: url('https', 'not an https URL, such as https://auth.example:8443/authenticate'),
  tlsServerName: z.string().min(1).optional(),
  certificateAuthority: certificatePem.optional(),
  clientCertificate: clientCertificate.optional(),
  token: secret.optional(),
};

const reviewVersion = z.enum(['v1', 'v1beta1']).optional();

const size = z
  .string({ error: 'expected a size in quotes' })
  .regex(SIZE_PATTERN, 'not a size: write a number with its unit, such as "100Mi"');

const auditMode = z.enum(['Batch', 'Blocking', 'BlockingStrict']);
const stages = z.array(z.enum(['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic']));
const words = z.array(z.string());

const audit = z.strictObject({
  policy: z.strictObject({
    rules: z
      .array(
        z.strictObject({
          level: z.enum(['None', 'Metadata', 'Request', 'RequestResponse']),
          users: words.optional(),
          userGroups: words.optional(),
          verbs: words.optional(),
          resources: z
            .array(
              z.strictObject({
                group: z
                  .string()
                  .regex(/^(?:|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/, 'not an API group; write it without its version')
                  .optional(),
                resources: words.optional(),
                resourceNames: words.optional(),
              }),
            )
            .optional(),
          namespaces: words.optional(),
          nonResourceURLs: z
            .array(z.string().regex(/^(?:\*|\/[^*]*\*?)$/, 'not a URL path: it begins with "/", and "*" comes last'))
            .optional(),
          omitStages: stages.optional(),
          omitManagedFields: z.boolean().optional(),
        }),
      )
      .min(1, 'a policy without rules: the API server refuses it'),
    omitStages: stages.optional(),
    omitManagedFields: z.boolean().optional(),
  }),
  log: z
    .strictObject({
      path: absolutePath.optional(),
      maxAge: duration.optional(),
      maxBackups: z.int().min(0).optional(),
      maxSize: size.optional(),
      mode: auditMode.optional(),
    })
    .optional(),
  webhook: z.strictObject({ ...connection, mode: auditMode.optional() }).optional(),
});

const keys = z.strictObject({
  keys: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        key: secret,
      }),
    )
    .min(1, 'at least one key'),
});

const encryptionAtRest = z.strictObject({
  resources: z.array(z.string().min(1)).min(1).optional(),
  providers: z
    .array(
      z.strictObject({
        secretbox: keys.optional(),
        aescbc: keys.optional(),
        aesgcm: keys.optional(),
        kms: z
          .strictObject({
            name: z
              .string()
              .min(1)
              .regex(/^[^:]+$/, 'may not hold ":"'),
            endpoint: z
              .string()
              .regex(/^unix:\/\/\/(?:\.?[^.\s])+\.?$/, 'not a socket, such as unix:///run/kms/kms.sock'),
            timeout: duration.optional(),
            version: z.enum(['v1', 'v2']).optional(),
          })
          .optional(),
        identity: z.strictObject({}).optional(),
      }),
    )
    .min(1, 'at least one provider'),
});

const claimOrExpression = z.strictObject({
  claim: z.string().min(1).optional(),
  prefix: z.string().optional(),
  expression: z.string().min(1).optional(),
});
const rulesOfUser = z.array(z.strictObject({ expression: z.string().min(1), message: z.string().optional() }));

const jwt = z.strictObject({
  issuer: z.strictObject({
    url: httpsUrl,
    discoveryURL: httpsUrl.optional(),
    certificateAuthority: certificatePem.optional(),
    audiences: z.array(z.string().min(1)).min(1),
  }),
  claimValidationRules: z
    .array(
      z.strictObject({
        claim: z.string().min(1).optional(),
        requiredValue: z.string().optional(),
        expression: z.string().min(1).optional(),
        message: z.string().optional(),
      }),
    )
    .optional(),
  claimMappings: z.strictObject({
    username: claimOrExpression,
    groups: claimOrExpression.optional(),
    uid: claimOrExpression.omit({ prefix: true }).optional(),
    extra: z.array(z.strictObject({ key: z.string().min(1), valueExpression: z.string().min(1) })).optional(),
  }),
  userValidationRules: rulesOfUser.optional(),
});

const authentication = z.strictObject({
  webhook: z
    .strictObject({
      ...connection,
      version: reviewVersion,
      cacheTTL: duration.optional(),
    })
    .optional(),
  structured: z
    .strictObject({
      jwt: z.array(jwt).max(64).optional(),
      anonymous: z
        .strictObject({
          enabled: z.boolean(),
          paths: z.array(z.string().regex(/^\//, 'must begin with "/"')).min(1).optional(),
        })
        .optional(),
    })
    .optional(),
});

const matchTTL = {
  authorizedTTL: duration.optional(),
  unauthorizedTTL: duration.optional(),
};

const authorization = z.strictObject({
  modes: z.array(z.enum(['Node', 'RBAC', 'Webhook'])).optional(),
  webhook: z.strictObject({ ...connection, version: reviewVersion, ...matchTTL }).optional(),
  structured: z
    .array(
      z.strictObject({
        type: z.enum(['Node', 'RBAC', 'Webhook']),
        name: dnsSubdomain,
        webhook: z
          .strictObject({
            ...connection,
            version: reviewVersion,
            ...matchTTL,
            timeout: duration.optional(),
            failurePolicy: z.enum(['NoOpinion', 'Deny']),
            matchConditions: z.array(z.string().min(1)).max(64).optional(),
          })
          .optional(),
      }),
    )
    .min(1)
    .optional(),
});

const plugin = z.string().min(1);
const admission = z.strictObject({
  enable: z.array(plugin).optional(),
  disable: z.array(plugin).optional(),
  config: z
    .array(
      z.strictObject({
        plugin,
        configuration: z.record(z.string(), z.unknown()),
      }),
    )
    .min(1)
    .optional(),
});

/** Fields of `kubernetes.controlPlane.apiServer`. */
export const apiServerFiles = {
  audit: audit.optional(),
  encryptionAtRest: encryptionAtRest.optional(),
  authentication: authentication.optional(),
  authorization: authorization.optional(),
  admission: admission.optional(),
};

const section = z.strictObject(apiServerFiles);
export type ApiServerFilesSection = z.infer<typeof section>;
export type ConnectionSection = Pick<
  NonNullable<NonNullable<ApiServerFilesSection['audit']>['webhook']>,
  keyof typeof connection
>;
