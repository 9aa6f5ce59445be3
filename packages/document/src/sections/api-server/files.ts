import type * as z from 'zod';
import type { ResolveSecret } from '../../fields/convert-values.ts';
import { field, type ShapeOf } from '../../fields/field.ts';
import { type AdmissionModel, admission, toAdmission } from './admission.ts';
import { type AuditModel, audit, toAudit } from './audit.ts';
import { type AuthenticationModel, authentication, toAuthentication } from './authentication.ts';
import { type AuthorizationModel, authorization, toAuthorization } from './authorization.ts';
import { type EncryptionModel, encryptionAtRest, toEncryption } from './encryption.ts';

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

/** What the API server is given as files, beside its arguments. undefined = not asked for. */
export interface ApiServerFilesModel {
  readonly audit: AuditModel | undefined;
  readonly encryptionAtRest: EncryptionModel | undefined;
  readonly authentication: AuthenticationModel | undefined;
  readonly authorization: AuthorizationModel | undefined;
  readonly admission: AdmissionModel | undefined;
}

export type ApiServerFilesSection = z.infer<z.ZodObject<ShapeOf<typeof apiServerFiles>>>;

export function toApiServerFiles(section: ApiServerFilesSection, resolve: ResolveSecret): ApiServerFilesModel {
  const { audit, encryptionAtRest, authentication, authorization, admission } = section;
  return {
    audit: audit && toAudit(audit, resolve),
    encryptionAtRest: encryptionAtRest && toEncryption(encryptionAtRest, resolve),
    authentication: authentication && toAuthentication(authentication, resolve),
    authorization: authorization && toAuthorization(authorization, resolve),
    admission: admission && toAdmission(admission),
  };
}
